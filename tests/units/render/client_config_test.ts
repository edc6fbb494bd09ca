/**
 * Client configs: entries per runtime, and which entries are changed.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentName, KeyName, McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { mcpEntriesPath } from "core/runtimes/mcp_entries.ts";
import {
  type ClientConfig,
  editClientConfig,
  renderClientEntry,
} from "units/render/client_config.ts";
import { manifest, MANIFESTS } from "tests/units/reconcile/fixture.ts";

const paths = pathsUnder("/");
const ada = "ada" as AgentName;
const byName = new Map(MANIFESTS.map((each) => [each.name as string, each]));

function entry(name: string, shape: "runtime-a" | "runtime-b") {
  return renderClientEntry(byName.get(name)!, { paths, agent: ada, shape });
}

const ENV = {
  FLEETCTL_ROOT: "/",
  FLEETCTL_AGENT: "ada",
  FLEETCTL_PERMISSIONS: "/var/lib/fleetctl/permissions/agent-ada.json",
};
const command = "/usr/lib/fleetctl/fleetctl-mcp";
const ROWS = [
  {
    name: "git",
    shape: "runtime-b",
    want: {
      command,
      args: ["proxy", "git", "--socket", "/run/mcp/git-ada.sock"],
      env: ENV,
      exposure: "codemode",
    },
  },
  {
    name: "git",
    shape: "runtime-a",
    want: { command, args: ["proxy", "git", "--socket", "/run/mcp/git-ada.sock"], env: ENV },
  },
  {
    name: "notes",
    shape: "runtime-a",
    want: { command, args: ["proxy", "notes", "--socket", "/run/mcp/notes.sock"], env: ENV },
  },
  {
    name: "code-host",
    shape: "runtime-b",
    want: {
      command,
      args: ["proxy", "code-host", "--socket", "/run/mcp/code-host-ada.sock"],
      env: ENV,
      exposure: "deferred",
      toolExposure: { open_page: "direct" },
    },
  },
  {
    name: "maps",
    shape: "runtime-b",
    want: { command, args: ["proxy", "maps", "--url"], env: ENV, exposure: "codemode" },
  },
  {
    name: "maps",
    shape: "runtime-a",
    want: { command, args: ["proxy", "maps", "--url"], env: ENV },
  },
] as const;

/** A server by URL without any rules to enforce, and the settings that make the proxy necessary. */
const PLAIN = manifest("pages", {
  source: { kind: "http", url: "https://pages.example/mcp" },
  headers: { "X-Client": "fleet" },
  transport: "http",
});
const BY_URL: readonly (readonly [string, Partial<Manifest>, boolean])[] = [
  ["no rule and no key", {}, false],
  ["a tool that asks", { risk: new Map([["write_page", "ask"]]) }, true],
  ["a blocked tool", { risk: new Map([["delete_page", "block"]]) }, true],
  ["a login", { auth: "oauth" }, true],
  ["a key in its URL", { source: { kind: "http", url: "https://pages.example/{KEY}" } }, true],
  ["a key in a header", { headers: { Authorization: "Bearer {KEY}" } }, true],
  ["a key of the agent", { userEnv: ["KEY" as KeyName] }, true],
  ["an optional key", { optionalEnv: ["KEY" as KeyName] }, true],
];
for (const [name, more, isProxied] of BY_URL) {
  Deno.test(`${isProxied ? "through the proxy:" : "direct:"} a server by URL with ${name}`, () => {
    for (const shape of ["runtime-a", "runtime-b"] as const) {
      const entry = renderClientEntry({ ...PLAIN, ...more }, { paths, agent: ada, shape });
      assert.deepEqual(
        isProxied ? entry.args : [entry.type, entry.url, entry.headers],
        isProxied
          ? ["proxy", "pages", "--url"]
          : ["http", "https://pages.example/mcp", { "X-Client": "fleet" }],
      );
    }
  });
}

for (const row of ROWS) {
  Deno.test(`renderClientEntry() renders ${row.name} for ${row.shape}`, () => {
    assert.deepEqual(entry(row.name, row.shape), row.want);
  });
}

function config(shape: "runtime-a" | "runtime-b", ...names: readonly string[]): ClientConfig {
  return {
    agent: ada,
    path: "/home/ada/config.json",
    shape,
    at: mcpEntriesPath(shape, "/home/ada"),
    entries: new Map(names.map((name) => [name as McpName, entry(name, shape)])),
  };
}
const NOTHING_KNOWN = { recorded: new Set<string>(), held: new Set<string>() };

function edit(
  text: string | undefined,
  wanted: ClientConfig,
  known: Partial<typeof NOTHING_KNOWN> = {},
): string {
  const result = editClientConfig(text, wanted, { ...NOTHING_KNOWN, ...known });
  assert.ok(result.ok, result.ok ? "" : result.error.message);
  return result.value;
}

Deno.test("editClientConfig() puts entries of runtime-a into the agent's project", () => {
  const value = JSON.parse(edit('{"numStartups": 7}', config("runtime-a", "git")));
  assert.equal(value.numStartups, 7);
  assert.deepEqual(Object.keys(value.projects["/home/ada"].mcpServers), ["git"]);
});

Deno.test("editClientConfig() keeps other programs' entries byte for byte", () => {
  const foreign =
    '{\n\t"mcpServers": {"mine":  {"command": "/opt/mine"},\n\t"b": 1.0}, "z": 1e400}';
  const added = edit(foreign, config("runtime-b", "git", "maps"));
  assert.ok(
    added.startsWith('{\n\t"mcpServers": {"mine":  {"command": "/opt/mine"},\n\t"b": 1.0,'),
  );
  assert.ok(added.endsWith('}, "z": 1e400}'));
  assert.equal(edit(added, config("runtime-b"), { recorded: new Set(["git", "maps"]) }), foreign);
});

Deno.test("editClientConfig() recognizes fleetctl's entries under another root", () => {
  const moved = '{"mcpServers": {"old": {"command": "/tmp/x/usr/lib/fleetctl/fleetctl-mcp"}}}';
  assert.deepEqual(JSON.parse(edit(moved, config("runtime-b"))), { mcpServers: {} });
});

Deno.test("editClientConfig() removes an http entry only when its name was recorded", () => {
  const text = '{"mcpServers": {"maps": {"type": "http", "url": "https://mine.example"}}}';
  assert.equal(edit(text, config("runtime-b")), text);
  const gone = edit(text, config("runtime-b"), { recorded: new Set(["maps"]) });
  assert.deepEqual(JSON.parse(gone), { mcpServers: {} });
});

Deno.test("editClientConfig() leaves held entries unchanged", () => {
  const text = edit(undefined, config("runtime-b", "git", "notes"));
  const held = edit(text, config("runtime-b", "notes"), { held: new Set(["git"]) });
  assert.equal(held, text);
});

Deno.test("editClientConfig() refuses to replace another program's entry of the name", () => {
  const text = '{"mcpServers": {"git": {"command": "/opt/my-git"}}}';
  const result = editClientConfig(text, config("runtime-b", "git"), NOTHING_KNOWN);
  assert.equal(result.ok ? "" : result.error.code, "client-entry-foreign");
});

for (const text of ["not json", "[]", '{"mcpServers": "none"}']) {
  Deno.test(`editClientConfig() refuses ${text} and names the file`, () => {
    const result = editClientConfig(text, config("runtime-b", "git"), NOTHING_KNOWN);
    assert.equal(result.ok ? "" : result.error.code, "client-config-invalid");
    assert.match(result.ok ? "" : result.error.message, /"\/home\/ada\/config\.json"/);
  });
}
