/**
 * Opens the gateway's database: events, turns, conversations, approvals, questions, first dial keys
 * and the last state of each agent. All are in one SQLite file, so a turn and its event are written
 * in one transaction.
 *
 * @module
 */

import { openApprovalStore } from "gateway/approvals/approval_store.ts";
import type { Database, Databases } from "core/ports/databases.ts";
import { openQuestionStore } from "gateway/questions/question_store.ts";
import { writeSql } from "core/store/sql_write.ts";
import { openRetention } from "core/store/transcript_retention.ts";
import { openConversations } from "gateway/transcript/conversations.ts";
import type { AgentMemory, GatewayStore, KeyStore } from "gateway/transcript/event_log.ts";
import { insertInto, openEventLog } from "gateway/transcript/events.ts";
import { prepareSchema, type Row } from "gateway/transcript/schema.ts";
import { openTurnStore } from "gateway/transcript/turns.ts";
import { openUsage } from "gateway/transcript/usage.ts";

/**
 * Opens or creates the store. Rejects when the file cannot be opened. `newEpoch` identifies a new
 * log; `agentBytesMax` limits what is stored of one agent.
 */
export async function openGatewayStore(
  databases: Databases,
  path: string,
  newEpoch: string,
  agentBytesMax: number,
): Promise<GatewayStore> {
  const db = await databases.open(path);
  const epoch = prepareSchema(db, newEpoch);
  const insert = insertInto(db);
  const { store: turns, applyToTurn } = openTurnStore(db, insert);
  const approvals = openApprovalStore(db);
  const questions = openQuestionStore(db);
  const usage = openUsage(db, agentBytesMax);
  const memories = db.prepare("select * from agents");
  const memory = db.prepare("select * from agents where agent = ?");
  return {
    events: openEventLog(db, epoch, {
      insert,
      applyToTurn,
      applyToApproval: approvals.applyToApproval,
      applyToQuestion: questions.applyToQuestion,
      hasRoom: usage.hasRoom,
    }),
    usage,
    conversations: openConversations(db),
    retention: openRetention(db),
    approvals: approvals.store,
    questions: questions.store,
    turns,
    keys: openKeyStore(db),
    memories: (only) => {
      const rows = only === undefined ? memories.all() : only.flatMap((agent) => memory.all(agent));
      return Promise.resolve(rows.map(readMemory));
    },
    close: () => db.close(),
  };
}

function openKeyStore(db: Database): KeyStore {
  const of = db.prepare("select key from dial_keys where agent = ? order by at limit 1");
  const all = db.prepare("select agent, key from dial_keys order by at, agent");
  const add = db.prepare(
    "insert into dial_keys (agent, key, at) select ?, ?, ? " +
      "where not exists (select 1 from dial_keys where agent = ?)",
  );
  const drop = db.prepare("delete from dial_keys where agent = ? and key = ?");
  const keyOf = (agent: string) => {
    const row = of.get(agent);
    return row === undefined ? undefined : String(row.key);
  };
  return {
    keyOf: (agent) => Promise.resolve(keyOf(agent)),
    all: () =>
      Promise.resolve(
        all.all().map((row) => ({ agent: String(row.agent), key: String(row.key) })),
      ),
    addFirst: ({ agent, key }, at) =>
      Promise.resolve(writeSql(db, "the dial key", () => {
        add.run(agent, key, Math.round(at), agent);
        return keyOf(agent) === key;
      })),
    drop: ({ agent, key }) =>
      Promise.resolve(writeSql(db, "the dial key", () => {
        drop.run(agent, key);
      })),
  };
}

function readMemory(row: Row): AgentMemory {
  return {
    agent: String(row.agent),
    state: row.state === null ? undefined : String(row.state),
    reason: row.reason === null ? undefined : String(row.reason),
    since: row.since === null ? undefined : Number(row.since),
  };
}
