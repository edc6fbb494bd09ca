/**
 * The shipped npm servers, measured in turn: installation time, size, the time that the tree check
 * adds to a start, and each server's time from start to its list of tools, under Deno and under
 * Node. `./dev bench catalog`; fetches every package first. FLEETCTL_ROUNDS sets the rounds.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { parseTreeRecord } from "core/catalog/vendored_tree.ts";
import { openHost } from "core/os/host.ts";
import { systemMcpClient } from "cli/os/mcp_client.ts";
import type { ProcessSpec } from "core/ports/processes.ts";
import { quantile } from "tests/bench/measure.ts";
import { shippedManifests } from "tests/support/catalog_tables.ts";
import { programPath } from "tests/support/machine.ts";
import { fillVendorCache } from "tests/support/prepare_vendor.ts";
import {
  PASSES_ON,
  type ShippedRoot,
  shippedRoot,
  startAlone,
} from "tests/support/shipped_server.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? "3");

/** Measures every shipped npm entry. */
export async function benchCatalog(): Promise<void> {
  await fillVendorCache((line) => console.error(line), "all");
  const node = await programPath("node");
  await using root = await shippedRoot();
  const entries = (await shippedManifests()).filter(({ source }) => source.kind === "npm");
  console.log(
    "| MCP | install from the cache ms | files | MB | check adds, warm ms | start under Deno " +
      "ms | start under Node ms | ratio |",
  );
  console.log("|---|---|---|---|---|---|---|---|");
  let [installs, megabytes] = [0, 0];
  for (const entry of entries) {
    const begun = performance.now();
    await root.vendor(entry.name);
    const install = performance.now() - begun;
    const { files, bytes } = await recordOf(root, entry.name);
    const added = await checkAdds(root, entry.name);
    const deno = await root.program(entry);
    const [underDeno, underNode] = await starts(entry, deno, node);
    installs += install;
    megabytes += bytes / 1e6;
    const ratio = Number.isNaN(underNode) ? "–" : (underDeno / underNode).toFixed(2);
    const shown = (ms: number) => Number.isNaN(ms) ? "–" : ms.toFixed(0);
    console.log(
      `| \`${entry.name}\` | ${install.toFixed(0)} | ${files} | ${(bytes / 1e6).toFixed(0)} | ${
        added.toFixed(1)
      } | ${shown(underDeno)} | ${shown(underNode)} | ${ratio} |`,
    );
  }
  console.log(
    `\n${entries.length} servers: installed in ${(installs / 1000).toFixed(1)} s, ${
      megabytes.toFixed(0)
    } MB; medians of ${ROUNDS} starts, of ${ROUNDS * 4} checks`,
  );
}

async function recordOf(root: ShippedRoot, mcp: string) {
  const folder = root.paths.deploy(mcp);
  const current = await Deno.readLink(`${folder}/current`);
  const record = parseTreeRecord(await Deno.readTextFile(`${folder}/${current}.json`));
  if (record === undefined) throw new Error(`${mcp} has no record`);
  return record;
}

/**
 * Returns the time that the check adds to a start: the launcher with a program, minus that program
 * alone.
 */
async function checkAdds(root: ShippedRoot, mcp: string): Promise<number> {
  const checked = await timed(
    ROUNDS * 4,
    () => end(root.paths.program("fleetctl-checked"), [mcp, "/bin/true"]),
  );
  const bare = await timed(ROUNDS * 4, () => end("/bin/true", []));
  return quantile(checked, 0.5) - quantile(bare, 0.5);
}

async function end(command: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args, stdin: "null" }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

async function timed(rounds: number, run: () => Promise<void>): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const begun = performance.now();
    await run();
    if (round >= 0) times.push(performance.now() - begun);
  }
  return times;
}

/** Times from start to the list of tools, in turn; NaN for a program that lists nothing. */
async function starts(
  entry: Manifest,
  deno: ProcessSpec,
  node: string | undefined,
): Promise<readonly [number, number]> {
  const underNode = node === undefined ? undefined : nodeProgram(deno, node);
  const [a, b]: [number[], number[]] = [[], []];
  const failed = new Set<ProcessSpec>();
  for (let round = -1; round < ROUNDS; round++) {
    for (const [program, times] of [[deno, a], [underNode, b]] as const) {
      // A program that failed to list once will fail again; waiting for it would only cost time.
      if (program === undefined || failed.has(program)) continue;
      const begun = performance.now();
      if (!await list(entry, program)) failed.add(program);
      else if (round >= 0) times.push(performance.now() - begun);
    }
  }
  return [
    failed.has(deno) ? NaN : quantile(a, 0.5),
    underNode === undefined || failed.has(underNode) ? NaN : quantile(b, 0.5),
  ];
}

/** Returns the same file and arguments under Node, which has no permissions. */
function nodeProgram(deno: ProcessSpec, node: string): ProcessSpec {
  const at = deno.args.findIndex((word) =>
    word.includes("/node_modules/") && !word.startsWith("-")
  );
  return { ...deno, command: node, args: deno.args.slice(at) };
}

async function list(entry: Manifest, program: ProcessSpec): Promise<boolean> {
  const bridge = PASSES_ON.get(entry.name);
  // It lists no tools by itself: its start ends when it logs that it runs.
  if (bridge !== undefined) return bridge.says.test(await startAlone(program, bridge.says));
  const host = openHost({ log: { program: "bench", level: "error" } });
  const listed = await systemMcpClient(host).listTools(entry.name, program);
  return listed.ok;
}
