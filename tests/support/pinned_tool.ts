/**
 * Installs a tool for tests from its pins: a `deno.json` and a `deno.lock` with hashes. The
 * preparation step does this once. Installing runs no code of the tool.
 *
 * @module
 */

/** Folder of the pins, and folder of the installed tool. */
export interface PinnedTool {
  readonly source: string;
  readonly installed: string;
}

/**
 * Installs what the lock names, unless exactly that is installed. Calls `onFetch` before it
 * downloads.
 */
export async function installPinned(
  { source, installed }: PinnedTool,
  onFetch: () => void,
): Promise<void> {
  const lock = await Deno.readTextFile(`${source}/deno.lock`);
  const there = await Deno.readTextFile(`${installed}/installed.lock`).catch(() => "");
  if (there === lock) return;
  onFetch();
  // Files from another lock would be read as part of this one.
  await Deno.remove(installed, { recursive: true }).catch((thrown) => {
    if (!(thrown instanceof Deno.errors.NotFound)) throw thrown;
  });
  await Deno.mkdir(installed, { recursive: true });
  for (const name of ["deno.json", "deno.lock"]) {
    await Deno.copyFile(`${source}/${name}`, `${installed}/${name}`);
  }
  const done = await new Deno.Command(Deno.execPath(), {
    args: ["install", "-q", "--frozen"],
    cwd: installed,
  }).output();
  if (!done.success) throw new Error(new TextDecoder().decode(done.stderr));
  await Deno.writeTextFile(`${installed}/installed.lock`, lock);
}
