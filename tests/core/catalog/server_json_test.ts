/**
 * `server.json` of the official registry, schema 2025-12-11.
 *
 * @module
 */

import assert from "node:assert/strict";
import { namedPaths, readAudit, safeTrialGrants, trialCall } from "core/catalog/dry_start.ts";
import { parseServerJson } from "core/catalog/server_json.ts";

const DOCUMENT = {
  $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
  name: "io.github.acme/wiki-server",
  description: "Pages of a wiki",
  version: "1.4.2",
  packages: [{
    registryType: "npm",
    identifier: "@acme/wiki",
    version: "1.4.2",
    transport: { type: "stdio" },
    packageArguments: [
      { type: "positional", value: "serve" },
      { type: "named", name: "--depth", value: "2" },
    ],
    environmentVariables: [
      { name: "WIKI_TOKEN", isRequired: true, isSecret: true },
      { name: "WIKI_SITE", isSecret: true },
      { name: "WIKI_LOG", default: "error" },
    ],
  }],
};

Deno.test("parseServerJson() reads pin, arguments and keys", () => {
  assert.deepEqual(parseServerJson(JSON.stringify(DOCUMENT)), {
    ok: true,
    value: {
      name: "wiki-server",
      summary: "Pages of a wiki",
      source: { pin: { kind: "npm", package: "@acme/wiki", version: "1.4.2" } },
      args: ["serve", "--depth", "2"],
      requiredEnv: ["WIKI_TOKEN"],
      optionalEnv: ["WIKI_SITE"],
      environment: { WIKI_LOG: "error" },
    },
  });
  const answer = parseServerJson(JSON.stringify({ server: DOCUMENT, _meta: {} }));
  assert.ok(answer.ok, "an answer of the registry holds the document");
});

Deno.test("parseServerJson() refuses variables that decide how a server is started", () => {
  const [named] = DOCUMENT.packages;
  for (const name of ["LD_PRELOAD", "NODE_OPTIONS", "DENO_DIR", "FLEETCTL_PERMISSIONS", "PATH"]) {
    const packages = [{ ...named, environmentVariables: [{ name, value: "{tree}/x" }] }];
    const parsed = parseServerJson(JSON.stringify({ ...DOCUMENT, packages }));
    assert.equal(parsed.ok ? name : parsed.error.code, "server-json-invalid");
  }
});

Deno.test("parseServerJson() refuses dangerous variables, and values that are secrets", () => {
  const [named] = DOCUMENT.packages;
  const parsed = (more: Record<string, unknown>) =>
    parseServerJson(JSON.stringify({ ...DOCUMENT, packages: [{ ...named, ...more }] }));
  const link = "postgres://u:pw@db.example/x";
  for (
    const [name, value] of [
      ["HTTPS_PROXY", "http://evil.example"],
      ["all_proxy", "http://evil.example"],
      ["NODE_EXTRA_CA_CERTS", "{tree}/ca"],
      ["__proto__", "x"],
      ["constructor", "x"],
      ["WIKI_DB", link],
      ["WIKI_DIR", "{nowhere}"],
    ]
  ) {
    const found = parsed({ environmentVariables: [{ name, value }] });
    assert.equal(found.ok ? name : found.error.code, "server-json-invalid");
    assert.ok(found.ok || !found.error.message.includes("pw"), "no message contains a value");
  }
  const found = parsed({ packageArguments: [{ type: "positional", value: link }] });
  assert.equal(found.ok ? "" : found.error.code, "server-json-invalid");
  const key = parsed({ environmentVariables: [{ name: "WIKI_TOKEN", default: "demo" }] });
  assert.deepEqual(key.ok && [key.value.optionalEnv, key.value.environment], [["WIKI_TOKEN"], {}]);
});

Deno.test("parseServerJson() uses a remote if there is no npm package", () => {
  const remotes = [{ type: "streamable-http", url: "https://mcp.example.org/mcp" }];
  const parsed = parseServerJson(JSON.stringify({ ...DOCUMENT, packages: [], remotes }));
  assert.ok(parsed.ok && "url" in parsed.value.source);
});

Deno.test("parseServerJson() uses a PyPI package if there is no npm package", () => {
  const pypi = { ...DOCUMENT.packages[0], registryType: "pypi", identifier: "acme-wiki" };
  const parsed = parseServerJson(JSON.stringify({ ...DOCUMENT, packages: [pypi] }));
  assert.deepEqual(parsed.ok && parsed.value.source, {
    pin: { kind: "uvx", package: "acme-wiki", version: "1.4.2" },
  });
  const range = { ...pypi, version: ">=1" };
  const refused = parseServerJson(JSON.stringify({ ...DOCUMENT, packages: [range] }));
  assert.ok(!refused.ok && refused.error.code === "pin-invalid");
});

