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
import type { PlanEntry } from "core/limits/plan.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import {
  type Message,
  type SessionRecord,
  sessionRecord,
  type SummaryRecord,
} from "units/agent_loop/conversation/message.ts";
import { firstVisible, messagesFrom, turnStart } from "units/agent_loop/conversation/summary.ts";

/** An open conversation. */
export interface Conversation {
  readonly id: string;
  /** Messages for the model, oldest first; valid for every provider. */
  messages(): readonly Message[];
  /** Number of turns that neither `messages` nor the summary contains. */
  forgottenTurns(): number;
  /** The summary of what precedes `messages`. */
  summary(): SummaryRecord | undefined;
  /** The current todo list; empty when there is none. */
  plan(): readonly PlanEntry[];
  /** The records in memory: at least those of the running turn, and those of `messages`. */
  records(): readonly SessionRecord[];
  /** Index in `records` of the first one that is part of `messages`. */
  visibleFrom(): number;
  /** Stores a record; it is synced to disk when the promise resolves. */
  append(record: SessionRecord): Promise<void>;
  /**
   * Ends a turn that a crash interrupted and that does not continue, so that the model sees the
   * interruption.
   */
  closeOpenTurn(): Promise<void>;
  /** Drops the oldest visible turns from memory because they no longer fit the window. */
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
  const older = records.slice(0, from);
  const plan = older.findLast((record) => record.type === "plan");
  const summary = older.findLast((record) => record.type === "summary");
  const isNewer = records.slice(from).some((record) => record.type === "summary");
  // Everything that it left visible before these turns is dropped.
  const kept = summary === undefined || isNewer ? [] : [{ ...summary, kept: 0 }];
  return [...header, ...plan === undefined ? [] : [plan], ...kept, ...records.slice(from)];
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
  const view = createView(loaded);
  let writing: Promise<void> = Promise.resolve();
  const append = (record: SessionRecord) => {
    // Writes run in order. A record that could not be stored does not become part of the
    // conversation.
    const stored = writing.then(async () => {
      await held.ports.files.appendDurably(path, `${JSON.stringify(record)}\n`, 0o600);
      view.add(record);
    });
    writing = stored.catch(() => {});
    return stored;
  };
  return {
    id: held.id,
    ...view,
    append,
    async closeOpenTurn() {
      if (!hasOpenTurn(view.records())) return;
      await append({
        type: "end",
        at: held.ports.clock.now(),
        outcome: "interrupted",
        reason: "the runtime ended during the turn",
      });
    },
    close: () => held.lock.release(),
  };
}

/** The records in memory, and what of them the model sees. */
function createView(loaded: readonly SessionRecord[]) {
  const records = [...loaded];
  let from = firstVisible(records);
  let summary = records.findLast((record) => record.type === "summary");
  let plan = records.findLast((record) => record.type === "plan")?.entries ?? [];
  let forgotten = records[0]?.type === "session" ? records[0].forgotten_turns ?? 0 : 0;
  let messages: readonly Message[] | undefined;
  /** Frees hidden turns; the message of a turn that is visible in part stays. */
  const trim = () => {
    const head = records[0]?.type === "session" ? 1 : 0;
    const hidden = turnStart(records, from) - head;
    if (hidden > 0) {
      records.splice(head, hidden);
      from -= hidden;
    }
    messages = undefined;
  };
  return {
    messages: () => messages ??= messagesFrom(records, from),
    forgottenTurns: () => forgotten,
    summary: () => summary,
    plan: () => plan,
    records: () => records,
    visibleFrom: () => from,
    forget(turns: number) {
      for (let left = turns; left > 0; left--) {
        const first = turnStart(records, from) === -1
          ? records.findIndex((record) => record.type === "user")
          : from;
        const next = records.findIndex((record, index) => index > first && record.type === "user");
        if (next === -1) break;
        from = next;
        forgotten++;
      }
      trim();
    },
    add(record: SessionRecord) {
      records.push(record);
      messages = undefined;
      if (record.type === "plan") plan = record.entries;
      if (record.type !== "summary") return;
      summary = record;
      from = firstVisible(records);
      trim();
    },
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
