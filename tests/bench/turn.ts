/**
 * One turn with one tool call through every part, including two model calls to an endpoint that
 * answers at once. The peer is the same call directly over stdio to the same MCP server. Both sides
 * keep their server running. `./dev bench turn`
 *
 * @module
 */

import { printTable, quantile } from "tests/bench/measure.ts";
import {
  makeRepository,
  makeRoot,
  startUp,
  workspaceRepository,
} from "tests/support/up_process.ts";
import { startFakeModel } from "tests/fakes/model_endpoint.ts";
import { connectModel } from "tests/support/model_for_agent.ts";
import { openPage, type Page } from "tests/support/page_client.ts";

const ROUNDS = 100;

/** A server on stdio whose handshake is complete. */
interface DirectServer {
  call(path: string): Promise<void>;
  end(): Promise<void>;
}

async function startDirect(root: string): Promise<DirectServer> {
  const tree = `${root}/var/lib/fleetctl/deploy/git/current`;
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-q",
      "--no-prompt",
      "--cached-only",
      "--node-modules-dir=manual",
      "-A",
      `${tree}/node_modules/@cyanheads/git-mcp-server/dist/index.js`,
    ],
    cwd: tree,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const waiting = new Map<number, () => void>();
  const reading = (async () => {
    let rest = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      rest += chunk;
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const id = line.trim() === "" ? undefined : (JSON.parse(line) as { id?: number }).id;
        if (id !== undefined) waiting.get(id)?.();
      }
    }
  })();
  let last = 0;
  const request = async (method: string, params: unknown) => {
    const id = ++last;
    const answered = new Promise<void>((resolve) => waiting.set(id, resolve));
    const line = JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n";
    await writer.write(new TextEncoder().encode(line));
    await answered;
  };
  await request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  return {
    call: (path) => request("tools/call", { name: "git_log", arguments: { path, maxCount: 1 } }),
    async end() {
      await writer.close();
      child.kill("SIGKILL");
      await reading;
      await child.status;
    },
  };
}

/** Times both sides alternately, and prints what the turn adds. */
export async function benchTurn(): Promise<void> {
  const root = await makeRoot();
  const repository = workspaceRepository(root);
  await makeRepository(repository, "measured");
  await using up = startUp(root);
  await up.line(/^ready /);
  // A model that answers at once, so that the model itself adds no time.
  const model = await startFakeModel();
  await connectModel(root, "ada", model.baseUrl);
  const direct = await startDirect(root);
  const page: Page = await openPage(root);
  const straight: number[] = [];
  const through: number[] = [];
  for (let round = -3; round < ROUNDS; round++) {
    let started = performance.now();
    await direct.call(repository);
    if (round >= 0) straight.push(performance.now() - started);
    started = performance.now();
    model.script(
      {
        kind: "answer",
        calls: [{ tool: "git_log", arguments: { path: repository, maxCount: 1 } }],
      },
      { kind: "answer", text: "done" },
    );
    await page.turn("ada", "last commit");
    if (round >= 0) through.push(performance.now() - started);
  }
  printTable(
    new Map([["git_log straight over stdio", straight], ["a turn with one git_log", through]]),
  );
  const added = (q: number) => (quantile(through, q) - quantile(straight, q)).toFixed(1);
  console.log(`\nadded by the way: p50 ${added(0.5)} ms, p99 ${added(0.99)} ms`);
  page.close();
  await direct.end();
  await model.close();
}
