/**
 * The running processes below one root folder, from `/proc`.
 *
 * @module
 */

/**
 * Lists the processes of a root as `pid command`. It matches the environment or the command line,
 * because an MCP server is started without the environment of its host.
 */
export async function processesOf(root: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(entry.name)) continue;
    try {
      const environ = await Deno.readTextFile(`/proc/${entry.name}/environ`);
      const line = await Deno.readTextFile(`/proc/${entry.name}/cmdline`);
      const command = line.replaceAll("\0", " ");
      const isOfRoot = environ.split("\0").includes(`FLEETCTL_ROOT=${root}`) ||
        command.includes(`${root}/`);
      if (!isOfRoot) continue;
      found.push(`${entry.name} ${command}`);
    } catch {
      // The process ended, or belongs to someone else.
    }
  }
  return found;
}
