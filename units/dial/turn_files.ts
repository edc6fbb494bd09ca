/**
 * Files of turns. They are received in pieces, kept in the agent's home below the dial unit's
 * folder, and named in the text of their turn. When there are too many, the oldest are removed.
 *
 * @module
 */

import type { InboundFrame } from "units/dial/client_session.ts";
import type { TurnFile } from "core/dial/frames.ts";
import { errorText } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { fileName } from "core/teamchat/file_refs.ts";

type Piece = Extract<InboundFrame, { type: "file" }>;

/** Files of turns. */
export interface TurnFiles {
  /**
   * Stores a piece. Returns how much of the file is stored, or undefined when it cannot be stored.
   */
  take(piece: Piece): Promise<number | undefined>;
  /** Lines that describe the files of a turn, for its text. */
  linesOf(turnId: string, files: readonly TurnFile[]): readonly string[];
}

/** Number of turns whose files are kept. */
const TURNS_KEPT = 64;
/** Turn ids are folder names, so their characters are restricted. */
const TURN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Creates the storage; no other code uses `folder`. */
export function createTurnFiles(deps: {
  readonly files: Files;
  readonly folder: string;
  readonly log: Log;
}): TurnFiles {
  const { files, folder, log } = deps;
  let receiving: { readonly id: string; readonly bytes: Uint8Array; held: number } | undefined;
  const pathOf = (turnId: string, n: number, name: string) =>
    `${folder}/${turnId}/${n}-${fileName(name, n)}`;

  /** Removes the folders of the oldest turns. */
  async function trim(): Promise<void> {
    const names = await files.list(folder);
    if (names.length <= TURNS_KEPT) return;
    const dated = await Promise.all(names.map(async (name) => ({
      name,
      at: (await files.stat(`${folder}/${name}`))?.mtimeMs ?? 0,
    })));
    const old = dated.sort((a, b) => a.at - b.at).slice(0, names.length - TURNS_KEPT);
    for (const { name } of old) await files.remove(`${folder}/${name}`, { recursive: true });
  }

  async function keep(piece: Piece, bytes: Uint8Array): Promise<boolean> {
    try {
      await files.ensureDir(`${folder}/${piece.turn_id}`, { mode: 0o700 });
      await trim();
      const path = pathOf(piece.turn_id, piece.n, piece.name);
      await files.write(path, bytes, { mode: 0o600 });
      return true;
    } catch (thrown) {
      log.error("file not kept", { turn: piece.turn_id, error: errorText(thrown) });
      return false;
    }
  }

  return {
    take: async (piece) => {
      const { turn_id: turnId, n, size, offset } = piece;
      if (!TURN_ID.test(turnId) || size > FILE_LIMITS.fileBytesMax) return undefined;
      const id = `${turnId}/${n}`;
      if (receiving?.id !== id || offset === 0) {
        receiving = { id, bytes: new Uint8Array(size), held: 0 };
      }
      const bytes = readBase64(piece.data);
      const isNext = bytes !== undefined && offset === receiving.held &&
        receiving.bytes.length === size && offset + bytes.length <= size;
      if (!isNext) return undefined;
      receiving.bytes.set(bytes, offset);
      receiving.held += bytes.length;
      if (receiving.held < size) return receiving.held;
      const whole = receiving.bytes;
      receiving = undefined;
      return await keep(piece, whole) ? size : undefined;
    },
    linesOf: (turnId, attached) =>
      attached.map(({ n, name, size, content_type: type, fault }) => {
        const shown = oneLine(name, 120);
        if (fault !== undefined) {
          return `[attachment: ${shown} is not here: ${oneLine(fault, 200)}]`;
        }
        const kind = type === undefined ? "" : `, ${oneLine(type, 80)}`;
        return `[attachment: ${shown}, ${size ?? 0} bytes${kind}: ${pathOf(turnId, n, name)}]`;
      }),
  };
}

function oneLine(text: string, max: number): string {
  return text.replace(/[\p{Cc}\s[\]]+/gu, " ").trim().slice(0, max);
}

function readBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}
