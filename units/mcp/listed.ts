/**
 * What is done with a list of tools on its way to the client, or of our own: compared with what was
 * accepted, told in the log when something is held back, and shown without it. And which other
 * answers do not pass as they are.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";
import { reviewCommand } from "core/risk/accepted.ts";
import type { GateReader } from "core/risk/gate_file.ts";
import type { Gate } from "core/risk/rules.ts";
import { isFailed, tellDenied } from "units/mcp/denied_answer.ts";
import { printError, printMessage, RPC_CODES } from "units/mcp/message.ts";
import type { Pending } from "units/mcp/pending.ts";
import { withoutBlocked } from "units/mcp/server_side.ts";
import type { ShownTools } from "units/mcp/shown_tools.ts";
import { isLastPage, type ToolWatch } from "units/mcp/tool_watch.ts";

/** Who remembers lists, and for whom. */
export interface ListReaders {
  readonly target: { readonly agent: string; readonly mcp: string };
  readonly watch: ToolWatch;
  readonly shown: ShownTools;
  readonly log: Log;
}

type Value = Readonly<Record<string, unknown>>;

/** Tools of one list that are logged one by one. */
const HELD_LOGGED_MAX = 50;

/** Takes in one answer to `tools/list`. */
export async function readList(readers: ListReaders, gate: Gate, value: Value): Promise<void> {
  readers.shown.onListed(value);
  const { first, held } = await readers.watch.onListed(gate, value, isLastPage(value));
  if (first > 0 && gate.accepted === undefined) readers.log.info("tools_seen", { count: first });
  const review = reviewCommand(readers.target);
  for (const { tool, state } of held.slice(0, HELD_LOGGED_MAX)) {
    readers.log.warning("tool_held", { tool: tool.slice(0, 128), state, review });
  }
}

/** Whether an answer may not pass as the server sent it. */
export function mayChange({ method, tool }: Pending, value: Value): boolean {
  return method === "tools/list" || tool !== undefined && isFailed(value);
}

/** The answer for the client; undefined when it passes as it is. */
export async function changedAnswer(
  readers: ListReaders,
  reader: GateReader,
  entry: Pending,
  value: Value,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const gate = await reader.current();
  if (entry.method !== "tools/list") {
    return gate.ok ? tellDenied(gate.value, value, readers.log) : undefined;
  }
  if (!gate.ok) return printError(entry.id, RPC_CODES.internal, gate.error);
  await readList(readers, gate.value, value);
  const left = readers.watch.withoutHeld(gate.value, value);
  return withoutBlocked(left ?? value, gate.value.rules) ??
    (left === undefined ? undefined : printMessage(left));
}
