/**
 * Applies the gate to shell commands: to the built-in tool `bash`, and to the commands for which an
 * ACP runtime requests permission. No I/O.
 *
 * It matches words and does not parse a shell's grammar. It misses quoting tricks, variables,
 * encodings, and programs that call `fleetctl`. The verbs therefore decide again themselves, and
 * their decision is binding.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import { decideTool, type Decision, toolText } from "core/risk/decide.ts";
import type { Gate } from "core/risk/rules.ts";

/** Verbs with which a shell command can call an MCP through `fleetctl`. */
const CALL_VERBS: ReadonlySet<string> = new Set(["call", "read"]);
/** Options with values may precede the operands; this many words are tried. */
const OPERANDS_CHECKED = 8;

/** The tool with a rule that a command reaches. */
export interface RuledCommand {
  readonly decision: Exclude<Decision, "allow">;
  readonly gate: Gate;
  readonly tool: string;
}

/**
 * Returns the strongest rule that a command matches, in the form `mcp call|read <mcp> <tool>`.
 * Splits at whitespace and at every character that ends a word in a shell.
 */
export function ruledCommand(gates: Iterable<Gate>, command: string): RuledCommand | undefined {
  const byName = new Map([...gates].map((gate) => [gate.mcp as string, gate]));
  const words = command.split(/[\s;&|()`"'$<>\\{}]+/).filter((word) => word !== "");
  let found: RuledCommand | undefined;
  for (let at = 0; at < words.length; at++) {
    if (words[at] !== "mcp" || !CALL_VERBS.has(words[at + 1] ?? "")) continue;
    const operands = words.slice(at + 2).filter((word) => !word.startsWith("-"));
    for (const [gate, tool] of reached(operands, byName)) {
      const decision = decideTool(gate.rules, tool);
      if (decision === "allow" || found?.decision === "block") continue;
      if (decision === "block" || found === undefined) found = { decision, gate, tool };
    }
  }
  return found;
}

/** Returns the refusal of a command that a rule blocks. */
export function commandBlocked({ gate, tool }: RuledCommand): Refusal {
  return refusal(
    "command-blocked",
    `Cannot run the command: it reaches tool ${toolText({ mcp: gate.mcp, tool })}, ` +
      'which is declared "risk: block"; no approval can allow it',
    { kind: "denied" },
  );
}

/** Returns every pair of words that may be an MCP and its tool. */
function reached(
  operands: readonly string[],
  gates: ReadonlyMap<string, Gate>,
): readonly (readonly [Gate, string])[] {
  return operands.slice(0, OPERANDS_CHECKED).flatMap((word, at) => {
    const gate = gates.get(word);
    const tool = operands[at + 1];
    return gate === undefined || tool === undefined ? [] : [[gate, tool] as const];
  });
}
