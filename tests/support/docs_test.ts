/**
 * Checks the documents against the source: every frame, event, route, permission, table, setting
 * and shipped MCP must be in `docs/`. The list is complete because it comes from the tables that
 * the programs use. `tests/support/links_test.ts` checks the links.
 *
 * @module
 */

import assert from "node:assert/strict";
import { COOKIES } from "login/cookies.ts";
import { placeStatic, shippedManifests } from "tests/support/catalog_tables.ts";
import { SHIPPED_ENTRIES } from "core/catalog/shipped.ts";
import { GATES } from "core/access/gates.ts";
import { AGENT_STATES, EVENT_PAYLOADS, previewEvent } from "core/dial/event.ts";
import { clientFrame, CLOSE, DIAL_SUBPROTOCOL, serverFrame } from "core/dial/frames.ts";
import { localRequest } from "core/dial/local_frames.ts";
import { COMMANDS } from "cli/commands.ts";
import { pathsUnder } from "core/paths.ts";
import { VERBS } from "core/verbs/table.ts";
import { verbName } from "core/verbs/verb.ts";
import { GATEWAY_SETTINGS } from "gateway/config.ts";
import { LOGIN_SETTINGS } from "login/config.ts";
import { parseShard } from "core/ledger/shard.ts";
import { TEAMCHAT_SETTINGS } from "teamchat/config.ts";
import { refusal } from "core/errors.ts";
import { problem } from "gateway/cockpit/deny.ts";
import { ROUTES } from "gateway/cockpit/table.ts";
import { RUNTIME_SETTINGS } from "units/agent_loop/settings.ts";
import { PROGRAMS } from "units/render/launchers.ts";
import { permissionTemplates } from "units/render/permissions.ts";
import { TREE, treeFiles } from "tests/support/module_graph.ts";

const PROTOCOL = await read("docs/protocol.md");
const ALL_KINDS = ["refused", "usage", "settings", "denied"] as const;
const STORAGE = await read("docs/storage.md");

function read(path: string): Promise<string> {
  return Deno.readTextFile(TREE + path);
}

/** Fails with the words that a document lacks. */
function has(text: string, words: Iterable<string>, where: string): void {
  const missing = [...words].filter((word) => !text.includes(word));
  assert.deepEqual(missing, [], `${where} does not say: ${missing.join(", ")}`);
}

function quoted(words: Iterable<string>): readonly string[] {
  return [...words].map((word) => `\`${word}\``);
}

function settingNames(settings: Readonly<Record<string, { readonly name: string }>>) {
  return quoted(Object.values(settings).map(({ name }) => name));
}

/**
 * Returns the part of a document below a heading, up to the next heading of the same or a higher
 * level.
 */
function section(text: string, heading: string): string {
  const depth = /^#+/.exec(heading)?.[0].length ?? 0;
  const from = text.indexOf(`\n${heading}\n`);
  assert.notEqual(from, -1, `there is no heading "${heading}"`);
  const rest = text.slice(from + heading.length + 2);
  const end = rest.search(new RegExp(`\\n#{1,${depth}} `));
  return end === -1 ? rest : rest.slice(0, end);
}

Deno.test("docs/protocol.md names every frame of dial-in with every field", () => {
  for (
    const [heading, frames] of [
      ["### Frames of the dial unit", clientFrame.options],
      ["### Frames of the gateway", serverFrame.options],
    ] as const
  ) {
    const text = section(PROTOCOL, heading);
    for (const frame of frames) {
      const { type, ...fields } = frame.shape;
      has(text, quoted([type.value, ...Object.keys(fields)]), `${heading}, ${type.value},`);
    }
  }
  has(PROTOCOL, quoted([DIAL_SUBPROTOCOL]), "docs/protocol.md");
  has(
    section(PROTOCOL, "### Close codes"),
    Object.values(CLOSE).map((code) => `| ${code} |`),
    "the table of close codes",
  );
});

Deno.test("docs/protocol.md names every kind of event with its payload", () => {
  const text = section(PROTOCOL, "## 2. Events");
  const rows = text.split("\n");
  for (const [kind, payload] of Object.entries(EVENT_PAYLOADS)) {
    const row = rows.find((line) => line.startsWith(`| \`${kind}\` |`));
    assert.ok(row !== undefined, `there is no row for event ${kind}`);
    has(row, quoted(Object.keys(payload.shape)), `the row of ${kind}`);
  }
  has(text, quoted(AGENT_STATES), "the row of agent_state");
  const { kind, payload } = previewEvent.shape;
  has(text, quoted([kind.value, ...Object.keys(payload.shape)]), "the table of previews");
});

