/**
 * Successful vendoring: by lock, from the cache, to the next version and back. Also the errors when
 * it cannot start.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isUnusedFile } from "core/catalog/unused_files.ts";
import { checkTree, treePath } from "core/catalog/vendor.ts";
import { npmRegistry } from "tests/fakes/npm_registry.ts";
import { bench, CHECKS, LEFT, leftovers, serverText } from "tests/core/catalog/vendor_scene.ts";

Deno.test("vendorEntry() installs by lock, once, and runs no install script", CHECKS, async () => {
  await using b = await bench();
  const manifest = await b.manifest("1.0.0");
  const first = await b.vendor(manifest);
  assert.ok(first.ok, JSON.stringify(first));
  assert.equal(first.value.changed, true);
  assert.equal(await serverText(b.paths), "console.log(1);\n");
  const runs = b.started.length;
  const second = await b.vendor(manifest);
  assert.deepEqual(second, { ok: true, value: { ...first.value, changed: false } });
  assert.equal(b.started.length, runs, "nothing is started when nothing changed");
  assert.deepEqual(await leftovers(b.paths), []);
  for await (
    const entry of Deno.readDir(`${treePath(b.paths, "acme")}/node_modules/@acme/server`)
  ) {
    assert.notEqual(entry.name, "postinstall-ran");
  }
  const checked = await checkTree("acme", b.ports, b.paths);
  assert.ok(checked.ok && checked.value.installedHash === first.value.treeHash);
});

Deno.test(
  "vendorEntry() deletes unused files, and pins the installed tree",
  CHECKS,
  async () => {
    await using b = await bench();
    const plain = await b.vendor(await b.manifest("1.0.0"));
    assert.ok(plain.ok);
    const own = `${treePath(b.paths, "acme")}/node_modules/@acme/server`;
    const names = [...Deno.readDirSync(own)].map(({ name }) => name);
    assert.equal(names.includes("main.js") && names.includes("extra.txt"), true);
    assert.deepEqual(names.filter((name) => /map$|d\.ts$/.test(name)), []);
    const rows: readonly (readonly [path: string, isUnused: boolean])[] = [
      ...[["a/b.d.ts", true], ["a/b.d.mts", true], ["a/b.js.map", true]] as const,
      ...[["a/b.ts", false], ["a/map", false], ["a/d.ts", false], ["a/data.map", false]] as const,
      ...[["x/typescript/lib/lib.es5.d.ts", false], ["x/my-typescript/a.d.ts", true]] as const,
      ["n/.deno/typescript@5.1.0/node_modules/typescript/lib/lib.d.ts", false],
    ];
    for (const [path, isUnused] of rows) assert.equal(isUnusedFile(path), isUnused, path);
  },
);

Deno.test("vendorEntry() computes the same hash on another host", CHECKS, async () => {
  await using a = await bench();
  await using b = await bench();
  const one = await a.vendor(await a.manifest("1.0.0"));
  const other = await b.vendor(await b.manifest("1.0.0"));
  assert.ok(one.ok && other.ok && one.value.treeHash === other.value.treeHash);
});

Deno.test("vendorEntry() names the package that the registry lacks", CHECKS, async () => {
  await using b = await bench();
  const manifest = await b.manifest("1.0.0");
  await using empty = await npmRegistry([LEFT]);
  b.env = { ...b.env, NPM_CONFIG_REGISTRY: empty.url };
  const refused = await b.vendor(manifest);
  assert.ok(!refused.ok);
  assert.equal(refused.error.code, "package-not-found", JSON.stringify(refused.error));
  assert.equal(
    refused.error.message,
    'Cannot install MCP "acme": the registry has no package "@acme/server@1.0.0"',
  );
  assert.deepEqual(refused.error.hints, ["fleetctl mcp catalog upgrade acme --help"]);
  assert.deepEqual(await leftovers(b.paths), []);
});

Deno.test(
  "vendorEntry() installs again from its cache while the registry is down",
  CHECKS,
  async () => {
    await using b = await bench();
    const manifest = await b.manifest("1.0.0");
    assert.ok((await b.vendor(manifest)).ok);
    await Deno.remove(b.paths.deploy("acme"), { recursive: true });
    const asked = b.registry.requests.length;
    const again = await b.vendor(manifest);
    assert.ok(again.ok && again.value.changed, JSON.stringify(again));
    assert.equal(b.registry.requests.length, asked);
  },
);

Deno.test(
  "vendorEntry() reports an unreachable registry when the cache is empty",
  CHECKS,
  async () => {
    await using b = await bench();
    const manifest = await b.manifest("1.0.0");
    b.env = { ...b.env, NPM_CONFIG_REGISTRY: "http://user:hunter2@127.0.0.1:1/" };
    const refused = await b.vendor(manifest);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "registry-unreachable", JSON.stringify(refused.error));
    assert.equal(JSON.stringify(refused.error).includes("hunter2"), false);
  },
);

Deno.test("vendorEntry() refuses a tree that is not the pinned one", CHECKS, async () => {
  await using b = await bench();
  const wrong = `sha256-${"A".repeat(43)}=`;
  const pinned = await b.manifest(
    "1.0.0",
    (text) => text.replace("  lock:", `  tree: ${wrong}\n  lock:`),
  );
  const refused = await b.vendor(pinned);
  assert.ok(!refused.ok && refused.error.code === "tree-altered", JSON.stringify(refused));
  assert.deepEqual(await leftovers(b.paths), []);
});

Deno.test(
  "vendorEntry() switches to the next version and back without the registry",
  CHECKS,
  async () => {
    await using b = await bench();
    const one = await b.manifest("1.0.0");
    const two = await b.manifest("2.0.0");
    assert.ok((await b.vendor(one)).ok);
    assert.ok((await b.vendor(two)).ok);
    assert.equal(await serverText(b.paths), "console.log(2);\n");
    const runs = b.started.length;
    const back = await b.vendor(one);
    assert.ok(back.ok && back.value.changed);
    assert.equal(await serverText(b.paths), "console.log(1);\n");
    assert.equal(b.started.length, runs, "the kept tree is used");
  },
);
