/**
 * The one function behind every call path: direct call, script call, `mcp call`, `mcp read`,
 * relayed call. `block` beats `ask` beats allow. No I/O. Doors: the proxy
 * (`units/mcp/client_side.ts`), the runtime (`units/agent_loop/tool_gate.ts`), the
 * dial unit's answers to a runtime's permission requests (`units/dial/permission.ts`),
 * and both verbs (`cli/mcp/`). Its doors: docs/protocol.md#7-the-mcp-proxy.
 *
 * The gate matches tool names and command strings. A call made by other means (reading a token and
 * calling the vendor directly) matches nothing: the credential's place is what limits that.
 *
 * @module
 */

import { cutText } from "core/text/cut_text.ts";
import { EVERY_TOOL } from "core/catalog/manifest_rules.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { refusedKey } from "core/risk/argument_keys.ts";
import type { ToolCall } from "core/risk/call.ts";
import type { Gate, Risk } from "core/risk/rules.ts";

/** What is to be done with a call. */
export type Decision = "allow" | "ask" | "block";

const STRENGTH: Readonly<Record<Decision, number>> = { allow: 0, ask: 1, block: 2 };

/** Returns the stronger of decisions; `allow` for none. */
export function strongest(...decisions: readonly Decision[]): Decision {
  return decisions.reduce((a, b) => STRENGTH[a] >= STRENGTH[b] ? a : b, "allow");
}

/**
 * Decides about one tool. Names are compared without case, outer space and full-width forms: a
 * lenient server must not be reached by a spelling of a ruled tool's name that the gate does not
 * know. A rule of `*` is one of every tool.
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

/** What is to be done with a call; `why` is the refusal of a block, or what an ask needs. */
export type Verdict =
  | { readonly decision: "allow" }
  | { readonly decision: "ask" }
  | { readonly decision: "block"; readonly why: Refusal };

/**
 * Decides about one call by the rules of its MCP. A call that names another version than the gate
 * was compiled for is blocked: what was decided about one version says nothing about the next.
 */
export function decideCall(gate: Gate, call: ToolCall): Verdict {
  if (call.mcp !== gate.mcp || call.version !== gate.version) return block(otherPin(gate, call));
  if (decideTool(gate.rules, call.tool) === "block") return block(blocked(gate, call));
  if (call.origin.kind === "verb" || call.origin.kind === "relayed") {
    const key = refusedKey(call.arguments);
    if (key !== undefined) return block(keyRefused(call, key));
  }
  if (isForeignRead(call.origin) && !gate.reads.has(call.tool)) return block(notReadOnly(call));
  return { decision: decideTool(gate.rules, call.tool) === "ask" ? "ask" : "allow" };
}

/**
 * Whether somebody who may not call across agents reads as another one: an admin agent. Then only
 * tools count that the reviewed catalog calls read-only; what a running server says does not.
 */
function isForeignRead(origin: ToolCall["origin"]): boolean {
  return origin.kind === "relayed" && origin.root !== true;
}

/** Returns the refusal of a call that asks where nobody can be asked. */
export function nobodyToAsk(call: Pick<ToolCall, "mcp" | "tool">, state?: string): Refusal {
  return refusal(
    "approval-unavailable",
    `Cannot call tool ${toolText(call)}: the tool is declared "risk: ask", and ${
      state ?? "there is nobody here who can approve the call"
    }; nothing was done`,
    { kind: "denied" },
  );
}

/** Names a tool in a sentence: `"git_push" of MCP "git"`, or `"Bash"` for one of the runtime. */
export function toolText({ mcp, tool }: Pick<ToolCall, "mcp" | "tool">): string {
  const name = JSON.stringify(cutText(tool, TOOL_SHOWN_BYTES_MAX).text);
  return mcp === "" ? name : `${name} of MCP ${JSON.stringify(mcp)}`;
}

const TOOL_SHOWN_BYTES_MAX = 128;

function block(why: Refusal): Verdict {
  return { decision: "block", why };
}

function blocked(gate: Gate, call: ToolCall): Refusal {
  if (isHeldWhole(gate)) return heldWhole(gate.mcp, `Cannot call tool ${toolText(call)}`);
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

/** Whether everything of an MCP waits for a review: its tools, resources, prompts and the rest. */
export function isHeldWhole(gate: Gate): boolean {
  return gate.rules.get(EVERY_TOOL) === "block";
}

/** Returns the refusal of anything that an MCP is asked for while it waits for its review. */
export function heldWhole(mcp: string, action = `Cannot use MCP ${JSON.stringify(mcp)}`): Refusal {
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
    `Cannot call tool ${toolText(call)}: it was asked for at ${call.mcp}@${call.version}, the ` +
      `gate is that of ${gate.mcp}@${gate.version}`,
    { kind: "denied", hints: ["fleetctl apply"] },
  );
}