Deno.test("docs/protocol.md has a row for every route, with its gate and its fields", () => {
  const text = section(PROTOCOL, "### Routes");
  for (const { method, path, gate, query, body } of ROUTES) {
    const row = text.split("\n").find((line) => line.startsWith(`| ${method} | \`${path}\` |`));
    assert.ok(row !== undefined, `there is no row for ${method} ${path}`);
    has(row, quoted([gate]), `the row of ${path}`);
    has(row, [...Object.keys(query?.shape ?? {}), ...Object.keys(body?.shape ?? {})], path);
  }
  const documented = [...text.matchAll(/^\| (GET|POST|PATCH) \| `([^`]+)`/gm)].length;
  assert.equal(documented, ROUTES.length, "there are rows for routes that are not served");
  has(section(PROTOCOL, "### Who asks"), quoted(GATES), "the table of gates");
});

Deno.test("docs/protocol.md gives each refusal of the cockpit its status", () => {
  const rows = [...PROTOCOL.matchAll(/^\| ([45]\d\d) \| (`[^|]+) \|$/gm)];
  assert.ok(rows.length >= 10, `${rows.length} rows`);
  // A code without an entry has the status of its kind. The code alone does not determine it, so
  // any kind's status is accepted.
  const wrong = rows.flatMap(([, status, codes = ""]) =>
    [...codes.matchAll(/`([a-z]+(?:-[a-z]+)+)`/g)].flatMap(([, code = ""]) => {
      const found = ALL_KINDS.map((kind) => problem(refusal(code, "", { kind })).status);
      return found.includes(Number(status)) ? [] : [`${code} is ${found[0]}, not ${status}`];
    })
  );
  assert.deepEqual(wrong, []);
});

Deno.test("docs/protocol.md names the requests of the local socket", () => {
  const text = section(PROTOCOL, "## 5. The dial unit's local socket");
  for (const { shape: { type, ...fields } } of localRequest.options) {
    has(text, quoted([type.value, ...Object.keys(fields)]), `section 5, ${type.value},`);
  }
});

Deno.test("docs/permissions.md gives a row to each kind of permission of each set", async () => {
  const rows = new Set<string>();
  let set = "";
  for (const line of (await read("docs/permissions.md")).split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (!line.startsWith("|") || cells.length < 6) continue;
    set = /^`([a-z-]+)`/.exec(cells[1] ?? "")?.[1] ?? set;
    for (const kind of (cells[2] ?? "").split(", ")) rows.add(`${set} ${kind}`);
  }
  const wanted = Object.entries(permissionTemplates())
    .flatMap(([name, kinds]) => Object.keys(kinds).map((kind) => `${name} ${kind}`));
  assert.deepEqual(wanted.filter((row) => !rows.has(row)), [], "a permission has no reason");
});

Deno.test("docs/storage.md names every path and every table with its columns", async () => {
  const paths = Object.entries(pathsUnder("/")).flatMap(([name, value]) =>
    typeof value === "string" && name !== "root" ? [value.split("/").at(-1) ?? ""] : []
  );
  has(STORAGE, paths, "docs/storage.md");
  for (
    const file of [
      "gateway/transcript/schema.ts",
      "units/dial/store.ts",
      "teamchat/store/schema.ts",
      "core/login/store.ts",
    ]
  ) {
    const tables = (await read(file)).matchAll(
      /create table if not exists (\w+) \(([^;]*)\) strict/g,
    );
    for (const [, table = "", columns = ""] of tables) {
      const names = [...columns.matchAll(/(?:^|,)\s*([a-z_]+) (?:text|integer)/g)];
      has(STORAGE, quoted([table, ...names.map(([, name = ""]) => name)]), `${file}, ${table},`);
    }
  }
});

Deno.test("docs/storage.md has a row for every key of an agent's shard", () => {
  const parsed = parseShard("name: ada\nchannel: webview\nno_such: 1\n", "agents.d/ada.yaml");
  const [fault = ""] = parsed.ok ? [] : parsed.error.details;
  const keys = fault.split("must be one of ")[1]?.split(", ") ?? [];
  assert.ok(keys.length > 10, fault);
  // A key inside a list or a mapping is documented with its parent: `tools.add`.
  const rows = section(STORAGE, "### The ledger: `repo/`").split("\n").map((line) =>
    line.split("|")[1]?.replaceAll("`", " ").replaceAll(".", " ").trim().split(/[ ,]+/) ?? []
  );
  has(rows.flat().join(" "), keys, "the ledger in docs/storage.md");
});

Deno.test("docs/storage.md has the version of every database", async () => {
  const databases = {
    "gateway/gateway.db": "gateway/transcript/schema.ts",
    "teamchat/teamchat.db": "teamchat/store/schema.ts",
    "login/login.db": "core/login/store.ts",
  };
  for (const [database, file] of Object.entries(databases)) {
    const version = /const SCHEMA_VERSION = (\d+);/.exec(await read(file))?.[1];
    const line = STORAGE.split("\n").find((one) =>
      one.startsWith(`**\`/var/lib/fleetctl/${database}\`**`)
    );
    has(line ?? "", [`\`PRAGMA user_version\` ${version})`], `docs/storage.md, ${database},`);
  }
});

