/**
 * Files from owners to agents. They are downloaded as soon as their message is stored, because
 * their addresses expire within minutes. They are kept in a folder and sent in pieces before their
 * turn. The turn waits for its files, and reports why a file is missing.
 *
 * @module
 */

import { createFairSemaphore, type FairSemaphore } from "core/concurrency/fair_semaphore.ts";
import type { ClientFrame, TurnFile } from "core/dial/frames.ts";
import type { DialSession } from "core/dial/sessions.ts";
import { errorText } from "core/errors.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { type FetchDeps, fetchFile } from "teamchat/files/fetch.ts";
import type { Metrics } from "teamchat/metrics.ts";
import type { TeamchatStore } from "teamchat/store/store.ts";
import type { SettledFile, StoredTurnFile } from "teamchat/store/turn_files.ts";

/** Moves files to agents. */
export interface IncomingFiles {
  /** Downloads the files of a stored turn. */
  fetch(turnId: string, agent: string): void;
  /** Downloads files that an earlier process left. */
  resume(): void;
  /** Whether a turn waits for files that are being downloaded. */
  isWaiting(turnId: string): boolean;
  /** Sends the files of a turn. Calls `onDone` with the turn's entries about them. */
  handOver(
    session: DialSession,
    turnId: string,
    onDone: (files: readonly TurnFile[]) => void,
  ): void;
  /** Call when the agent has stored a piece. */
  confirmed(session: DialSession, frame: Extract<ClientFrame, { type: "file_taken" }>): void;
  /** Deletes the files: the agent has the turn, or will never get it. */
  forget(turnId: string): void;
  /** Resolves when no download is in flight. */
  close(): Promise<void>;
}

/** Dependencies. */
export interface IncomingDeps extends FetchDeps {
  readonly store: Pick<TeamchatStore, "turnFiles">;
  readonly files: Files;
  readonly clock: Clock;
  /** Folder for the bytes. */
  readonly folder: string;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Called when all files of a turn are downloaded or failed. */
  readonly onSettled: (turnId: string) => void;
}

/** A transfer in progress. */
interface Handover {
  readonly turnId: string;
  readonly rest: StoredTurnFile[];
  current: { readonly n: number; readonly name: string; readonly bytes: Uint8Array } | undefined;
  readonly described: TurnFile[];
  readonly onDone: (files: readonly TurnFile[]) => void;
}

/** Creates it; call `resume` for files that an earlier process left. */
export function createIncomingFiles(deps: IncomingDeps): IncomingFiles {
  return new Incoming(deps);
}

class Incoming implements IncomingFiles {
  readonly #deps: IncomingDeps;
  readonly #jobs = new Map<string, Promise<void>>();
  readonly #gate: FairSemaphore;
  readonly #handovers = new WeakMap<DialSession, Handover>();
  #isClosed = false;

