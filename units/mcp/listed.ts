/**
 * What is done with a list of tools on its way to the client, or of our own: compared with what was
 * accepted, told in the log when something is held back, and shown without it.
 *
 * @module
 */

import type { Log } from "core/ports.ts";
import { reviewCommand } from "core/risk/accepted.ts";
import type { Gate } from "core/risk/rules.ts";
import { printMessage } from "units/mcp/message.ts";
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

/** The same, and the bytes for the client; undefined when the answer passes as it is. */
export async function shownList(
  readers: ListReaders,
  gate: Gate,
  value: Value,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  await readList(readers, gate, value);
  const left = readers.watch.withoutHeld(gate, value);
  return withoutBlocked(left ?? value, gate.rules) ??
    (left === undefined ? undefined : printMessage(left));
}
