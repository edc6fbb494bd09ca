/**
 * Default sets, the host overlay, and how tool deltas resolve.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Catalog, readCatalog } from "core/catalog/catalog.ts";
import {
  addDefaultTool,
  CHANNEL_DEFAULTS,
  missingTools,
  readDefaults,
  resolveTools,
  SHIPPED_DEFAULTS,
  withoutTool,
  withTool,
} from "core/catalog/defaults.ts";
import { isCredentialFree } from "tests/core/catalog/credential_free.ts";
import { CHANNELS } from "core/ledger/agent.ts";
import type { McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { FileFault } from "core/ports/files.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const PATHS = pathsUnder("/");
const FILE = PATHS.defaultsFile;
const names = (...list: readonly string[]) => list as readonly McpName[];

async function catalog(): Promise<Catalog> {
  const read = await readCatalog({
    files: memoryFiles({
      [`${PATHS.overlayCatalog}/notes/mcp.yaml`]:
        "name: notes\nsummary: x\nsource: {http: 'https://example.org/'}\n" +
        "auth: env\nrequired_env: [NOTES_TOKEN]\n",
    }),
  }, PATHS);
  assert.ok(read.ok);
  return read.value;
}

Deno.test("no shipped default set contains an MCP that needs a credential", async () => {
  const known = await catalog();
  for (const channel of CHANNELS) {
    for (const name of CHANNEL_DEFAULTS[channel]) {
      const manifest = known.entries.get(name);
      assert.ok(manifest !== undefined, `${name} is not in the catalog`);
      assert.ok(isCredentialFree(manifest), `${name} needs a credential`);
    }
  }
});

Deno.test("the default sets are the designed ones", () => {
  assert.deepEqual(CHANNEL_DEFAULTS, {
    webview: ["browser"],
    messenger: ["browser", "messenger"],
    teamchat: ["browser", "teamchat"],
    workchat: ["browser", "workchat"],
  });
});

Deno.test("resolveTools() adds, removes and keeps the order", async () => {
  const known = await catalog();
  const host = { ...SHIPPED_DEFAULTS, hostTools: names("notes") };
  for (
    const [add, remove, want] of [
      [[], [], ["browser", "notes"]],
      [["git"], [], ["browser", "notes", "git"]],
      [["git", "browser"], ["notes"], ["browser", "git"]],
      [["git"], ["git", "browser"], ["notes"]],
      [["gone"], [], ["browser", "notes"]],
    ] as const
  ) {
    const agent = {
      channel: "webview" as const,
      tools: { add: names(...add), remove: names(...remove) },
    };
    assert.deepEqual(resolveTools(agent, known, host), want);
  }
  const agent = { channel: "webview" as const, tools: { add: names("gone"), remove: [] } };
  assert.deepEqual(missingTools(agent, known, host), ["gone"]);
});

Deno.test("withTool() and withoutTool() write the smallest delta", () => {
  const agent = (add: readonly string[], remove: readonly string[]) => ({
    channel: "webview" as const,
    tools: { add: names(...add), remove: names(...remove) },
  });
  const [browser, git] = names("browser", "git") as [McpName, McpName];
  const defaults = SHIPPED_DEFAULTS;
  assert.deepEqual(withTool(agent([], []), git, defaults), { add: ["git"], remove: [] });
  assert.deepEqual(withTool(agent(["git"], []), git, defaults), { add: ["git"], remove: [] });
  assert.deepEqual(withTool(agent([], ["browser"]), browser, defaults), { add: [], remove: [] });
  assert.deepEqual(withoutTool(agent(["git"], []), git, defaults), { add: [], remove: [] });
  assert.deepEqual(withoutTool(agent([], []), browser, defaults), { add: [], remove: ["browser"] });
});

Deno.test("readDefaults() uses the valid part of the host's file and names the rest", async () => {
  const known = await catalog();
  const read = (text: string) =>
    readDefaults({ files: memoryFiles({ [PATHS.defaultsFile]: text }) }, PATHS, known);
  assert.deepEqual((await read("tools: [notes, git]\n")).hostTools, ["notes", "git"]);
  const mixed = await read("tools:\n  - notes\n  - gone\n");
  assert.deepEqual([mixed.hostTools, mixed.isDamaged], [["notes"], undefined]);
  assert.equal(mixed.faults[0]?.code, "defaults-invalid");
  assert.equal(mixed.faults[0]?.details.length, 1);
  // The defaults of a damaged file are unknown: "tool" may be a typo for "tools".
  for (const text of ["tools: [\n", "tool: [notes]\n", "tools: notes\n", "- notes\n"]) {
    const damaged = await read(text);
    assert.deepEqual([damaged.hostTools, damaged.isDamaged], [[], true], text);
    assert.equal(damaged.faults[0]?.code, "defaults-file-invalid");
    assert.match(damaged.faults[0]?.details.join() ?? "", /defaults\.yaml:\d/, text);
  }
  const absent = await readDefaults({ files: memoryFiles() }, PATHS, known);
  assert.deepEqual(absent, SHIPPED_DEFAULTS);
  const readText = () => Promise.reject(new FileFault("EACCES", PATHS.defaultsFile, "denied"));
  const denied = await readDefaults({ files: { readText } }, PATHS, known);
  assert.equal(denied.faults[0]?.code, "defaults-unreadable");
});

Deno.test("addDefaultTool() accepts any catalogued MCP, and no other", async () => {
  const known = await catalog();
  const added = addDefaultTool("# ours\ntools: [git]\n", "notes", { catalog: known, file: FILE });
  assert.deepEqual(added, { ok: true, value: "# ours\ntools: [git, notes]\n" });
  const refused = addDefaultTool("", "gone", { catalog: known, file: FILE });
  assert.ok(!refused.ok && refused.error.code === "mcp-not-catalogued");
});
