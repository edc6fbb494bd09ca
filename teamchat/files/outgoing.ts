/**
 * Files from agents to owners: received in pieces, offered by a card, uploaded to the platform
 * after the owner's consent, then shown. A consent counts once. It is valid only from the
 * file's owner, in the conversation of the card, within a day.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { ClientFrame } from "core/dial/frames.ts";
import type { DialSession } from "core/dial/sessions.ts";
import { errorText } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { consentCard, fileCard } from "teamchat/files/file_consent.ts";
import { fileName } from "core/teamchat/file_refs.ts";
import { uploadFile } from "teamchat/files/upload.ts";
import type { Metrics } from "teamchat/metrics.ts";
import { cardBody } from "teamchat/reply/activities.ts";
import { sendCard } from "teamchat/reply/card.ts";
import type { Connector } from "teamchat/reply/connector.ts";
import type { OwnerFile } from "teamchat/store/owner_files.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { Conversation, DeliveryOutcome } from "teamchat/store/turn.ts";

/** A piece as received. */
export type OwnerFilePiece = Extract<ClientFrame, { type: "owner_file" }>;

/** Moves files to owners. */
export interface OutgoingFiles {
  take(session: DialSession, piece: OwnerFilePiece): void;
  /** Call when the owner's answer is stored. */
  answered(fileId: string): void;
  /** Uploads files that an earlier process left. */
  resume(): void;
  /** Ends expired offers. */
  expire(): void;
  /** Resolves when no work is in flight. */
  close(): Promise<void>;
}

/** Dependencies. */
export interface OutgoingDeps {
  readonly store: Pick<TeamchatStore, "ownerFiles" | "ownerEvents">;
  /** The latest personal chat of the agent's owner, or why nothing can be sent. */
  readonly placeFor: (agent: string) => Conversation | string;
  /** Aborted when the agent no longer belongs to the owner: nothing more is sent there. */
  readonly gone: (owner: string, agent: string) => AbortSignal;
  readonly connector: Connector;
  readonly http: HttpClient;
  /** Allowed origins of files, from the settings. */
  readonly origins: ReadonlySet<string>;
  readonly files: Files;
  readonly folder: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Called when there is an event for an agent. */
  readonly onEvent: (agent: string) => void;
}

/** Reason reported to the agent for a file whose owner no longer has this agent. */
const GONE = "owner gone";

/** A file that is being received. */
interface Coming {
  readonly id: string;
  readonly bytes: Uint8Array;
  held: number;
}

/** Creates the transfer of files to owners. */
export function createOutgoingFiles(deps: OutgoingDeps): OutgoingFiles {
  return new Outgoing(deps);
}

