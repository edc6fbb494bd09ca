/**
 * Prints the events of a turn as a transcript. A message is printed as its previews arrive. The
 * complete message then adds what the previews missed.
 *
 * @module
 */

import { printable, transcriptLines } from "cli/up/turn.ts";
import type { TurnUpdate } from "cli/ask_turn.ts";

/** A growing transcript. */
export interface Transcript {
  take(update: TurnUpdate): Promise<void>;
}

/** Begins a transcript. `write` receives the text exactly as it is to be shown. */
export function createTranscript(
  agent: string,
  write: (text: string) => Promise<void>,
): Transcript {
  /** The message being printed, and how many characters of it are printed and stored. */
  let message = { id: "", printed: 0, stored: 0 };
  let isLineOpen = false;
  const print = async (text: string) => {
    if (text === "") return;
    const lines = text.split("\n");
    const shown = lines.map((line, at) => {
      const begins = at > 0 || !isLineOpen;
      return begins && line !== "" ? `${agent}: ${printable(line)}` : printable(line);
    });
    isLineOpen = lines.at(-1) !== "";
    await write(shown.join("\n"));
  };
  const endLine = async () => {
    if (isLineOpen) await write("\n");
    isLineOpen = false;
  };
  const begin = async (id: string) => {
    if (message.id === id) return;
    await endLine();
    message = { id, printed: 0, stored: 0 };
  };
  return {
    async take(update) {
      if (update.type === "turn_preview") {
        const { message_id: id, text, offset } = update.event.payload;
        await begin(id);
        // A dropped preview leaves a gap, which the complete message fills.
        if (offset !== undefined && offset !== message.printed) return;
        message.printed += text.length;
        return await print(text);
      }
      const { kind, payload } = update;
      if (kind === "message") {
        await begin(String(payload.message_id));
        const text = String(payload.text);
        const missing = text.slice(Math.max(0, message.printed - message.stored));
        message.stored += text.length;
        message.printed = Math.max(message.printed, message.stored);
        await print(missing);
        return await endLine();
      }
      const lines = transcriptLines(agent, { kind, data: { payload } });
      if (lines.length === 0) return;
      await endLine();
      await write(`${lines.join("\n")}\n`);
    },
  };
}
