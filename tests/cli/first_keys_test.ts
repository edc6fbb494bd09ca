/**
 * Which file counts as the dial key in an agent's home, with real files: the agent may put anything
 * there.
 *
 * @module
 */

import assert from "node:assert/strict";
import { keysInHomes } from "cli/first_keys.ts";
import { openHost } from "core/os/host.ts";
import type { AgentName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";

const KEY = "B".repeat(43);
const GOOD = JSON.stringify({ kind: "ed25519", public: KEY, pkcs8: "x" });

async function shell(script: string, ...args: string[]) {
  const command = new Deno.Command("sh", { args: ["-ec", script, "sh", ...args] });
  assert.ok((await command.output()).success, script);
}

const ROWS: readonly (readonly [
  name: string,
  put: (path: string) => Promise<unknown>,
  want?: string,
])[] = [
  ["a key", (path) => Deno.writeTextFile(path, GOOD), KEY],
  ["nothing", async () => {}],
  ["a text that is not a key", (path) => Deno.writeTextFile(path, "x")],
  ["a key of another length", (path) => Deno.writeTextFile(path, GOOD.replace(KEY, "B"))],
  ["4 KiB", (path) => Deno.writeTextFile(path, GOOD.padEnd(4096)), KEY],
  ["more than 4 KiB", (path) => Deno.writeTextFile(path, GOOD.padEnd(4097))],
  ["a folder", (path) => Deno.mkdir(path)],
  ["a link to a key", (path) => shell('echo "$1" > "$2.real"; ln -s "$2.real" "$2"', GOOD, path)],
  ["a pipe without a writer", (path) => shell('mkfifo "$1"', path)],
];
for (const [name, put, want] of ROWS) {
  Deno.test(`keysInHomes() of ${name}`, async () => {
    const root = await Deno.makeTempDir({ prefix: "first-keys-" });
    try {
      const paths = pathsUnder(root);
      const ports = openHost({ log: { program: "test" } });
      const folder = paths.dialState("ada" as AgentName);
      await Deno.mkdir(folder, { recursive: true });
      await put(`${folder}/key.json`);
      assert.equal(
        (await keysInHomes({ ports, paths }, ["ada" as AgentName])).get("ada" as AgentName),
        want,
      );
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  });
}
