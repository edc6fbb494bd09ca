/**
 * Handles tool lists on their way to the client, and those of the proxy's own requests. It compares
 * a list with the accepted tools, logs tools that are held back, and removes them. It also decides
 * which other answers are changed.
 *
 * @module
 */

import type { Log } from "core/ports/log.ts";
import { reviewCommand } from "core/risk/accepted.ts";
import type { GateReader } from "core/risk/gate_file.ts";
import type { Gate } from "core/risk/rules.ts";
import { explainDenied, isFailed } from "units/mcp/denied_answer.ts";
import { printError, printMessage, RPC_CODES } from "units/mcp/message.ts";
import type { Pending } from "units/mcp/pending.ts";
import { withoutBlocked } from "units/mcp/server_side.ts";
import type { ShownTools } from "units/mcp/shown_tools.ts";
import { isLastPage, type ToolWatch } from "units/mcp/tool_watch.ts";

/** Dependencies for the processing of lists. */
export interface ListReaders {
  readonly target: { readonly agent: string; readonly mcp: string };
  readonly watch: ToolWatch;
  readonly shown: ShownTools;
  readonly log: Log;
}

type Value = Readonly<Record<string, unknown>>;

/** Maximum number of tools of one list that are logged individually. */
const HELD_LOGGED_MAX = 50;

/** Records one answer to `tools/list`. */
export async function readList(readers: ListReaders, gate: Gate, value: Value): Promise<void> {
  readers.shown.onListed(value);
  const { first, held } = await readers.watch.onListed(gate, value, isLastPage(value));
  if (first > 0 && gate.accepted === undefined) readers.log.info("tools_seen", { count: first });
  const review = reviewCommand(readers.target);
  for (const { tool, state } of held.slice(0, HELD_LOGGED_MAX)) {
    readers.log.warning("tool_held", { tool: tool.slice(0, 128), state, review });
  }
}

/** Whether the proxy may have to change an answer. */
export function mayChange({ method, tool }: Pending, value: Value): boolean {
  return method === "tools/list" || tool !== undefined && isFailed(value);
}

/** Returns the changed answer for the client; undefined when it passes unchanged. */
export async function changedAnswer(
  readers: ListReaders,
  reader: GateReader,
  entry: Pending,
  value: Value,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const gate = await reader.current();
  if (entry.method !== "tools/list") {
    return gate.ok ? explainDenied(gate.value, value, readers.log) : undefined;
  }
  if (!gate.ok) return printError(entry.id, RPC_CODES.internal, gate.error);
  await readList(readers, gate.value, value);
  const left = readers.watch.withoutHeld(gate.value, value);
  return withoutBlocked(left ?? value, gate.value.rules) ??
    (left === undefined ? undefined : printMessage(left));
}
