/**
 * Files that the agent offers to its owner. They are read from one folder in the agent's home and
 * sent in pieces. Each piece is sent after the gateway has stored the previous one. On a new
 * connection, a file starts over.
 *
 * @module
 */

import type { InboundFrame } from "units/dial/client_session.ts";
import type { ClientFrame } from "core/dial/frames.ts";
import { refusal } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { fileName } from "core/teamchat/file_refs.ts";
import type { OwnerDelivery } from "units/dial/messages.ts";

/** A file that a program of the agent offers. */
export interface FileOffer {
  readonly name: string;
  readonly description: string;
  readonly id?: string | undefined;
}

/** Offers files to the owner. */
export interface OwnerFiles {
  /** Resolves when the owner is asked about the file, or with the reason why not. */
  offer(file: FileOffer): Promise<Result<OwnerDelivery>>;
  /** Records that the gateway has stored a piece. */
  taken(frame: Extract<InboundFrame, { type: "owner_file_taken" }>): void;
  /** Delivers a result; false when no caller waits for it. */
  answered(frame: Extract<InboundFrame, { type: "owner_message_result" }>): boolean;
  /** Restarts every file that has no answer. */
  resend(): void;
}

type Piece = Extract<ClientFrame, { type: "owner_file" }>;

interface OpenOffer {
  readonly offer: FileOffer;
  readonly bytes: Uint8Array;
  readonly resolve: (answer: Result<OwnerDelivery>) => void;
  /** Cancels the timer that gives up when there is no progress. */
  stopWait: () => void;
}

/** Maximum number of files at once: each is in memory. */
const OPEN_MAX = 2;

/** Creates the sender; `folder` is where programs put the files to send. */
export function createOwnerFiles(deps: {
  readonly files: Files;
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly send: (frame: Piece) => void;
  readonly hasTeamchat: () => boolean;
}): OwnerFiles {
  const { files, folder, clock, random } = deps;
  const open = new Map<string, OpenOffer>();

  function sendPiece(id: string, pending: OpenOffer, offset: number): void {
    deps.send(pieceAt(id, pending, offset));
    pending.stopWait();
    pending.stopWait = clock.after(MESSAGE_LIMITS.answerSeconds * 1000, () => {
      pending.resolve(err(refusal(
        "gateway-silent",
        "Cannot send the file: the gateway did not answer in time",
      )));
    });
  }

  return {
    offer: async (offer) => {
      if (!deps.hasTeamchat()) {
        return err(refusal(
          "teamchat-absent",
          "Cannot send the file: this agent has no team-chat gateway, must have one",
        ));
      }
      if (open.size >= OPEN_MAX) {
        return err(refusal("message-busy", "Cannot send the file: others are being sent"));
      }
      const bytes = await readOffered(files, folder, offer.name);
      if (!bytes.ok) return bytes;
      const id = offer.id ?? random.uuid();
      const { promise, resolve } = Promise.withResolvers<Result<OwnerDelivery>>();
      const pending: OpenOffer = { offer, bytes: bytes.value, resolve, stopWait: () => {} };
      open.set(id, pending);
      sendPiece(id, pending, 0);
      const answer = await promise;
      pending.stopWait();
      open.delete(id);
      return answer;
    },
    taken: ({ id, next }) => {
      const pending = open.get(id);
      if (pending !== undefined && next < pending.bytes.length) sendPiece(id, pending, next);
    },
    answered: ({ id, outcome, ids, reason }) => {
      const pending = open.get(id);
      pending?.resolve(ok({ outcome, ids, reason }));
      return pending !== undefined;
    },
    resend: () => {
      for (const [id, pending] of open) sendPiece(id, pending, 0);
    },
  };
}

function pieceAt(id: string, { offer, bytes }: OpenOffer, offset: number): Piece {
  const piece = bytes.subarray(offset, offset + FILE_LIMITS.fileChunkBytes);
  return {
    type: "owner_file",
    id,
    name: offer.name,
    description: offer.description,
    size: bytes.length,
    offset,
    data: piece.toBase64(),
  };
}

/** Returns the content of a file of `folder`, or why it cannot be offered. */
async function readOffered(
  files: Files,
  folder: string,
  name: string,
): Promise<Result<Uint8Array>> {
  if (name !== fileName(name, 1)) return err(unfit(name, "its name is not a plain file name"));
  const path = `${folder}/${name}`;
  const stat = await files.stat(path).catch(() => undefined);
  if (stat?.kind !== "file") return err(unfit(name, `there is no such file in ${folder}`));
  if (stat.size === 0) return err(unfit(name, "it is empty"));
  if (stat.size > FILE_LIMITS.fileBytesMax) {
    return err(unfit(name, `it is larger than ${FILE_LIMITS.fileBytesMax} bytes`));
  }
  const bytes = await files.readBytes(path).catch(() => undefined);
  return bytes === undefined ? err(unfit(name, "it cannot be read")) : ok(bytes);
}

function unfit(name: string, state: string) {
  return refusal("file-unfit", `Cannot send the file "${name.slice(0, 120)}": ${state}`);
}