  constructor(deps: IncomingDeps) {
    this.#deps = deps;
    this.#gate = createFairSemaphore({
      max: FILE_LIMITS.concurrentFetchesMax,
      maxPerKey: FILE_LIMITS.concurrentFetchesPerOwnerMax,
      clock: deps.clock,
    });
  }

  fetch(turnId: string, agent: string): void {
    if (this.#jobs.has(turnId) || this.#isClosed || !this.isWaiting(turnId)) return;
    const job = this.#fetchInTurn(turnId, agent)
      .catch((thrown) =>
        this.#deps.log.error("files not fetched", { turn: turnId, error: errorText(thrown) })
      )
      .finally(() => {
        this.#jobs.delete(turnId);
        if (!this.#isClosed) this.#deps.onSettled(turnId);
      });
    this.#jobs.set(turnId, job);
  }

  resume(): void {
    const { turnFiles } = this.#deps.store;
    for (const { turnId, agent } of turnFiles.wanting()) this.fetch(turnId, agent);
  }

  isWaiting(turnId: string): boolean {
    return this.#deps.store.turnFiles.of(turnId).some(({ state }) => state === "wanted");
  }

  handOver(
    session: DialSession,
    turnId: string,
    onDone: (files: readonly TurnFile[]) => void,
  ): void {
    const rest = [...this.#deps.store.turnFiles.of(turnId)];
    const handover: Handover = { turnId, rest, current: undefined, described: [], onDone };
    this.#handovers.set(session, handover);
    void this.#next(session, handover);
  }

  confirmed(session: DialSession, frame: Extract<ClientFrame, { type: "file_taken" }>): void {
    const handover = this.#handovers.get(session);
    const current = handover?.current;
    if (handover === undefined || current === undefined) return;
    if (handover.turnId !== frame.turn_id || current.n !== frame.n) return;
    if (frame.next < current.bytes.length) return this.#sendPiece(session, handover, frame.next);
    handover.current = undefined;
    void this.#next(session, handover);
  }

  forget(turnId: string): void {
    const { store, files, folder, log } = this.#deps;
    if (store.turnFiles.of(turnId).length === 0) return;
    const forgotten = store.turnFiles.forget(turnId);
    if (!forgotten.ok) return log.error("files not forgotten", { code: forgotten.error.code });
    files.remove(`${folder}/${turnId}`, { recursive: true })
      .catch((thrown) => log.error("files not removed", { error: errorText(thrown) }));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#jobs.values());
  }

  /** Owners take turns in downloading; all files of one message count as one job. */
  async #fetchInTurn(turnId: string, agent: string): Promise<void> {
    const leave = await this.#gate.acquire(agent);
    try {
      if (!this.#isClosed) await this.#fetchAll(turnId);
    } finally {
      leave?.();
    }
  }

  /** Downloads sequentially: the files of one message belong to one owner. */
  async #fetchAll(turnId: string): Promise<void> {
    const { store, metrics, log } = this.#deps;
    for (const file of store.turnFiles.of(turnId)) {
      if (file.state !== "wanted") continue;
      const settled = await this.#fetchOne(file);
      // Still wanted: the next start downloads it, if its address is still valid then.
      if (this.#isClosed && "fault" in settled) return;
      metrics.count("files", { direction: "in", result: "fault" in settled ? "absent" : "here" });
      if ("fault" in settled) log.info("file not fetched", { turn: turnId, reason: settled.fault });
      const stored = store.turnFiles.settle(turnId, file.n, settled);
      if (!stored.ok) return log.error("file not stored", { code: stored.error.code });
    }
  }

  async #fetchOne({ turnId, n, ref, base }: StoredTurnFile): Promise<SettledFile> {
    const { files, folder, log } = this.#deps;
    const fetched = await fetchFile(ref, base, this.#deps);
    if (!fetched.ok) return { fault: fetched.why };
    try {
      await files.ensureDir(`${folder}/${turnId}`, { mode: 0o700 });
      await files.write(`${folder}/${turnId}/${n}`, fetched.bytes, { mode: 0o600 });
    } catch (thrown) {
      log.error("file not kept", { turn: turnId, error: errorText(thrown) });
      return { fault: "the gateway had no room for it" };
    }
    return { size: fetched.bytes.length, type: fetched.type };
  }

  /** Sends the next file, or finishes. */
  async #next(session: DialSession, handover: Handover): Promise<void> {
    const { files, folder } = this.#deps;
    for (;;) {
      const file = handover.rest.shift();
      if (file === undefined) break;
      const { turnId, n, ref: { name }, state, type, fault } = file;
      const bytes = state === "here"
        ? await files.readBytes(`${folder}/${turnId}/${n}`).catch(() => undefined)
        : undefined;
      if (this.#handovers.get(session) !== handover) return;
      if (bytes === undefined) {
        handover.described.push({
          n,
          name,
          fault: fault ?? "the gateway no longer has it",
        });
        continue;
      }
      const contentType = type === undefined ? {} : { content_type: type };
      handover.described.push({ n, name, size: bytes.length, ...contentType });
      handover.current = { n, name, bytes };
      return this.#sendPiece(session, handover, 0);
    }
    this.#handovers.delete(session);
    handover.onDone(handover.described);
  }

  #sendPiece(session: DialSession, { turnId, current }: Handover, offset: number): void {
    if (current === undefined) return;
    const { n, name, bytes } = current;
    const piece = bytes.subarray(offset, offset + FILE_LIMITS.fileChunkBytes);
    session.send({
      type: "file",
      turn_id: turnId,
      n,
      name,
      size: bytes.length,
      offset,
      data: piece.toBase64(),
    });
  }
}
