/**
 * Prints the events of a turn as a transcript. A message is printed as its previews arrive. The
 * complete message then adds what the previews missed.
 *
 * @module
 */

import { createMessageProgress, type MessageStep } from "cli/message_progress.ts";
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
  const progress = createMessageProgress();
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
  const show = async ({ isNew, text }: MessageStep) => {
    if (isNew) await endLine();
    await print(text);
  };
  return {
    async take(update) {
      if (update.type === "turn_preview") return await show(progress.preview(update.event.payload));
      const { kind, payload } = update;
      if (kind === "message") {
        await show(progress.whole(payload));
        return await endLine();
      }
      const lines = transcriptLines(agent, { kind, data: { payload } });
      if (lines.length === 0) return;
      await endLine();
      await write(`${lines.join("\n")}\n`);
    },
  };
}
