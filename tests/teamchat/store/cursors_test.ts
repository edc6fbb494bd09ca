/**
 * An agent that registers with epoch after epoch does not fill the table, and does not displace
 * other agents' rows.
 *
 * @module
 */

import assert from "node:assert/strict";
import { EVENT_LIMITS } from "core/limits/event.ts";
import type { Writer } from "teamchat/store/batch.ts";
import { prepareSchema } from "teamchat/store/schema.ts";
import { openTurnRows } from "teamchat/store/turn_rows.ts";
import { openTurnStore } from "teamchat/store/turns.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";

const EVENT = { seq: 1, at: 1, kind: "notice", payload: { text: "n" } } as const;

Deno.test("append() keeps a bounded number of epochs of one agent", async () => {
  const db = await memoryDatabases().open("/t.db");
  prepareSchema(db);
  const write: Writer = (_what, work) => Promise.resolve(db.transaction(work));
  const book = openTurnStore(db, { write, writeLater: write }, openTurnRows(db));
  const count = db.prepare("select count(*) as n from cursors where agent = 'mia'");
  assert.ok((await book.append("bob", "b1", [EVENT], 1)).ok);
  for (let epoch = 1; epoch <= EVENT_LIMITS.epochsKept; epoch++) {
    assert.ok((await book.append("mia", `e${epoch}`, [EVENT], 1)).ok);
  }
  assert.equal(count.get()?.n, EVENT_LIMITS.epochsKept);
  assert.equal(book.ackedSeq("mia", "e1"), 1);
  const next = await book.append("mia", "one more", [EVENT], 1);
  assert.equal(next.ok && next.value.ackedSeq, 1);
  assert.equal(count.get()?.n, 1);
  assert.equal(book.ackedSeq("mia", "one more"), 1);
  assert.equal(book.ackedSeq("bob", "b1"), 1);
});
