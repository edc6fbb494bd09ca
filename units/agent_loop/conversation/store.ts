/**
 * Session files: one JSON record per line in `~/.runtime-b/agent/sessions/<id>.jsonl`, mode 0600.
 * Each record is appended and synced before the next step, so that a crash loses no stored record.
 * An incomplete last line is skipped. A lock file beside the session lets only one process open it.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files, Lock } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import {
  type Message,
  messagesOf,
  type SessionRecord,
  sessionRecord,
} from "units/agent_loop/conversation/message.ts";

/** An open conversation. */
export interface Conversation {
  readonly id: string;
  /** Messages for the model, oldest first; valid for every provider. */
  messages(): readonly Message[];
  /** Number of turns that `messages` no longer contains. */
  forgottenTurns(): number;
  /** All records, for a replay to a client. */
  records(): readonly SessionRecord[];
  /** Stores a record; it is synced to disk when the promise resolves. */
  append(record: SessionRecord): Promise<void>;
  /**
   * Ends a turn that a crash interrupted and that does not continue, so that the model sees the
   * interruption.
   */
  closeOpenTurn(): Promise<void>;
  /** Drops the oldest turns from memory because they no longer fit the window. */
  forget(turns: number): void;
  close(): Promise<void>;
}

/** Dependencies of the store. */
export interface StorePorts {
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
}

const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9-]{7,63}$/;
/** A larger file is rewritten with its newest turns when it is opened. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
const KEPT_BYTES = 4 * 1024 * 1024;
/** How long to wait for a runtime that is ending to release the session. */
const LOCK_MS = 15_000;

/** Creates a conversation in `folder`. */
export async function createConversation(
  folder: string,
  session: { readonly id: string; readonly cwd: string },
  ports: StorePorts,
): Promise<Result<Conversation>> {
  await ports.files.ensureDir(folder, { mode: 0o700 });
  const lock = await lockSession(folder, session.id, ports);
  if (!lock.ok) return lock;
  const first: SessionRecord = {
    type: "session",
    version: 1,
    id: session.id,
    at: ports.clock.now(),
    cwd: session.cwd,
  };
  const conversation = conversationOf(folder, [], { id: session.id, lock: lock.value, ports });
  await conversation.append(first);
  return ok(conversation);
}

/** Opens a stored conversation; repairs what a crash left incomplete. */
export async function openConversation(
  folder: string,
  id: string,
  ports: StorePorts,
): Promise<Result<Conversation>> {
  if (!SESSION_ID.test(id)) return unknownSession(id);
  const path = `${folder}/${id}.jsonl`;
  if (await ports.files.stat(path) === undefined) return unknownSession(id);
  const lock = await lockSession(folder, id, ports);
  if (!lock.ok) return lock;
  const text = await ports.files.readText(path) ?? "";
  const { records, skipped } = parseRecords(text);
  if (skipped > 0) ports.log.warning("session lines skipped", { session: id, lines: skipped });
  const kept = text.length > FILE_BYTES_MAX ? newestRecords(records) : records;
  if (kept.length < records.length) {
    const body = kept.map((record) => `${JSON.stringify(record)}\n`).join("");
    await ports.files.write(path, body, { mode: 0o600 });
  } else if (text !== "" && !text.endsWith("\n")) {
    // The next record must not be appended to the incomplete line.
    await ports.files.appendDurably(path, "\n", 0o600);
  }
  return ok(conversationOf(folder, kept, { id, lock: lock.value, ports }));
}

/** Parses a session file. Skips and counts lines that are incomplete or unknown. */
export function parseRecords(
  text: string,
): { readonly records: readonly SessionRecord[]; readonly skipped: number } {
  const records: SessionRecord[] = [];
  let skipped = 0;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const parsed = sessionRecord.safeParse(parseJsonLine(line));
    if (parsed.success) records.push(parsed.data);
    else skipped++;
  }
  return { records, skipped };
}

/** Keeps as many whole turns from the end as fit, and counts the others. */
function newestRecords(records: readonly SessionRecord[]): readonly SessionRecord[] {
  const starts = records.flatMap((record, index) => record.type === "user" ? [index] : []);
  let bytes = 0;
  let from = records.length;
  for (const start of [...starts].reverse()) {
    bytes += JSON.stringify(records.slice(start, from)).length;
    if (bytes > KEPT_BYTES && from < records.length) break;
    from = start;
  }
  const dropped = starts.filter((start) => start < from).length;
  const [first] = records;
  const header: readonly SessionRecord[] = first?.type === "session"
    ? [{ ...first, forgotten_turns: (first.forgotten_turns ?? 0) + dropped }]
    : [];
  return [...header, ...records.slice(from)];
}

/** Whether the last turn has no end. */
function hasOpenTurn(records: readonly SessionRecord[]): boolean {
  const last = records.findLast((record) => record.type === "user" || record.type === "end");
  return last?.type === "user";
}

function conversationOf(
  folder: string,
  loaded: readonly SessionRecord[],
  held: { readonly id: string; readonly lock: Lock; readonly ports: StorePorts },
): Conversation {
  const path = `${folder}/${held.id}.jsonl`;
  const records = [...loaded];
  let forgotten = records[0]?.type === "session" ? records[0].forgotten_turns ?? 0 : 0;
  let messages: readonly Message[] | undefined;
  let writing: Promise<void> = Promise.resolve();
  const append = (record: SessionRecord) => {
    // Writes run in order. A record that could not be stored does not become part of the
    // conversation.
    const stored = writing.then(async () => {
      await held.ports.files.appendDurably(path, `${JSON.stringify(record)}\n`, 0o600);
      records.push(record);
      messages = undefined;
    });
    writing = stored.catch(() => {});
    return stored;
  };
  return {
    id: held.id,
    messages: () => messages ??= messagesOf(records),
    forgottenTurns: () => forgotten,
    records: () => records,
    append,
    async closeOpenTurn() {
      if (!hasOpenTurn(records)) return;
      await append({
        type: "end",
        at: held.ports.clock.now(),
        outcome: "interrupted",
        reason: "the runtime ended during the turn",
      });
    },
    forget(turns) {
      for (let left = turns; left > 0; left--) {
        const next = records.findIndex((record, index) => index > 0 && record.type === "user");
        const after = records.findIndex((record, index) => index > next && record.type === "user");
        if (next === -1 || after === -1) break;
        records.splice(next, after - next);
        forgotten++;
      }
      messages = undefined;
    },
    close: () => held.lock.release(),
  };
}

async function lockSession(folder: string, id: string, ports: StorePorts): Promise<Result<Lock>> {
  const timeout = new AbortController();
  const stopTimer = ports.clock.after(LOCK_MS, () => timeout.abort());
  try {
    return ok(await ports.files.lock(`${folder}/${id}.lock`, timeout.signal));
  } catch (error) {
    if (!timeout.signal.aborted) throw error;
    return err(refusal(
      "session-busy",
      `Cannot open session "${id}": another runtime has it open, must end first`,
    ));
  } finally {
    stopTimer();
  }
}

function unknownSession(id: string): Result<never> {
  return err(refusal(
    "session-unknown",
    `Cannot open session "${id.slice(0, 64)}": there is no such session`,
  ));
}
