/**
 * Shipped servers with accounts start under their own permission sets with a dummy key and list
 * their tools. By default it covers the entries that the preparation step fetches;
 * FLEETCTL_CATALOG=all starts every one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import { TESTED_ENTRIES } from "tests/support/prepare_vendor.ts";
import { shippedManifests } from "tests/support/catalog_tables.ts";
import { PASSES_ON, shippedRoot, startAlone } from "tests/support/shipped_server.ts";

Deno.test("the shipped servers start with their permission sets and list tools", async () => {
  await using root = await shippedRoot();
  const isAll = Deno.env.get("FLEETCTL_CATALOG") === "all";
  const host = openHost({ log: { program: "test", level: "error" } });
  let started = 0;
  for (const manifest of await shippedManifests()) {
    if (manifest.source.kind !== "npm") continue;
    if (!isAll && !TESTED_ENTRIES.includes(manifest.name)) continue;
    await root.vendor(manifest.name);
    started++;
    const bridge = PASSES_ON.get(manifest.name);
    if (bridge !== undefined) {
      assert.match(await startAlone(await root.program(manifest), bridge.says), bridge.says);
      continue;
    }
    const listed = await systemMcpClient(host)
      .listTools(manifest.name, await root.at(manifest));
    assert.ok(listed.ok && listed.value.length > 0, `${manifest.name}: ${JSON.stringify(listed)}`);
    const names = new Set(listed.value.map(({ name }) => name));
    const unknown = [...manifest.risk.keys()].filter((tool) => !names.has(tool));
    assert.deepEqual(unknown, [], `${manifest.name} marks tools that it does not have`);
  }
  assert.equal(started, isAll ? 17 : TESTED_ENTRIES.length);
});
