/**
 * An MCP server that needs a key, as an npm package with its lock, its catalog entry and the
 * installer's cache: all that a host needs to vendor it without a network. The server speaks the
 * stdio protocol with only Deno's built-ins. Its one tool proves which key it was started with,
 * without revealing the key.
 *
 * @module
 */

import assert from "node:assert/strict";
import { installConfig } from "core/catalog/install.ts";
import { hashText, lockedIntegrity, portableLock } from "core/catalog/lock.ts";
import { type FakePackage, npmRegistry } from "tests/fakes/npm_registry.ts";

const PACKAGE = "@fixture/keyed";
const VERSION = "1.0.0";
const DENO = Deno.execPath();
/** Folder of the default registry in Deno's cache; the registry itself is never contacted. */
const REGISTRY_FOLDER = "registry.npmjs.org";

/** Answers `initialize`, `tools/list` and `tools/call` of MCP 2025-11-25. */
const SERVER = `
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
const send = (message) =>
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const proof = (name) => {
  const value = process.env[name];
  return value ? createHash("sha256").update(value).digest("hex") : "no key";
};
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") continue;
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  if (method === "initialize") {
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: "keyed", version: "${VERSION}" } } });
  } else if (method === "tools/list") {
    send({ id, result: { tools: [{ name: "prove", description: "Proves the key that it has",
      inputSchema: { type: "object", properties: {} } }] } });
  } else if (method === "tools/call") {
    const key = process.argv[2];
    const text = key + " " + proof(key) + " uid " + process.getuid();
    send({ id, result: { content: [{ type: "text", text }] } });
  } else if (method === "ping") send({ id, result: {} });
  else send({ id, error: { code: -32601, message: "unknown method" } });
}
`;

const KEYED: FakePackage = {
  name: PACKAGE,
  version: VERSION,
  files: { "server.mjs": SERVER },
};

/** A catalog entry of the fixture. */
export interface KeyedEntry {
  readonly name: string;
  /** The one key that it needs. */
  readonly key: string;
  readonly scope: "per_user" | "shared";
}

/** Puts the fixture's catalog entries and caches into a root that is not in use yet. */
export async function installKeyed(root: string, entries: readonly KeyedEntry[]): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const { lock, cache } = await lockAndCache(folder);
    for (const entry of entries) {
      const catalog = `${root}/var/lib/fleetctl/repo/catalog/${entry.name}`;
      await Deno.mkdir(catalog, { recursive: true });
      await Deno.writeTextFile(`${catalog}/deno.lock`, lock);
      await Deno.writeTextFile(`${catalog}/mcp.yaml`, await manifestText(entry, lock));
      const target = `${root}/var/lib/fleetctl/vendor-cache/${entry.name}`;
      await Deno.mkdir(`${root}/var/lib/fleetctl/vendor-cache`, { recursive: true });
      const copied = await new Deno.Command("cp", { args: ["-a", cache, target] }).output();
      assert.ok(copied.success, new TextDecoder().decode(copied.stderr));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns what the tool answers when it was started with this key. */
export async function proofOf(key: string, value: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(value));
  return `${key} ${new Uint8Array(digest).toHex()}`;
}

/** Lets the installer write the lock and fill the cache, from a registry on loopback. */
async function lockAndCache(folder: string) {
  await using registry = await npmRegistry([KEYED]);
  const cache = `${folder}/cache`;
  await Deno.writeTextFile(
    `${folder}/deno.json`,
    installConfig({ package: PACKAGE, version: VERSION }),
  );
  const { success, stderr } = await new Deno.Command(DENO, {
    args: ["install", "-q"],
    cwd: folder,
    env: { NPM_CONFIG_REGISTRY: registry.url, DENO_DIR: cache, NO_COLOR: "1" },
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const lock = portableLock(await Deno.readTextFile(`${folder}/deno.lock`));
  const [asked = ""] = [...Deno.readDirSync(`${cache}/npm`)].map(({ name }) => name);
  await Deno.rename(`${cache}/npm/${asked}`, `${cache}/npm/${REGISTRY_FOLDER}`);
  return { lock, cache };
}

async function manifestText({ name, key, scope }: KeyedEntry, lock: string): Promise<string> {
  return `name: ${name}
summary: Proves that it was given ${key}
source: {npm: "${PACKAGE}@${VERSION}"}
integrity:
  package: ${lockedIntegrity(lock, `${PACKAGE}@${VERSION}`)}
  lock: ${await hashText(lock)}
command: node_modules/${PACKAGE}/server.mjs
args: ["${key}"]
auth: env
required_env: [${key}]
${scope === "per_user" ? `user_env: [${key}]\n` : ""}scope: ${scope}
permissions: {sys: [uid]}
`;
}
