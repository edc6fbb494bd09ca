/**
 * Several people and agents change one host at once, each in a separate program: no update is lost,
 * and each change is one commit with its own caller.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type LedgerEntry, readHistory } from "core/ledger/history.ts";
import { finish, heal, openBench, readState } from "tests/support/store_bench.ts";

const WRITERS = 3;
const TIMES = 3;

Deno.test("concurrent writers of one shard and one store lose no update", async () => {
  const root = await Deno.makeTempDir({ prefix: "store-writers-" });
  try {
    const bench = await openBench(root);
    const entry = await Deno.readTextFile(`${bench.paths.overlayCatalog}/browser/mcp.yaml`);
    const mcps = Array.from({ length: WRITERS * TIMES }, (_, at) => `tool-${at}`);
    for (const mcp of mcps) {
      await Deno.mkdir(`${bench.paths.overlayCatalog}/${mcp}`);
      await Deno.writeTextFile(
        `${bench.paths.overlayCatalog}/${mcp}/mcp.yaml`,
        entry.replace("name: browser", `name: ${mcp}`),
      );
    }
    await Promise.all(Array.from({ length: WRITERS }, async (_, writer) => {
      // One of the writers is the agent itself.
      const as = writer === 0 ? ["--as", "ada"] : [];
      for (let time = 0; time < TIMES; time++) {
        const at = writer * TIMES + time;
        await finish(bench, [...as, "mcp", "add", `tool-${at}`, "ada"]);
        await finish(
          bench,
          [...as, "secret", "set", `KEY_${at}`, "--value", `v${at}`]
            .concat(["--agent", "ada"]),
        );
      }
    }));
    const state = await readState(bench);
    const [ada] = state.agents as readonly {
      readonly tools: { readonly add: readonly string[] };
    }[];
    assert.deepEqual([...ada?.tools.add ?? []].sort(), [...mcps].sort());
    for (const at of mcps.keys()) assert.equal(state.secrets?.[`ada KEY_${at}`], `v${at}`);
    const history = await readHistory(bench.host, bench.paths, { limit: 1000 });
    assert.ok(history.ok);
    const changes: readonly LedgerEntry[] = history.value;
    for (const verb of ["mcp add", "secret set"]) {
      const own = changes.filter((change) => change.verb === verb);
      assert.equal(own.length, mcps.length, verb);
      assert.equal(own.filter(({ caller }) => caller === "ada").length, TIMES, verb);
      assert.equal(own.filter(({ caller }) => caller === "root").length, mcps.length - TIMES, verb);
    }
    // The catalog was edited by hand, before the first change and before the first tool.
    const recovered = changes.filter(({ subject }) => subject.startsWith("recovered:"));
    assert.ok(recovered.every(({ files }) => files.every((file) => file.startsWith("catalog/"))));
    await heal(bench);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
