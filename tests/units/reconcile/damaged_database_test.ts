/** What mends a damaged database. @module */

import assert from "node:assert/strict";
import { mendDatabase } from "units/reconcile/damaged_database.ts";

const line = (path: string, state: string) =>
  JSON.stringify({ event: "cannot serve", error: `Cannot open ${JSON.stringify(path)}: ${state}` });

Deno.test("mendDatabase() moves the file with its log aside and says what is lost", () => {
  for (const state of ["the file is not a database (x)", "the database is damaged (x)"]) {
    const got = mendDatabase(
      [line("/r/gateway/gateway.db", state), "exit-code 1"],
      "fleetctl apply",
    );
    assert.match(got?.details[0] ?? "", /transcripts and waiting turns are gone/);
    assert.deepEqual(got?.hints, [
      "for f in /r/gateway/gateway.db /r/gateway/gateway.db-wal /r/gateway/gateway.db-shm; " +
      'do [ ! -e "$f" ] || mv "$f" "$f.damaged"; done',
      "fleetctl apply",
    ]);
  }
});

Deno.test("mendDatabase() moves nothing for other faults and other files", () => {
  assert.equal(mendDatabase([line("/r/gateway.db", "no space left on the disk")], "x"), undefined);
  assert.equal(mendDatabase([line("/r/other.db", "the database is damaged")], "x"), undefined);
  assert.equal(mendDatabase([], "x"), undefined);
});