Deno.test("programs and settings are documented", async () => {
  const names = PROGRAMS.map(({ name }) => name);
  has(STORAGE, quoted(names), "docs/storage.md");
  const design = await read("docs/design.md");
  for (const { name, entry } of PROGRAMS) {
    has(design, [`| \`${name}\` | \`${entry}\` |`], "docs/design.md");
  }
  const [login, teamchat] = [await read("docs/login.md"), await read("docs/teamchat.md")];
  has(section(login, "## Settings"), settingNames(LOGIN_SETTINGS), "docs/login.md");
  has(section(teamchat, "## Settings"), settingNames(TEAMCHAT_SETTINGS), "docs/teamchat.md");
  const runtime = await read("docs/runtime.md");
  has(runtime, settingNames(RUNTIME_SETTINGS), "docs/runtime.md");
  has(
    section(STORAGE, "## Settings of the gateway"),
    settingNames(GATEWAY_SETTINGS),
    "docs/storage.md",
  );
});

Deno.test("README.md lists every document", async () => {
  const pages = (await treeFiles(".md")).filter((file) => /^docs\/[^/]+$/.test(file));
  has(await read("README.md"), pages.map((page) => `| [${page}](${page}) |`), "README.md");
});

Deno.test("docs/catalog.md has the pin and the risk marks of every shipped entry", async () => {
  const catalog = await read("docs/catalog.md");
  for (const { name, manifest } of SHIPPED_ENTRIES) {
    const pin = /^\s+(?:npm|uvx|builtin|http): "?([^"\n]+)"?$/m.exec(manifest)?.[1] ?? "?";
    const row = catalog.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));
    assert.ok(row !== undefined, `there is no row for ${name}`);
    has(row, [pin], `the row of ${name}`);
    const marked = [...manifest.matchAll(/^\s+([\w-]+): \{ ?risk: (?:block|ask) ?\}/gm)];
    has(section(catalog, "## Risk marks"), quoted(marked.map(([, tool = ""]) => tool)), name);
  }
});

Deno.test("the tables of docs/catalog.md match the manifests", async () => {
  const page = await read("docs/catalog.md");
  assert.equal(page, placeStatic(page, await shippedManifests()), "run: ./dev catalog");
});

Deno.test("commands of the documents and of hints are verbs", async () => {
  const built = new Set(Object.keys(COMMANDS));
  const faults: string[] = [];
  for (const document of await treeFiles(".md")) {
    for (
      const words of commandsIn(await read(document), /(?:run |`)fleetctl ([a-z][a-z -]*)/g)
    ) {
      if (!startsWithVerb(words, built)) faults.push(`${document}: fleetctl ${words}`);
    }
  }
  const rows = new Set(VERBS.map(verbName));
  const sources = (await treeFiles(".ts")).filter((file) => !file.startsWith("tests/"));
  for (const file of sources) {
    for (const [, hints = ""] of (await read(file)).matchAll(/hints: \[([^\]]*)\]/g)) {
      for (const words of commandsIn(hints, /["`]fleetctl ([a-z][a-z -]*)/g)) {
        if (!startsWithVerb(words, rows)) faults.push(`${file}: fleetctl ${words}`);
      }
    }
  }
  assert.deepEqual(faults, [], "a command that is not there");
});

function commandsIn(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, words = ""]) => words.trim());
}

function startsWithVerb(words: string, verbs: ReadonlySet<string>): boolean {
  const parts = words.split(" ");
  return parts.some((_, index) => verbs.has(parts.slice(0, index + 1).join(" ")));
}

Deno.test("docs/login.md gives each cookie its path and its lifetime", async () => {
  const rows = section(await read("docs/login.md"), "## Cookies").split("\n");
  const spans: Readonly<Record<string, number>> = {
    minutes: 60,
    hour: 3_600,
    days: 86_400,
    years: 365 * 86_400,
  };
  for (const { name, path, maxAgeSeconds } of Object.values(COOKIES)) {
    const row = rows.find((line) => line.startsWith(`| \`${name}\` |`)) ?? "";
    const [, , where, lifetime = ""] = row.split("|").map((cell) => cell.trim());
    assert.equal(where, `\`${path}\``, `the path of ${name}`);
    const [count, unit = ""] = lifetime.split(" ");
    const stated = lifetime === "`WEBVIEW_SESSION_TTL`"
      ? undefined
      : Number(count) * (spans[unit] ?? NaN);
    assert.equal(stated, maxAgeSeconds, `the lifetime of ${name}`);
  }
});
