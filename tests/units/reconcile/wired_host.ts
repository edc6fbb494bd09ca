/**
 * The initial host in memory for tests of the whole planner: two agents, what is wired to them, and
 * the units that run there.
 *
 * @module
 */

/** The MCPs that are wired to each agent. */
export const WIRED = { ada: ["git", "notes", "maps"], bea: ["notes", "code-host"] };
/** The running units of that host. */
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

/** Defines a test that must leave nothing open. */
export function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, sanitizeOps: true, sanitizeResources: true, fn });
}

/** Returns the unit changes of a report, sorted. */
export function unitChanges(
  report: { readonly units: readonly { unit: string; change: string }[] },
) {
  return report.units.map((line) => `${line.change} ${line.unit}`).sort();
}
