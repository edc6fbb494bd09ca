/**
 * Starts a manager in a separate process, so that it can be killed or run with few permissions. Run
 * as a program, this file is that process: it takes the root as its argument, starts the enabled
 * units and prints one line per event.
 *
 * @module
 */

import { type Paths, pathsUnder } from "core/paths.ts";
import { startEmbeddedManager } from "units/manager/os/start_manager.ts";
import { realOptions } from "tests/units/manager/os/rig.ts";

const MAIN = new URL(import.meta.url).pathname;
/** Section that makes the manager start a unit by default. */
export const ENABLED = "[Install]\nWantedBy=multi-user.target\n";

/** Writes units and enables them. */
export async function writeEnabled(
  paths: Paths,
  units: Readonly<Record<string, string>>,
): Promise<void> {
  const wants = `${paths.units}/multi-user.target.wants`;
  await Deno.mkdir(wants, { recursive: true });
  for (const [name, text] of Object.entries(units)) {
    await Deno.writeTextFile(`${paths.units}/${name}`, text);
    if (!name.includes("@")) await Deno.symlink(`../${name}`, `${wants}/${name}`);
  }
}

/** Starts a manager in a separate process; resolves when everything enabled is up. */
export async function startManagerProcess(root: string, permissions: readonly string[] = ["-A"]) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-prompt", "--no-check", ...permissions, MAIN, root],
    stdout: "piped",
    stderr: "null",
    stdin: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  const until = async (end: string) => {
    while (!text.endsWith(`${end}\n`)) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
    return text.trimEnd().split("\n");
  };
  return {
    lines: await until("up"),
    until,
    signal: (name: Deno.Signal) => child.kill(name),
    async ended() {
      const status = await child.status;
      await reader.cancel();
      return status;
    },
  };
}

async function hold(): Promise<void> {
  const started = await startEmbeddedManager({
    ...realOptions(pathsUnder(Deno.args[0] ?? "")),
    onEvent: (event) => console.log(`${event.kind} ${event.unit} ${event.pid ?? ""}`),
  });
  if (!started.ok) {
    console.log(`refused ${started.error.code}`);
    Deno.exit(1);
  }
  const manager = started.value;
  Deno.addSignalListener("SIGINT", () => {
    const isFirst = manager.isRunning();
    const closed = manager.close();
    void isFirst.then((first) => {
      if (!first) return;
      console.log("closing");
      void closed.then(() => Deno.exit(0));
    });
  });
  await manager.startEnabled();
  console.log("up");
}

if (import.meta.main) await hold();
