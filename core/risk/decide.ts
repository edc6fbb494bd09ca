/**
 * The one decision function behind every call path: direct call, script call, relayed call, and the
 * verbs `mcp call` and `mcp read`. `block` overrides `ask`, which overrides `allow`. No I/O. Its
 * callers are the proxy (`units/mcp/client_side.ts`), the runtime
 * (`units/agent_loop/tool_gate.ts`), the dial unit's answers to a runtime's permission requests
 * (`units/dial/permission.ts`), and both verbs (`cli/mcp/`). See docs/protocol.md#7-the-mcp-proxy.
 *
 * The gate matches tool names and command strings. A call by other means matches no rule, such as
 * reading a token and calling the vendor directly. Only the location of the credential limits that.
 *
 * @module
 */

import { cutText } from "core/text/cut_text.ts";
import { EVERY_TOOL } from "core/catalog/manifest_rules.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { refusedKey } from "core/risk/argument_keys.ts";
import type { ToolCall } from "core/risk/call.ts";
import type { Gate, Risk } from "core/risk/rules.ts";

/** The decision about a call. */
export type Decision = "allow" | "ask" | "block";

const STRENGTH: Readonly<Record<Decision, number>> = { allow: 0, ask: 1, block: 2 };

/** Returns the strongest of the decisions; `allow` without any. */
export function strongest(...decisions: readonly Decision[]): Decision {
  return decisions.reduce((a, b) => STRENGTH[a] >= STRENGTH[b] ? a : b, "allow");
}

/**
 * Decides about one tool. Compares names without case, surrounding whitespace and full-width forms,
 * because a lenient server may accept such a spelling of a restricted tool. The rule `*` applies to
 * every tool.
 */
export function decideTool(rules: ReadonlyMap<string, Risk>, tool: string): Decision {
  const folded = foldName(tool);
  let decision: Decision = "allow";
  for (const [name, risk] of rules) {
    if (name === EVERY_TOOL || foldName(name) === folded) decision = strongest(decision, risk);
  }
  return decision;
}

function foldName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase();
}

/** The verdict on a call; `why` is the refusal of a blocked one. */
export type Verdict =
  | { readonly decision: "allow" }
  | { readonly decision: "ask" }
  | { readonly decision: "block"; readonly why: Refusal };

/**
 * Decides about one call by the rules of its MCP. Blocks a call that names another version than the
 * gate's, because rules for one version need not fit the next.
 */
export function decideCall(gate: Gate, call: ToolCall): Verdict {
  if (call.mcp !== gate.mcp || call.version !== gate.version) return block(otherPin(gate, call));
  if (decideTool(gate.rules, call.tool) === "block") return block(blocked(gate, call));
  if (call.origin.kind === "verb" || call.origin.kind === "relayed") {
    const key = refusedKey(call.arguments);
    if (key !== undefined) return block(keyRefused(call, key));
  }
  if (isCrossAgentRead(call.origin) && !gate.reads.has(call.tool)) return block(notReadOnly(call));
  return { decision: decideTool(gate.rules, call.tool) === "ask" ? "ask" : "allow" };
}

/**
 * Whether an admin agent reads as another agent. Then it may only call tools that the reviewed
 * catalog declares read-only, whatever the running server claims about them.
 */
function isCrossAgentRead(origin: ToolCall["origin"]): boolean {
  return origin.kind === "relayed" && origin.root !== true;
}

/** Returns the refusal of a call that needs approval where no approver is available. */
export function approvalUnavailable(call: Pick<ToolCall, "mcp" | "tool">, state?: string): Refusal {
  const why = call.mcp === "" ? "a person must approve it" : 'the tool is declared "risk: ask"';
  return refusal(
    "approval-unavailable",
    `Cannot call tool ${toolText(call)}: ${why}, and ${
      state ?? "no approver is available here"
    }; nothing was done`,
    { kind: "denied" },
  );
}

/** Names a tool in a message: `"git_push" of MCP "git"`, or `"Bash"` for a tool of the runtime. */
export function toolText({ mcp, tool }: Pick<ToolCall, "mcp" | "tool">): string {
  const name = JSON.stringify(cutText(tool, TOOL_SHOWN_BYTES_MAX).text);
  return mcp === "" ? name : `${name} of MCP ${JSON.stringify(mcp)}`;
}

const TOOL_SHOWN_BYTES_MAX = 128;

function block(why: Refusal): Verdict {
  return { decision: "block", why };
}

function blocked(gate: Gate, call: ToolCall): Refusal {
  if (isMcpHeld(gate)) return mcpHeld(gate.mcp, `Cannot call tool ${toolText(call)}`);
  const folded = foldName(call.tool);
  if ([...gate.held ?? []].some((tool) => foldName(tool) === folded)) {
    return refusal(
      "tool-held",
      `Cannot call tool ${toolText(call)}: it is held back until an operator has reviewed it`,
      { kind: "denied", hints: [`fleetctl mcp catalog review ${gate.mcp}`] },
    );
  }
  return refusal(
    "tool-blocked",
    `Cannot call tool ${toolText(call)}: the tool is declared "risk: block", and no approval ` +
      `can allow it`,
    { kind: "denied" },
  );
}

/** Whether the whole MCP waits for a review: its tools, resources, prompts and everything else. */
export function isMcpHeld(gate: Gate): boolean {
  return gate.rules.get(EVERY_TOOL) === "block";
}

/** Returns the refusal of any request to an MCP that waits for its review. */
export function mcpHeld(mcp: string, action = `Cannot use MCP ${JSON.stringify(mcp)}`): Refusal {
  return refusal(
    "mcp-held",
    `${action}: the MCP as a whole is held back until an operator has reviewed it`,
    { kind: "denied", hints: [`fleetctl mcp catalog review ${mcp}`] },
  );
}

function notReadOnly(call: ToolCall): Refusal {
  return refusal(
    "tool-not-read-only",
    `Cannot call tool ${toolText(call)}: the reviewed catalog does not declare it read-only, and ` +
      `for another agent only root may call it`,
    { kind: "denied", hints: [`fleetctl mcp catalog browse ${call.mcp}`] },
  );
}

function keyRefused(call: ToolCall, key: string): Refusal {
  return refusal(
    "argument-refused",
    `Cannot call tool ${toolText(call)}: the argument ${JSON.stringify(key)} reaches the local ` +
      `disk or overrides a policy`,
    { kind: "denied" },
  );
}

function otherPin(gate: Gate, call: ToolCall): Refusal {
  return refusal(
    "pin-moved",
    `Cannot call tool ${toolText(call)}: it was requested for ${call.mcp}@${call.version}, the ` +
      `gate is for ${gate.mcp}@${gate.version}`,
    { kind: "denied", hints: ["fleetctl apply"] },
  );
}
