/**
 * The host in memory that the tests of the whole planner begin with: two agents, what is wired to
 * them, and the units that run there.
 *
 * @module
 */

/** What is wired to whom. */
export const WIRED = { ada: ["git", "notes", "maps"], bea: ["notes", "code-host"] };
/** The units of that host that run. */
export const ALL_UNITS = [
  "fleetctl-daemon.service",
  "fleetctl-dial-ada.service",
  "fleetctl-dial-bea.service",
  "fleetctl-gateway.service",
  "fleetctl-host.service",
  "fleetctl-login.service",
  "fleetctl-teamchat-receiver.service",
  "fleetctl-teamchat.service",
  "mcp-code-host-bea.socket",
  "mcp-git-ada.socket",
  "mcp-notes.socket",
];

/** A test that leaves nothing open. */
export function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn });
}

/** What a report says of units, sorted. */
export function unitChanges(
  report: { readonly units: readonly { unit: string; change: string }[] },
) {
  return report.units.map((line) => `${line.change} ${line.unit}`).sort();
}
