/**
 * The subject of a decision: one tool call and its origin. Defines the types, the canonical form of
 * the arguments, and the digest that an approval is bound to. No I/O.
 *
 * @module
 */

import type { CallOrigin } from "core/mcp/call_origin.ts";
import type { Gate } from "core/risk/rules.ts";

/** One requested call. */
export interface ToolCall {
  /** Owner of the MCP; the call runs with this agent's credentials. */
  readonly agent: string;
  readonly mcp: string;
  /** The version that the caller expects to be pinned. */
  readonly version: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly origin: CallOrigin;
}

/** Nesting depth that has a canonical form; earlier checks refuse deeper arguments. */
const DEPTH_MAX = 200;

/**
 * Prints a JSON value so that equal values have equal texts: keys in code-unit order, numbers and
 * strings as in `JSON.stringify` (RFC 8785). Throws `RangeError` above the nesting limit.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > DEPTH_MAX) throw new RangeError("The value is nested too deep");
  if (Array.isArray(value)) {
    return `[${value.map((item) => canonicalJson(item ?? null, depth + 1)).join(",")}]`;
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
    .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  return `{${
    entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner, depth + 1)}`)
      .join(",")
  }}`;
}

/**
 * Returns the digest of the rules behind a decision; every change of a rule or of the pin changes
 * it.
 */
export async function policyDigest(gate: Gate): Promise<string> {
  const rules = [...gate.rules].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
  const reads = [...gate.reads].sort();
  const parts: unknown[] = ["fleetctl.policy.1", gate.mcp, gate.version, rules, reads];
  // The tool that a person approved is the one whose definition was accepted then.
  if (gate.accepted !== undefined) parts.push([...gate.accepted].sort());
  return await sha256(canonicalJson(parts));
}

/**
 * Returns the digest of everything that an approval is bound to: agent, MCP, pinned version, tool,
 * canonical arguments, origin and policy.
 */
export async function callDigest(call: ToolCall, policy: string): Promise<string> {
  const { agent, mcp, version, tool, origin } = call;
  const parts = ["fleetctl.call.1", agent, mcp, version, tool, call.arguments, origin, policy];
  return await sha256(canonicalJson(parts));
}

/** SHA-256 of a text, in hex. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return new Uint8Array(digest).toHex();
}
