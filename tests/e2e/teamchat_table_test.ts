/**
 * The table of docs/teamchat.md as a test: every hostile delivery, sent to the gateway and to three
 * SDKs of the vendor in one run. The gateway's column must have the required values, and match the
 * document. The SDKs show which cases have a real effect.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runTable, type Table } from "tests/teamchat/sdks/table.ts";
import { TREE } from "tests/support/module_graph.ts";

/** Returns the gateway's cells of the document, by case. */
async function documented(): Promise<ReadonlyMap<string, string>> {
  const text = await Deno.readTextFile(`${TREE}docs/teamchat.md`);
  const [, part = ""] = text.split("\n## Beside three SDKs of the vendor\n");
  const rows = (part.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows.slice(1).map((line) => {
      const [, name = "", own = ""] = line.split("|").map((cell) => cell.trim());
      return [name, own];
    }),
  );
}

const cellsOf = (table: Table, name: string) =>
  table.rows.find((row) => row.name === name)?.cells ?? [];

Deno.test("the gateway and three SDKs answer hostile deliveries as documented", async () => {
  const table = await runTable();
  assert.deepEqual(table.wrong, []);
  // All four ran, and accept a valid delivery.
  assert.equal(table.subjects.length, 4);
  assert.deepEqual(cellsOf(table, "valid control"), ["202/1", "200/1", "200/1", "200/1"]);
  // The cases are effective: at least one SDK accepts each of these.
  for (const name of ["no `exp`", "key not endorsed for msteams"]) {
    assert.ok(cellsOf(table, name).slice(1).some((cell) => cell.startsWith("200/1")), name);
  }
  const stolen = cellsOf(table, "claim and body both name an evil host");
  assert.ok(stolen.slice(1).some((cell) => cell.includes("ET")), stolen.join(" "));
  assert.ok(!table.rows.some(({ cells }) => cells[0]?.includes("ET")));
  const measured = new Map(table.rows.map(({ name, cells }) => [name, cells[0] ?? ""]));
  const published = new Map(await documented());
  // None or one, depending on the time since the last fetch; the table itself checks this limit.
  for (const map of [measured, published]) assert.ok(map.delete("50 unknown kids: key fetches"));
  assert.deepEqual(measured, published);
});