class Outgoing implements OutgoingFiles {
  readonly #deps: OutgoingDeps;
  readonly #coming = new WeakMap<DialSession, Coming>();
  readonly #jobs = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(deps: OutgoingDeps) {
    this.#deps = deps;
  }

  take(session: DialSession, piece: OwnerFilePiece): void {
    const { id, size, offset } = piece;
    const place = this.#deps.placeFor(session.agent);
    if (typeof place === "string") return this.#sendResult(session, id, "blocked", place);
    if (size > FILE_LIMITS.fileBytesMax) {
      return this.#sendResult(session, id, "too_large", "the file is too large");
    }
    let coming = this.#coming.get(session);
    if (coming?.id !== id || offset === 0) {
      coming = { id, bytes: new Uint8Array(size), held: 0 };
      this.#coming.set(session, coming);
    }
    const bytes = decodeBase64(piece.data);
    const isNext = bytes !== undefined && bytes.length > 0 && offset === coming.held &&
      size === coming.bytes.length && offset + bytes.length <= size;
    if (!isNext) {
      this.#coming.delete(session);
      return this.#sendResult(session, id, "failed", "the pieces of the file do not fit");
    }
    coming.bytes.set(bytes, offset);
    coming.held += bytes.length;
    session.send({ type: "owner_file_taken", id, next: coming.held });
    if (coming.held < size) return;
    this.#coming.delete(session);
    const whole = coming.bytes;
    this.#run(async () => await this.#offer(session, piece, { place, bytes: whole }));
  }

  answered(fileId: string): void {
    const file = this.#deps.store.ownerFiles.get(fileId);
    if (file?.state === "accepted") this.#run(() => this.#bring(file));
    else if (file?.state === "closed") this.#end(file, "declined", undefined);
  }

  resume(): void {
    for (const file of this.#deps.store.ownerFiles.accepted()) {
      this.#run(() => this.#bring(file, true));
    }
  }

  expire(): void {
    const { store, clock } = this.#deps;
    for (const file of store.ownerFiles.expired(clock.now())) {
      this.#end(file, "expired", undefined);
    }
    store.ownerFiles.sweep(clock.now() - TEAMCHAT_LIMITS.closedTurnsKeptMs);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#jobs]);
  }

  #run(job: () => Promise<void>): void {
    const done = job().catch((thrown) =>
      this.#deps.log.error("file failed", { error: errorText(thrown) })
    );
    this.#jobs.add(done);
    done.finally(() => this.#jobs.delete(done));
  }

  #sendResult(
    session: DialSession,
    id: string,
    outcome: DeliveryOutcome,
    reason?: string,
    ids: readonly string[] = [],
  ): void {
    this.#deps.metrics.count("files", { direction: "out", result: outcome });
    session.send({
      type: "owner_message_result",
      id,
      outcome,
      ids: [...ids],
      ...defined({ reason }),
    });
  }

  /** Stores the file, then requests the owner's consent. */
  async #offer(
    session: DialSession,
    piece: OwnerFilePiece,
    { place, bytes }: { readonly place: Conversation; readonly bytes: Uint8Array },
  ): Promise<void> {
    const { store, files, folder, clock, random, connector } = this.#deps;
    const { agent } = session;
    const { owner, context } = place;
    const fileId = random.uuid();
    const file = {
      fileId,
      agent,
      sendId: piece.id,
      owner,
      context,
      size: bytes.length,
      name: fileName(piece.name, 1),
      description: piece.description,
      expires: clock.now() + FILE_LIMITS.fileOfferMs,
    };
    try {
      await files.ensureDir(folder, { mode: 0o700 });
      await files.write(`${folder}/${fileId}`, bytes, { mode: 0o600 });
    } catch {
      return this.#sendResult(session, piece.id, "failed", "the gateway has no room for it");
    }
    const gone = this.#deps.gone(owner, agent);
    if (gone.aborted) {
      await files.remove(`${folder}/${fileId}`);
      return this.#sendResult(session, piece.id, "blocked", GONE);
    }
    const added = store.ownerFiles.add(file);
    if (!added.ok || added.value !== "new") {
      await files.remove(`${folder}/${fileId}`);
      if (!added.ok) return this.#sendResult(session, piece.id, "failed", added.error.code);
      // The card of the first offer is already in the conversation.
      return added.value === "known"
        ? this.#sendResult(session, piece.id, "delivered")
        : this.#sendResult(session, piece.id, "throttled", "too many files wait for the owner");
    }
    const { outcome, reason, id } = await sendCard(
      { context, body: cardBody(context, consentCard(file)), what: "file-consent" },
      { connector, clock, signal: AbortSignal.any([this.#stop.signal, gone]) },
    );
    this.#sendResult(session, piece.id, outcome, reason, id === undefined ? [] : [id]);
    if (outcome !== "delivered" && outcome !== "ambiguous") this.#forget(file);
  }

  /** Uploads the bytes, then shows the file. An earlier process may have uploaded them already. */
  async #bring(file: OwnerFile, isResumed = false): Promise<void> {
    const { files, folder, origins, http, connector, clock } = this.#deps;
    const { upload, context, name } = file;
    if (upload === undefined) return;
    const bytes = await files.readBytes(`${folder}/${file.fileId}`);
    if (bytes === undefined) {
      return this.#end(file, "failed", "the gateway no longer has it");
    }
    const gone = this.#deps.gone(file.owner, file.agent);
    const signal = AbortSignal.any([this.#stop.signal, gone]);
    const brought = await uploadFile(upload, bytes, { http, origins, clock, signal });
    if (brought === "stopping") {
      if (gone.aborted) this.#end(file, isResumed ? "ambiguous" : "failed", GONE);
      return;
    }
    if (!brought.ok) return this.#end(file, isResumed ? "ambiguous" : "failed", brought.why);
    this.#end(file, "accepted", undefined);
    await sendCard(
      { context, body: cardBody(context, fileCard(name, upload)), what: "file-info" },
      { connector, clock, signal },
    );
  }

  /** Ends a file and notifies its agent. */
  #end(file: OwnerFile, result: string, reason: string | undefined): void {
    const { store, clock, random, metrics, log, onEvent } = this.#deps;
    metrics.count("files", { direction: "out", result });
    log.info("file ended", { agent: file.agent, result, reason });
    this.#forget(file);
    // Only an owner's own action is linked to the owner.
    const owner = result === "accepted" || result === "declined" ? file.owner : undefined;
    const stored = store.ownerEvents.add({
      id: random.uuid(),
      agent: file.agent,
      owner,
      kind: "file",
      created: clock.now(),
      payload: { name: file.name, result, ...defined({ reason }) },
      conversation: file.context.conversation,
      message: undefined,
    });
    if (!stored.ok) return log.error("event not stored", { code: stored.error.code });
    onEvent(file.agent);
  }

  #forget({ fileId }: Pick<OwnerFile, "fileId">): void {
    const { store, files, folder, log } = this.#deps;
    const closed = store.ownerFiles.close(fileId);
    if (!closed.ok) log.error("file not closed", { code: closed.error.code });
    files.remove(`${folder}/${fileId}`)
      .catch((thrown) => log.error("file not removed", { error: errorText(thrown) }));
  }
}

function decodeBase64(text: string): Uint8Array | undefined {
  try {
    return Uint8Array.fromBase64(text, { lastChunkHandling: "strict" });
  } catch {
    return undefined;
  }
}
