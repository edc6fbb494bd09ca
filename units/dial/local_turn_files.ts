/**
 * Files that come with a turn from this host. The connection sends them before the turn, in pieces;
 * those of a connection that ends before are removed.
 *
 * @module
 */

import type { AttachmentInfo } from "core/dial/event.ts";
import type { TurnFile } from "core/dial/frames.ts";
import type { LocalRequest } from "core/dial/local_frames.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { createTurnFiles } from "units/dial/turn_files.ts";
import type { TurnFolder } from "units/dial/turn_folder.ts";
import { createTurnImages } from "units/dial/turn_images.ts";

/** A turn that has an id because it has files. */
export interface FilledTurn {
  readonly turnId: string;
  readonly files: readonly TurnFile[];
  /** Lines that describe the files, for the text of the turn. */
  readonly lines: readonly string[];
  /** The files as the transcript shows them. */
  readonly shown: readonly AttachmentInfo[];
}

/** The files of one connection. */
export interface LocalTurnFiles {
  /** Stores a piece and returns how much of its file is stored. */
  take(piece: Extract<LocalRequest, { type: "turn_file" }>): Promise<Result<number>>;
  /** Hands the files over to a turn; undefined when there are none. */
  claim(): Promise<FilledTurn | undefined>;
  /** Removes the files of a turn that did not begin. */
  drop(turnId: string): Promise<void>;
  /** Removes files that no turn has claimed. */
  close(): Promise<void>;
}

/** Maximum number of connections that send files at once; each holds one file in memory. */
const SENDERS_MAX = 2;

/** Creates the files of the connections of one dial unit; each call opens those of one. */
export function createLocalTurnFiles(
  folder: TurnFolder,
  random: Pick<Random, "uuid">,
): () => LocalTurnFiles {
  const images = createTurnImages(folder);
  let senders = 0;
  return () => {
    const receiver = createTurnFiles(folder);
    const files: TurnFile[] = [];
    let turnId: string | undefined;
    const forget = () => {
      if (turnId !== undefined) senders--;
      turnId = undefined;
    };
    return {
      take: async ({ n, name, size, offset, data }) => {
        const isNext = n === files.length + 1 && n <= FILE_LIMITS.filesMax;
        if (!isNext) return err(unfit());
        if (turnId === undefined) {
          if (senders >= SENDERS_MAX) return err(tooManySenders());
          senders++;
          turnId = random.uuid();
        }
        const held = await receiver.take({ turn_id: turnId, n, name, size, offset, data });
        if (held === undefined) return err(unfit());
        if (held === size) files.push({ n, name, size });
        return ok(held);
      },
      claim: async () => {
        if (turnId === undefined) return undefined;
        const claimed = turnId;
        forget();
        return {
          turnId: claimed,
          files,
          lines: receiver.linesOf(claimed, files),
          shown: await images.describe(claimed, files),
        };
      },
      drop: (of) => folder.drop(of),
      close: async () => {
        const left = turnId;
        forget();
        if (left !== undefined) await folder.drop(left);
      },
    };
  };
}

function unfit(): Refusal {
  const { filesMax, fileBytesMax } = FILE_LIMITS;
  return refusal(
    "attachment-unfit",
    "Cannot accept the file: it cannot be stored, or it is not the next piece of one of at most " +
      `${filesMax} files of ${fileBytesMax} bytes`,
    { kind: "usage" },
  );
}

function tooManySenders(): Refusal {
  return refusal(
    "turn-queue-full",
    `Cannot accept the file: ${SENDERS_MAX} other connections send files, one must end first`,
  );
}
