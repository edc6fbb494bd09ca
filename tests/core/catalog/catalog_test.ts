/**
 * The three layers of the catalog, broken entries, and the shipped entries.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isCredentialFree } from "tests/core/catalog/credential_free.ts";
import { findEntry, readCatalog } from "core/catalog/catalog.ts";
import type { McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { FileFault } from "core/ports/files.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const PATHS = pathsUnder("/");

function entry(name: string, summary: string, more = ""): string {
  return `name: ${name}\nsummary: ${summary}\nsource: {http: "https://example.org/mcp"}\n${more}`;
}

async function read(files: Readonly<Record<string, string>>) {
  const catalog = await readCatalog({ files: memoryFiles(files) }, PATHS);
  assert.ok(catalog.ok, JSON.stringify(catalog));
  return catalog.value;
}

const CREDENTIAL_FREE = ["agent-message", "browser", "git", "messenger", "teamchat", "workchat"];

Deno.test("readCatalog() returns the 22 entries and no fault on an empty host", async () => {
  const catalog = await read({});
  assert.deepEqual(catalog.faults, []);
  assert.deepEqual([...catalog.entries.keys()], [
    "agent-message",
    "architecture",
    "audio",
    "browser",
    "code-host",
    "database",
    "design",
    "error-tracker",
    "file-storage",
    "git",
    "image",
    "issue-tracker",
    "maps",
    "messenger",
    "notes",
    "office-a",
    "office-b",
    "payments",
    "search-a",
    "search-b",
    "teamchat",
    "workchat",
  ]);
  const free = [...catalog.entries.values()].filter(isCredentialFree).map(({ name }) => name);
  assert.deepEqual(free, CREDENTIAL_FREE);
});

Deno.test("the shipped entries have the designed sharing, keys and sign-ins", async () => {
  const { entries } = await read({});
  const at = (name: string) => entries.get(name as McpName);
  // Per-agent keys, an organisation-wide key, and three sign-ins.
  assert.equal(at("code-host")?.sharing, "per_user");
  assert.deepEqual(at("search-a")?.userEnv, ["TAVILY_API_KEY"]);
  assert.deepEqual([at("search-b")?.sharing, at("search-b")?.userEnv], ["shared", []]);
  const oauth = [...entries.values()].filter(({ auth }) => auth === "oauth");
  assert.deepEqual(
    oauth.map(({ name, oauth }) => [name, oauth?.provider]),
    [["issue-tracker", "issue-tracker"], ["office-a", "office-a"], ["office-b", "office-b"]],
  );
});

Deno.test("readCatalog() prefers the overlay, then the runtime catalog, then shipped", async () => {
  const catalog = await read({
    [`${PATHS.overlayCatalog}/notes/mcp.yaml`]: entry("notes", "overlay"),
    [`${PATHS.runtimeCatalog}/notes/mcp.yaml`]: entry("notes", "runtime"),
    [`${PATHS.runtimeCatalog}/maps/mcp.yaml`]: entry("maps", "runtime"),
    [`${PATHS.overlayCatalog}/git/mcp.yaml`]: entry("git", "ours"),
  });
  const at = (name: string) => catalog.entries.get(name as McpName);
  assert.equal(at("notes")?.summary, "overlay");
  assert.equal(at("notes")?.origin, "overlay");
  assert.equal(at("maps")?.origin, "runtime");
  assert.equal(at("git")?.summary, "ours");
});

Deno.test("readCatalog() returns every other entry when one is broken", async () => {
  const catalog = await read({
    [`${PATHS.overlayCatalog}/git/mcp.yaml`]: "name: git\ncolour: [\n",
    [`${PATHS.overlayCatalog}/notes/mcp.yaml`]: entry("notes", "fine"),
    [`${PATHS.overlayCatalog}/Bad Name/mcp.yaml`]: entry("x", "y"),
    [`${PATHS.overlayCatalog}/empty/other.txt`]: "",
    [`${PATHS.overlayCatalog}/README.md`]: "no entry",
    [`${PATHS.overlayCatalog}/.git/config`]: "no entry",
  });
  assert.ok(catalog.entries.has("notes" as McpName));
  assert.ok(catalog.entries.has("browser" as McpName));
  assert.equal(catalog.entries.has("git" as McpName), false, "a broken overlay is not undone");
  assert.deepEqual(
    catalog.faults.map((fault) => [fault.name, fault.refusal.code]),
    [["Bad Name", "name-invalid"], ["empty", "manifest-missing"], ["git", "yaml-invalid"]],
  );
  const found = findEntry(catalog, "git");
  assert.ok(!found.ok && found.error.code === "yaml-invalid");
});

Deno.test("readCatalog() names the folder or file that cannot be read", async () => {
  const files = memoryFiles({ [`${PATHS.overlayCatalog}/notes/mcp.yaml`]: entry("notes", "x") });
  const fault = (path: string) => Promise.reject(new FileFault("EACCES", path, "denied"));
  const folder = await readCatalog({ files: { ...files, list: fault } }, PATHS);
  assert.ok(!folder.ok && folder.error.code === "catalog-unreadable");
  const file = await readCatalog({ files: { ...files, readText: fault } }, PATHS);
  assert.ok(file.ok && file.value.faults[0]?.refusal.code === "manifest-unreadable");
  const many = Array.from({ length: 1001 }, (_, at) => `e${at}`);
  const large = await readCatalog(
    { files: { ...files, list: () => Promise.resolve(many) } },
    PATHS,
  );
  assert.ok(!large.ok && large.error.code === "catalog-too-large");
});

Deno.test("findEntry() refuses an unknown entry", async () => {
  const found = findEntry(await read({}), "nothing-such");
  assert.ok(!found.ok && found.error.code === "mcp-not-catalogued");
});

Deno.test("the shipped entries have the designed exposures", async () => {
  const catalog = await read({});
  for (const manifest of catalog.entries.values()) {
    const isChannel = ["messenger", "teamchat", "workchat"].includes(manifest.name);
    assert.equal(manifest.exposure, isChannel ? "direct" : "codemode", manifest.name);
    assert.deepEqual(
      [...manifest.toolExposure],
      manifest.name === "agent-message" ? [["send_message", "direct"]] : [],
    );
  }
});

Deno.test("every shipped npm entry pins its package, its lock and its tree", async () => {
  const catalog = await read({});
  const npm = [...catalog.entries.values()].filter((one) => one.source.kind === "npm");
  assert.equal(npm.length, 17);
  for (const manifest of npm) {
    assert.ok(manifest.integrity && manifest.lockIntegrity && manifest.treeIntegrity);
    assert.ok(manifest.lock !== undefined && !/https?:/.test(manifest.lock));
  }
});
