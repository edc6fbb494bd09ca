/**
 * The proxy's refusals for requests that get no answer: the server is gone, or silent.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Pending } from "units/mcp/pending.ts";
import type { ProxyPorts } from "units/mcp/proxy_ports.ts";

/** The refusal when the server is gone; `entry` is the request that it had not answered. */
export function serverEnded(mcp: string, why: string, entry?: Pending): Refusal {
  const name = JSON.stringify(mcp);
  const what = entry === undefined
    ? `Cannot use MCP ${name}`
    : `Cannot finish ${
      entry.tool === undefined ? entry.method : `tool ${JSON.stringify(entry.tool)}`
    } of MCP ${name}`;
  const state = entry === undefined
    ? why
    : `the server is gone, ${why}; the call may have taken effect`;
  return refusal("mcp-ended", `${what}: ${state}`, { hints: [doctorOf(mcp)] });
}

/** Returns why the server of a proxy may not start; undefined if it may start. */
export async function refusedStart(
  ports: Pick<ProxyPorts, "checkServer">,
): Promise<Refusal | undefined> {
  const checked = await ports.checkServer?.();
  return checked === undefined || checked.ok ? undefined : checked.error;
}

/** The refusal when no answer came in time. */
export function requestExpired(mcp: string, entry: Pending): Refusal {
  return refusal(
    "mcp-timeout",
    `Cannot finish ${entry.tool ?? entry.method} of MCP ${JSON.stringify(mcp)}: no answer within ` +
      `${MCP_LIMITS.callSeconds} s`,
  );
}

/** The refusal when the server does not list its tools, so that a call cannot be checked. */
export function toolsUnlisted(mcp: string, tool: string, why: string): Refusal {
  return refusal(
    "tools-unlisted",
    `Cannot call tool ${JSON.stringify(tool.slice(0, 128))} of MCP ${JSON.stringify(mcp)}: its ` +
      `server must list its tools first, and ${why}; nothing was done`,
    { hints: [doctorOf(mcp)] },
  );
}

/**
 * The command works under each service manager, for the agent and for an operator who acts as it.
 */
function doctorOf(mcp: string): string {
  return `fleetctl mcp doctor ${mcp} self`;
}
