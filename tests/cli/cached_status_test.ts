/**
 * @module
 */

import assert from "node:assert/strict";
import { cachedStatus } from "cli/cached_status.ts";
import { startsEverything } from "tests/support/no_services.ts";

Deno.test("cachedStatus() queries each unit once and keeps the requested order", async () => {
  const manager = startsEverything()();
  await manager.start("b.service");
  const asked: (readonly string[])[] = [];
  const services = cachedStatus({
    ...manager,
    status: (units) => {
      asked.push(units);
      return manager.status(units);
    },
  });
  await services.status(["a.service", "b.service"]);
  const again = await services.status(["b.service", "c.service", "a.service", "b.service"]);
  assert.deepEqual(again.map(({ unit, active }) => `${unit} ${active}`), [
    "b.service active",
    "c.service inactive",
    "a.service inactive",
    "b.service active",
  ]);
  await services.status(["c.service"]);
  assert.deepEqual(asked, [["a.service", "b.service"], ["c.service"]]);
});
