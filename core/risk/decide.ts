/**
 * The one function behind every call path: direct call, script call, `mcp call`, `mcp read`,
 * relayed call. `block` beats `ask` beats allow (decision 13). No I/O.
 *
 * The gate matches tool names and command strings. A call made by other means (reading a token and
 * calling the vendor directly) matches nothing: the credential's place is what limits that.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
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
 * know.
 */
export function decideTool(rules: ReadonlyMap<string, Risk>, tool: string): Decision {
  const folded = foldName(tool);
  let decision: Decision = "allow";
  for (const [name, risk] of rules) {
    if (foldName(name) === folded) decision = strongest(decision, risk);
  }
  return decision;
}

function foldName(name: string): string {
  return name.normalize("NFKC").trim().toLowerCase();
}

/** The words with which a shell command can reach an MCP through our own command line. */
const CALL_VERBS: ReadonlySet<string> = new Set(["call", "read"]);

/**
 * Decides about a shell command: whether it is, or holds, `fleetctl mcp call|read <mcp> <tool>` of
 * a ruled tool. Works on words, not on a shell's grammar, so quoting tricks are not seen; the
 * daemon and `mcp call` decide again with `decideTool`, and that is what holds.
 */
export function decideCommand(gates: Iterable<Gate>, command: string): Decision {
  const rules = new Map([...gates].map((gate) => [gate.mcp as string, gate.rules]));
  const words = command.split(/[\s;&|()`"'$<>\\]+/).filter((word) => word !== "");
  let decision: Decision = "allow";
  for (let index = 0; index < words.length; index++) {
    if (words[index] !== "mcp" || !CALL_VERBS.has(words[index + 1] ?? "")) continue;
    const operands = words.slice(index + 2).filter((word) => !word.startsWith("-"));
    for (let at = 0; at + 1 < operands.length && at < OPERANDS_LOOKED_AT; at++) {
      const found = rules.get(operands[at] ?? "");
      if (found !== undefined) {
        decision = strongest(decision, decideTool(found, operands[at + 1] ?? ""));
      }
    }
  }
  return decision;
}

/** Options with values may stand before the operands; this many words are tried. */
const OPERANDS_LOOKED_AT = 8;

/** What a caller may do about a call that asks. Approvals are granted elsewhere, never here. */
export interface CallContext {
  readonly mcp: string;
  readonly tool: string;
  /** Whether a human approved exactly this call. */
  readonly isApproved?: boolean;
}

/** Turns a decision into permission or a refusal that may be shown to the model. */
export function checkDecision(decision: Decision, call: CallContext): Result<void> {
  const { mcp, tool } = call;
  const what = `${JSON.stringify(tool.slice(0, 128))} of MCP ${JSON.stringify(mcp)}`;
  switch (decision) {
    case "allow":
      return ok(undefined);
    case "block":
      return err(refusal(
        "tool-blocked",
        `Cannot call tool ${what}: the tool is declared "risk: block", and no approval can allow it`,
        { kind: "denied" },
      ));
    case "ask":
      if (call.isApproved === true) return ok(undefined);
      return err(refusal(
        "approval-unavailable",
        `Cannot call tool ${what}: the tool is declared "risk: ask", and there is nobody here ` +
          `who can approve the call; nothing was done`,
        { kind: "denied" },
      ));
  }
}
