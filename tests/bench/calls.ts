/**
 * A tool call through socket, proxy and gate, including its log line, against the same call
 * directly over stdio to the same server. Both are timed alternately in one run, with both servers
 * kept running. The proxy is the product's program; each server starts as on a host, with the
 * connection as its stdio. `./dev bench calls`
 *
 * @module
 */

import { spawn } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { quantile } from "tests/bench/measure.ts";

const ROUNDS = 3_000;
const WARM_UP = 300;
const SERVER = ["run", "-q", "--no-prompt", "-A", "--no-check", "tests/support/mcp_fixture.ts"];

/** A server that can be called. */
interface Callee {
  call(say: string): Promise<void>;
  end(): Promise<void>;
}

/** Speaks MCP with a program over its stdio. */
async function calleeOf(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Callee> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    env: { ...env },
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  const waiting = new Map<number, () => void>();
  const reading = (async () => {
    let rest = "";
    for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) waiting.get(JSON.parse(line).id)?.();
    }
  })();
  let last = 0;
  const encoder = new TextEncoder();
  const request = async (method: string, params: unknown) => {
    const id = ++last;
    const answered = new Promise<void>((resolve) => waiting.set(id, resolve));
    const line = `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`;
    await writer.write(encoder.encode(line));
    await answered;
    waiting.delete(id);
  };
  await request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  return {
    call: (say) => request("tools/call", { name: "echo", arguments: { say } }),
    async end() {
      await writer.close();
      child.kill("SIGKILL");
      await reading;
      await child.status;
    },
  };
}

/** A socket that starts a server for each connection, as `Accept=yes` does. */
async function serve(path: string): Promise<() => Promise<void>> {
  const children: ReturnType<typeof spawn>[] = [];
  const sockets: Socket[] = [];
  const listener = createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket);
    children.push(spawn(Deno.execPath(), SERVER, { stdio: [socket, socket, "ignore"] }));
  });
  await new Promise<void>((resolve) => listener.listen(path, resolve));
  return async () => {
    for (const child of children) child.kill("SIGKILL");
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => listener.close(() => resolve()));
  };
}

/** Runs both in turn and prints the added time. */
export async function benchCalls(): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "fc-bench-" });
  const socket = `${root}/fixture.sock`;
  await Deno.mkdir(`${root}/etc/fleetctl/gate`, { recursive: true });
  await Deno.writeTextFile(
    `${root}/etc/fleetctl/gate/fixture.json`,
    JSON.stringify({ mcp: "fixture", version: "1.0.0", rules: { die: "block", refuse: "ask" } }),
  );
  const stop = await serve(socket);
  const direct = await calleeOf(SERVER, {});
  const gated = await calleeOf(
    [
      "run",
      "-q",
      "--no-prompt",
      "-A",
      "--no-check",
      "units/mcp/main.ts",
      "proxy",
      "fixture",
      "--socket",
      socket,
    ],
    { FLEETCTL_ROOT: root, FLEETCTL_AGENT: "ada", HOME: root },
  );
  const times = { direct: [] as number[], gated: [] as number[] };
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [name, callee] of [["direct", direct], ["gated", gated]] as const) {
      const began = performance.now();
      await callee.call(`round ${round}`);
      if (round >= 0) times[name].push(performance.now() - began);
    }
  }
  console.log("| a call | p50 ms | p99 ms |\n|---|---|---|");
  for (
    const [name, at] of [["straight over stdio", "direct"], ["through fleetctl", "gated"]] as const
  ) {
    const [p50, p99] = [0.5, 0.99].map((part) => quantile(times[at], part).toFixed(3));
    console.log(`| ${name} | ${p50} | ${p99} |`);
  }
  const added = [0.5, 0.99].map((part) =>
    (quantile(times.gated, part) - quantile(times.direct, part)).toFixed(3)
  );
  console.log(`| added | ${added.join(" | ")} |`);
  await direct.end();
  await gated.end();
  await stop();
  await Deno.remove(root, { recursive: true });
}
