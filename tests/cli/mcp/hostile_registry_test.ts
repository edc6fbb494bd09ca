/**
 * Hostile registries and tarballs. Each ends in one refusal, or in a tree without the smuggled
 * content. Nothing outside the host's folders is written, and a refusal pins nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { resolvePin } from "core/catalog/resolve.ts";
import type { McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import type { FakePackage, OddEntry } from "tests/fakes/npm_registry.ts";
import { type CatalogHost, catalogHost } from "tests/support/catalog_host.ts";

const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const GOOD = serverPackage({ name: "@acme/wiki", version: "1.0.0", tools: [READ] });
const MIB = 2 ** 20;

function withOdd(...odd: readonly OddEntry[]): FakePackage {
  return { ...GOOD, odd };
}

async function add(host: CatalogHost) {
  const ended = await host.run(
    "mcp",
    "catalog",
    "add",
    "wiki",
    "--npm",
    "@acme/wiki@1.0.0",
    "--json",
  );
  const answer = JSON.parse(ended.stdout);
  return { code: ended.code, error: answer.error?.code as string | undefined };
}

async function names(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) found.push(entry.name);
  return found.sort();
}

async function everything(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}/${entry.name}`;
    found.push(path);
    if (entry.isDirectory) found.push(...await everything(path));
  }
  return found;
}

const SMUGGLED: readonly { readonly name: string; readonly odd: OddEntry }[] = [
  { name: "a path that climbs out", odd: { name: "package/../../../smuggled", kind: "file" } },
  { name: "an absolute path", odd: { name: "/tmp/fleetctl-smuggled", kind: "file" } },
  {
    name: "a link out of the tree",
    odd: { name: "package/smuggled", kind: "link", target: "/etc" },
  },
  {
    name: "a hard link out of the tree",
    odd: { name: "package/smuggled", kind: "hard-link", target: "/etc/passwd" },
  },
];

for (const { name, odd } of SMUGGLED) {
  Deno.test(`a tarball with ${name} writes nothing outside its tree`, async () => {
    await using host = await catalogHost([withOdd(odd)], { ledger: false });
    const { code, error } = await add(host);
    const inside = await everything(host.paths.deployDir);
    assert.deepEqual(inside.filter((path) => path.endsWith("smuggled")), [], `${code} ${error}`);
    const above = [...await names(host.root), ...await names(host.paths.state)];
    assert.ok(!above.includes("smuggled"), "nothing above the tree");
    await assert.rejects(Deno.stat("/tmp/fleetctl-smuggled"), Deno.errors.NotFound);
    for await (const entry of Deno.readDir(host.paths.deploy("wiki"))) {
      assert.ok(!entry.name.startsWith("."), `${entry.name} was left`);
    }
  });
}

Deno.test("a tarball that unpacks to a huge file is stopped", async () => {
  await using host = await catalogHost([
    withOdd({ name: "package/zeros.bin", kind: "file", size: 257 * MIB }),
  ], { ledger: false });
  assert.deepEqual(await add(host), { code: 1, error: "package-too-large" });
  assert.deepEqual(await names(host.paths.deploy("wiki")), []);
});

Deno.test("a registry whose stated integrity does not match its bytes is refused", async () => {
  await using host = await catalogHost([GOOD], { ledger: false });
  host.registry.lie("@acme/wiki", "1.0.0", { integrity: `sha512-${"A".repeat(86)}==` });
  assert.deepEqual(await add(host), { code: 1, error: "package-altered" });
});

Deno.test("a registry that names no integrity, or a weak one, pins nothing", async () => {
  for (
    const about of [{ integrity: undefined }, { integrity: "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=" }]
  ) {
    await using host = await catalogHost([GOOD], { ledger: false });
    host.registry.lie("@acme/wiki", "1.0.0", about);
    const { code, error } = await add(host);
    assert.equal(code, 1);
    assert.ok(
      ["package-unusable", "package-altered", "lock-invalid", "manifest-invalid"]
        .includes(error ?? ""),
      String(error),
    );
    await assert.rejects(Deno.stat(`${host.paths.runtimeCatalog}/wiki`), Deno.errors.NotFound);
  }
});

Deno.test("a registry that stalls ends in a refusal", async () => {
  await using host = await catalogHost([GOOD], { ledger: false });
  host.registry.stall(".tgz");
  const machine = openHost({ log: { program: "test", level: "error" } });
  const ports = { ...machine, trees: denoTrees() };
  const pin = { kind: "npm", package: "@acme/wiki", version: "1.0.0" } as const;
  const refused = await resolvePin("wiki" as McpName, pin, ports, host.paths, {
    deno: Deno.execPath(),
    env: host.env,
    onlineMsMax: 2_000,
  });
  assert.ok(!refused.ok && refused.error.code === "registry-unreachable", JSON.stringify(refused));
  assert.deepEqual(await names(host.paths.deploy("wiki")), []);
});

Deno.test("the next run deletes what a killed run left half installed", async () => {
  await using host = await catalogHost([GOOD], { ledger: false });
  // tests/core/catalog/vendor_test.ts has a real kill in the middle.
  const stage = `${host.paths.deploy("wiki")}/.stage-left`;
  await Deno.mkdir(`${stage}/node_modules`, { recursive: true });
  assert.deepEqual(await add(host), { code: 0, error: undefined });
  await assert.rejects(Deno.stat(stage), Deno.errors.NotFound);
});
