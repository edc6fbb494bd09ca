/**
 * Shipped servers with accounts start under their own permission sets with a dummy key and list
 * their tools. The entries that the preparation step fetches; FLEETCTL_CATALOG=all starts every one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "core/os/mcp_client.ts";
import { TESTED_ENTRIES } from "tests/support/prepare_vendor.ts";
import { shippedManifests } from "tests/support/catalog_page.ts";
import { shippedRoot } from "tests/support/shipped_server.ts";

/** It passes the list of tools on from its maker's server. */
const LISTS_NOTHING_ALONE = ["payments"];

Deno.test("the shipped servers start under their permission sets and list their tools", async () => {
  await using root = await shippedRoot();
  const isAll = Deno.env.get("FLEETCTL_CATALOG") === "all";
  const host = openHost({ log: { program: "test", level: "error" } });
  let started = 0;
  for (const manifest of await shippedManifests()) {
    if (manifest.source.kind !== "npm" || LISTS_NOTHING_ALONE.includes(manifest.name)) continue;
    if (!isAll && !TESTED_ENTRIES.includes(manifest.name)) continue;
    await root.vendor(manifest.name);
    const listed = await systemMcpClient(host)
      .listTools(manifest.name, await root.at(manifest));
    assert.ok(listed.ok && listed.value.length > 0, `${manifest.name}: ${JSON.stringify(listed)}`);
    const names = new Set(listed.value.map(({ name }) => name));
    const unknown = [...manifest.risk.keys()].filter((tool) => !names.has(tool));
    assert.deepEqual(unknown, [], `${manifest.name} marks tools that it does not have`);
    started++;
  }
  assert.equal(started, isAll ? 16 : TESTED_ENTRIES.length);
});