const npm = DOCUMENT.packages[0];
const BAD: readonly (readonly [name: string, document: unknown, code: string])[] = [
  ["no object", [], "server-json-invalid"],
  ["no reverse-DNS name", { ...DOCUMENT, name: "wiki" }, "server-json-invalid"],
  ["no version", { ...DOCUMENT, version: undefined }, "server-json-invalid"],
  [
    "a range",
    { ...DOCUMENT, packages: [{ ...npm, version: "^1.0.0" }] },
    "pin-invalid",
  ],
  [
    "only a package of another kind",
    { ...DOCUMENT, packages: [{ ...npm, registryType: "oci" }] },
    "server-json-invalid",
  ],
  [
    "a package that speaks no stdio",
    { ...DOCUMENT, packages: [{ ...npm, transport: { type: "sse" } }] },
    "server-json-invalid",
  ],
  [
    "a malformed key",
    { ...DOCUMENT, packages: [{ ...npm, environmentVariables: [{ name: "a b" }] }] },
    "name-invalid",
  ],
];

for (const [name, document, code] of BAD) {
  Deno.test(`parseServerJson() refuses ${name}`, () => {
    const parsed = parseServerJson(JSON.stringify(document));
    assert.ok(!parsed.ok);
    if (code !== "name-invalid") assert.equal(parsed.error.code, code);
  });
}

Deno.test("readAudit() proposes what a review can grant, and nothing else", () => {
  const lines = [
    ["read", "/d/wiki/1.0.0/node_modules/a/index.js"],
    ["read", "/d/package.json"],
    ["read", "/h/.config/wiki/token.json"],
    ["read", "/etc/shadow"],
    ["write", "cache/x"],
    ["read", "/h/workspace"],
    ["write", "workspace/notes/a.md"],
    ["net", "api.example.org:443"],
    ["net", "https://api.example.org/"],
    ["sys", "hostname"],
    ["env", "WIKI_TOKEN"],
    ["env", "LANG"],
    ["ffi", "/lib/x.so"],
  ].map(([permission, value]) => JSON.stringify({ v: 1, permission, value }));
  const text = [...lines, '{"v":1,"permission":"env","value":null}', "no json"].join("\n");
  assert.deepEqual(
    readAudit(text, { home: "/h", workdir: "/h/workspace", tree: "/d/wiki/1.0.0" }),
    {
      permissions: {
        net: ["api.example.org:443"],
        read: ["{home}/.config/wiki", "{workdir}"],
        write: ["{home}/cache", "{workdir}"],
        env: [],
        run: [],
        sys: ["hostname"],
      },
      refused: ["ffi /lib/x.so", "read /etc/shadow"],
      keys: ["WIKI_TOKEN"],
    },
  );
});

Deno.test("readAudit() proposes a file that the operator named; a try grants none", () => {
  const args = ["--root=/srv/notes/", "{workdir}", "/", "/srv/../etc", "text"];
  const named = namedPaths({ args, environment: { STORE: "/var/store.db", N: "4" } });
  assert.deepEqual(named, ["/srv/notes", "/var/store.db"]);
  const asked = [["read", "/srv/notes/a/b"], ["write", "/var/store.db"], ["read", "/srv/other"]];
  const text = asked.map(([permission, value]) => JSON.stringify({ permission, value })).join("\n");
  const place = { home: "/h", workdir: "/h/workspace", tree: "/d", named };
  const { permissions, refused } = readAudit(text, place);
  assert.deepEqual([permissions.read, permissions.write], [["/srv/notes"], ["/var/store.db"]]);
  assert.deepEqual(refused, ["read /srv/other"]);
  assert.deepEqual(safeTrialGrants(permissions), { sys: [], read: [], write: [] });
});

Deno.test("trialCall() picks a read-only tool and invents its required arguments", () => {
  const tool = (name: string, readOnlyHint: boolean | undefined, required: readonly string[]) => {
    const inputSchema = {
      type: "object",
      properties: { count: { type: "integer" }, kind: { enum: ["x", "y"] } },
      required,
    };
    const annotations = readOnlyHint === undefined ? {} : { annotations: { readOnlyHint } };
    return {
      name,
      description: "",
      inputSchema,
      definition: { name, inputSchema, ...annotations },
    };
  };
  const tools = [tool("erase", false, []), tool("look", true, ["count", "kind"])];
  assert.deepEqual(trialCall(tools), { tool: "look", arguments: { count: 1, kind: "x" } });
  assert.equal(trialCall([tool("erase", false, [])]), undefined);
  assert.equal(trialCall([tool("list_pages", undefined, [])])?.tool, "list_pages");
});
