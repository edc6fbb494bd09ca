/**
 * Which built-in tools of a runtime ask a person first: one table for every program, by what the
 * tool does, where it acts, and the agent's mode. Tools of MCPs are not in it: the gate decides
 * about them in every mode. No I/O. Its callers are the dial unit's answers to a runtime's
 * questions (`units/dial/permission.ts`), the settings with which its drivers make programs ask
 * (`units/dial/runtimes/`), and the built-in runtime (`units/agent_loop/tool_gate.ts`).
 *
 * @module
 */

import type { AskMode } from "core/ledger/agent.ts";
import { canonicalJson, sha256 } from "core/risk/call.ts";
import { isBuiltIn, type RuntimeDefinition } from "core/runtimes/definition.ts";

/** What a tool does. A helper agent and every unknown tool are `other`. */
export type ToolClass = "read" | "edit" | "command" | "web" | "other";

/** What a call would do. */
export interface ToolAct {
  readonly toolClass: ToolClass;
  /** Files and folders of the call, as the program names them; empty when unknown. */
  readonly paths: readonly string[];
}

/**
 * Where a call acts: certainly within the workspace, or possibly elsewhere. A command acts inside
 * only in a sandbox, because its text does not tell what it reaches.
 */
export type Place = "inside" | "outside";

type Answer = "allow" | "ask";
type Row = Readonly<Record<AskMode, Answer>>;

const FREE: Row = { changes: "allow", outside: "allow", never: "allow" };
const CHANGES: Row = { changes: "ask", outside: "allow", never: "allow" };
const LEAVES: Row = { changes: "ask", outside: "ask", never: "allow" };

const TABLE: Readonly<Record<ToolClass, Readonly<Record<Place, Row>>>> = {
  read: { inside: FREE, outside: LEAVES },
  edit: { inside: CHANGES, outside: LEAVES },
  command: { inside: CHANGES, outside: LEAVES },
  web: { inside: LEAVES, outside: LEAVES },
  other: { inside: LEAVES, outside: LEAVES },
};

/** Decides about one call of a built-in tool. */
export function decideBuiltIn(
  call: {
    readonly toolClass: ToolClass;
    readonly place: Place;
    /** False when the program asks before it knows what it would do. */
    readonly hasArguments: boolean;
  },
  mode: AskMode,
): Answer {
  const { toolClass, place, hasArguments } = call;
  if (!hasArguments && toolClass !== "read") return "ask";
  return TABLE[toolClass][place][mode];
}

/** Returns the mode of an agent whose record sets none. */
export function defaultAskMode(definition: Pick<RuntimeDefinition, "command">): AskMode {
  return isBuiltIn(definition) ? "never" : "changes";
}

/** Returns the digest of the rules behind a question about a built-in tool. */
export async function builtInPolicy(mode: AskMode): Promise<string> {
  return await sha256(canonicalJson(["fleetctl.built-in-tools.1", mode]));
}
