/**
 * `fleetctl apply` of 10, 100 and 1,000 agents: without a change, and with one. The peer is
 * `sha256sum` over the same rendered files, the minimum cost of reading them. `./dev bench apply`
 *
 * @module
 */

import { printShard } from "core/ledger/shard.ts";
import type { AgentName, Email, McpName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { inTurn, printTable, runProgram, type Subject } from "tests/bench/measure.ts";
import { fileServices } from "tests/support/file_services.ts";
import { runFleetctl } from "tests/support/script.ts";

const SIZES = [10, 100, 1_000];
const ROUNDS = 5;
const BROWSER = "name: browser\nsummary: Stands in\nsource: {builtin: agent-message}\n" +
  "auth: none\nscope: per_user\n";

/** Makes a root for each size, then applies each in turn. */
export async function benchApply(): Promise<void> {
  const roots = new Map<number, string>();
  const subjects: Subject[] = [];
  try {
    for (const size of SIZES) {
      const root = await makeFleet(size);
      roots.set(size, root);
      let round = 0;
      subjects.push(
        { name: `${size} agents: sha256sum of what is rendered`, run: () => hashAll(root) },
        { name: `${size} agents: apply, nothing to do`, run: () => verb(root, "apply") },
        {
          name: `${size} agents: apply after one agent's MCP was added or removed`,
          run: async () => {
            await writeAgent(root, 0, round++ % 2 === 0 ? ["agent-message"] : []);
            await verb(root, "apply");
          },
        },
        {
          name: `${size} agents: mcp add for one agent, nothing to do`,
          run: () => verb(root, "mcp", "add", "browser", "a0"),
        },
      );
    }
    printTable(await inTurn(subjects, ROUNDS));
  } finally {
    for (const root of roots.values()) await Deno.remove(root, { recursive: true });
  }
}

async function makeFleet(size: number): Promise<string> {
  const root = await Deno.makeTempDir({ prefix: "fctlb" });
  await verb(root, "apply");
  const catalog = `${root}/var/lib/fleetctl/repo/catalog/browser`;
  await Deno.mkdir(catalog, { recursive: true });
  await Deno.writeTextFile(`${catalog}/mcp.yaml`, BROWSER);
  await Deno.mkdir(pathsUnder(root).agentsDir, { recursive: true });
  for (let at = 0; at < size; at++) await writeAgent(root, at, []);
  await verb(root, "apply");
  return root;
}

async function writeAgent(root: string, at: number, add: readonly string[]): Promise<void> {
  const name = `a${at}` as AgentName;
  const shard = printShard({
    name,
    channel: "webview",
    userEmail: `${name}@example.org` as Email,
    runtime: "runtime-b",
    isAdmin: false,
    tools: { add: add as readonly McpName[], remove: [] },
  });
  await Deno.writeTextFile(pathsUnder(root).agentShard(name), shard);
}

async function verb(root: string, ...words: readonly string[]): Promise<void> {
  const ended = await runFleetctl(words, { root, ports: { services: fileServices } });
  if (ended.code !== 0) throw new Error(ended.stderr);
}

function hashAll(root: string): Promise<void> {
  return runProgram("/bin/sh", [
    "-c",
    'cd "$1" && find etc usr home -type f -print0 | xargs -0 sha256sum >/dev/null',
    "sh",
    root,
  ], { PATH: "/usr/bin:/bin" });
}
