/**
 * Explains a tool answer that failed because the permission set denied the server something. One
 * added line tells the model and the log what was denied and which command would grant it. Pure.
 *
 * @module
 */

import { deniedIn } from "core/catalog/denied.ts";
import type { Log } from "core/ports/log.ts";
import type { Gate } from "core/risk/rules.ts";
import { printMessage } from "units/mcp/message.ts";
import { isRecord } from "core/text/json_object.ts";

/** Whether the answer of a call reports a failure. */
export function isFailed({ result }: Readonly<Record<string, unknown>>): boolean {
  return isRecord(result) && result["isError"] === true;
}

/** Maximum number of characters of an answer to search. */
const TEXT_LENGTH_MAX = 64 * 1024;

/**
 * Logs each denial in a failed answer, and returns the answer with a line for each. Returns
 * undefined when nothing was denied.
 */
export function explainDenied(
  gate: Gate,
  value: Readonly<Record<string, unknown>>,
  log: Pick<Log, "warning">,
): Uint8Array<ArrayBuffer> | undefined {
  const { result } = value;
  if (!isRecord(result)) return undefined;
  const content: readonly unknown[] = Array.isArray(result["content"]) ? result["content"] : [];
  const text = content.flatMap((block) =>
    isRecord(block) && typeof block["text"] === "string" ? [block["text"]] : []
  ).join("\n").slice(0, TEXT_LENGTH_MAX);
  const denied = deniedIn({ mcp: gate.mcp, version: gate.version }, text);
  if (denied.length === 0) return undefined;
  const lines = denied.map(({ message, hints }) => {
    log.warning("server_denied", { why: message, grant: hints.join("; ") });
    return { type: "text", text: `${message}. An operator can: ${hints.join("; ")}` };
  });
  return printMessage({ ...value, result: { ...result, content: [...content, ...lines] } });
}
