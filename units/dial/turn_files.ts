/**
 * Files that come with a message. They are received in pieces, kept in the folder of their turn,
 * and named in its text.
 *
 * @module
 */

import type { InboundFrame } from "units/dial/client_session.ts";
import type { TurnFile } from "core/dial/frames.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import type { TurnFolder } from "units/dial/turn_folder.ts";

/** A piece of a file. */
export type Piece = Omit<Extract<InboundFrame, { type: "file" }>, "type">;

/** Files of turns. */
export interface TurnFiles {
  /**
   * Stores a piece. Returns how much of the file is stored, or undefined when it cannot be stored.
   */
  take(piece: Piece): Promise<number | undefined>;
  /** Lines that describe the files of a turn, for its text. */
  linesOf(turnId: string, files: readonly TurnFile[]): readonly string[];
}

/** Creates the receiver of one sender, which sends one file after the other. */
export function createTurnFiles(folder: TurnFolder): TurnFiles {
  let receiving: { readonly id: string; readonly bytes: Uint8Array; held: number } | undefined;
  return {
    take: async ({ turn_id: turnId, n, name, size, offset, data }) => {
      if (size > FILE_LIMITS.fileBytesMax) return undefined;
      const id = `${turnId}/${n}`;
      if (receiving?.id !== id || offset === 0) {
        receiving = { id, bytes: new Uint8Array(size), held: 0 };
      }
      const bytes = readBase64(data);
      const isNext = bytes !== undefined && offset === receiving.held &&
        receiving.bytes.length === size && offset + bytes.length <= size;
      if (!isNext) return undefined;
      receiving.bytes.set(bytes, offset);
      receiving.held += bytes.length;
      if (receiving.held < size) return receiving.held;
      const whole = receiving.bytes;
      receiving = undefined;
      return await folder.keep({ turnId, n, name }, whole) === undefined ? undefined : size;
    },
    linesOf: (turnId, attached) =>
      attached.map(({ n, name, size, content_type: type, fault }) => {
        const shown = oneLine(name, 120);
        if (fault !== undefined) {
          return `[attachment: ${shown} is not here: ${oneLine(fault, 200)}]`;
        }
        const kind = type === undefined ? "" : `, ${oneLine(type, 80)}`;
        const path = folder.pathOf({ turnId, n, name });
        return `[attachment: ${shown}, ${size ?? 0} bytes${kind}: ${path}]`;
      }),
  };
}

/** Makes a name safe for a line in brackets. */
export function oneLine(text: string, max: number): string {
  return text.replace(/[\p{Cc}\s[\]]+/gu, " ").trim().slice(0, max);
}

function readBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}
