/**
 * The audit log on real SQLite: rows written, read back, filtered and deleted, and a log that an
 * older version created.
 *
 * @module
 */

import assert from "node:assert/strict";
import { sqliteDatabases } from "core/os/sqlite.ts";
import type { Database } from "core/ports/databases.ts";
import {
  AUDIT_ROWS_MAX,
  auditedWords,
  type AuditQuery,
  type AuditRow,
  openAudit,
} from "core/verbs/audit.ts";
import { addressFor } from "core/verbs/target.ts";
import { AGENT, invocationOf } from "tests/core/verbs/callers.ts";

const ROW: AuditRow = {
  atMs: 1_000,
  via: "daemon",
  uid: 1002,
  pid: 7,
  caller: "agent:ada:1002",
  verb: "mcp add",
  target: "ada",
  words: "git self",
  isAllowed: true,
  code: "",
  reason: "own agent",
};
const ALL: AuditQuery = { isDeniedOnly: false, limit: 100 };

async function withDatabase(use: (database: Database) => void): Promise<void> {
  const folder = await Deno.makeTempDir();
  const database = await sqliteDatabases().open(`${folder}/audit.sqlite`);
  try {
    use(database);
  } finally {
    database.close();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("openAudit() returns each decision and its outcome", async () => {
  await withDatabase((database) => {
    const audit = openAudit(database);
    const id = audit.decided(ROW);
    assert.deepEqual(audit.read(ALL), [{ ...ROW, id, endedAtMs: undefined, exit: undefined }]);
    audit.ended(id, { atMs: 2_000, exit: "0" });
    assert.deepEqual(audit.read(ALL), [{ ...ROW, id, endedAtMs: 2_000, exit: "0" }]);
  });
});

Deno.test("openAudit() filters by caller, verb, answer and time, keeps the newest", async () => {
  await withDatabase((database) => {
    const audit = openAudit(database);
    audit.decided(ROW);
    audit.decided({ ...ROW, caller: "operator:0", uid: 0, verb: "mcp", atMs: 2_000 });
    audit.decided({ ...ROW, caller: "other:100", uid: 100, verb: "mcp%", isAllowed: false });
    audit.decided({ ...ROW, caller: "admin:adam:1002", verb: "agents add", atMs: 3_000 });
    const ids = (query: Partial<AuditQuery>) =>
      audit.read({ ...ALL, ...query }).map(({ id }) => id);
    assert.deepEqual(ids({ caller: "ada" }), [1]);
    assert.deepEqual(ids({ caller: "1002" }), [1, 4]);
    assert.deepEqual(ids({ caller: "operator" }), [2]);
    assert.deepEqual(ids({ caller: "10" }), []);
    assert.deepEqual(ids({ caller: "agent:ada" }), [1]);
    assert.deepEqual(ids({ verb: "mcp" }), [1, 2]);
    assert.deepEqual(ids({ verb: "mcp%" }), [3]);
    assert.deepEqual(ids({ isDeniedOnly: true }), [3]);
    assert.deepEqual(ids({ sinceMs: 2_000 }), [2, 4]);
    assert.deepEqual(ids({ limit: 2 }), [3, 4]);
    assert.deepEqual(ids({ caller: "' OR 1=1 --" }), []);
  });
});

Deno.test("openAudit() forgets the oldest rows, never the newest", async () => {
  await withDatabase((database) => {
    const audit = openAudit(database);
    // The next row triggers the periodic deletion of old rows.
    const last = Math.ceil(AUDIT_ROWS_MAX / 256) * 256 - 1;
    database.prepare(
      "INSERT INTO audit (id, at_ms, uid, pid, caller, verb, target, words, allowed," +
        " code, reason) VALUES (1, 0, 0, 0, '', '', '', '', 0, '', ''), (?, 0, 0, 0, '', '', " +
        "'', '', 0, '', '')",
    ).run(last);
    audit.decided(ROW);
    assert.deepEqual(
      audit.read(ALL).map(({ id }) => id),
      [last, last + 1],
    );
  });
});

Deno.test("openAudit() continues a log whose rows lack a writer", async () => {
  await withDatabase((database) => {
    openAudit(database).decided(ROW);
    database.exec("ALTER TABLE audit DROP COLUMN via");
    const audit = openAudit(database);
    audit.decided({ ...ROW, via: "direct" });
    assert.deepEqual(audit.read(ALL).map(({ via }) => via), ["daemon", "direct"]);
  });
});

Deno.test("auditedWords() shortens long words, names options, and shows no option value", () => {
  const addressed = addressFor(
    invocationOf("secret", "set", "K".repeat(5_000), "--value", "hunter2", "--agent", "self"),
    AGENT,
  );
  assert.ok(addressed.ok);
  const { verb, target, words } = auditedWords(addressed.value);
  assert.deepEqual([verb, target], ["secret set", "ada"]);
  assert.equal(words, `${"K".repeat(512)}…`);
});
