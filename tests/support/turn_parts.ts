/**
 * The processes of an agent's turn under one root, which a test can kill and start again: gateway,
 * dial unit with the built-in runtime, and an MCP server that logs each call before its answer.
 *
 * @module
 */

import { pathsUnder } from "core/paths.ts";
import { writeClientConfig } from "tests/support/runtime_process.ts";
import type { CountedTools } from "tests/support/ten_calls.ts";

/** A part that the test starts. */
export type TurnPart = "server" | "gateway" | "dial";

/** The tools of the server of `turn_child.ts`. */
export const BENCH_TOOLS: CountedTools = {
  step: "step",
  approve: "approve",
  argumentsOf: (n) => ({ n }),
  resultOf: (n) => `done ${n}`,
};

/** The parts under one root; the runtime is a child of the dial unit. */
export class TurnParts {
  readonly root: string;
  readonly #ports: readonly [cockpit: number, dial: number];
  readonly #modelUrl: string;
  readonly #running = new Map<TurnPart, Deno.ChildProcess>();
  #runtimePid = 0;

  constructor(root: string, ports: readonly [number, number], modelUrl: string) {
    this.root = root;
    this.#ports = ports;
    this.#modelUrl = modelUrl;
  }

  get cockpitUrl(): string {
    return `http://127.0.0.1:${this.#ports[0]}`;
  }

  get log(): string {
    return `${this.root}/executed.log`;
  }

  /** Starts a part and waits until it is ready. */
  async start(part: TurnPart): Promise<void> {
    const [cockpit, dial] = this.#ports;
    const turnChild = "tests/support/turn_child.ts";
    const args = {
      gateway: ["tests/support/approval_child.ts", "gateway", this.root, `${cockpit}`, `${dial}`],
      dial: [turnChild, "dial", this.root, `ws://127.0.0.1:${dial}`, this.#modelUrl],
      server: [turnChild, "server", `${this.root}/bench.sock`, this.log],
    }[part];
    const process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-q", "-A", "--no-check", ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    this.#running.set(part, process);
    const ready = Promise.withResolvers<void>();
    void this.#read(process.stdout, ready.resolve);
    await ready.promise;
  }

  async #read(stdout: ReadableStream<Uint8Array>, onReady: () => void): Promise<void> {
    for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
      for (const line of text.split("\n")) {
        if (line === "ready") onReady();
        else if (line.startsWith("runtime ")) this.#runtimePid = Number(line.slice(8));
      }
    }
  }

  /** Kills a part; a part that nothing else starts is started again. */
  async kill(victim: TurnPart | "runtime"): Promise<void> {
    if (victim === "runtime") {
      try {
        Deno.kill(this.#runtimePid, "SIGKILL");
      } catch {
        // It has just ended by itself, such as after its dial unit.
      }
      return;
    }
    await this.end(victim);
    await this.start(victim);
  }

  /** Kills a part for good. */
  async end(part: TurnPart): Promise<void> {
    const process = this.#running.get(part);
    process?.kill("SIGKILL");
    await process?.status;
    this.#running.delete(part);
  }

  /** Returns the numbers of the calls that reached the server, in order. */
  async executed(): Promise<readonly number[]> {
    const text = await Deno.readTextFile(this.log).catch(() => "");
    return text.split("\n").filter((line) => line !== "").map(Number);
  }
}

/** Gives mia the MCP `bench`, whose tool `approve` needs approval. */
export async function prepareBench(root: string): Promise<void> {
  const home = pathsUnder(root).home("mia");
  const gate = pathsUnder(root).gate("bench");
  await Deno.mkdir(gate.slice(0, gate.lastIndexOf("/")), { recursive: true });
  const rules = { mcp: "bench", version: "1.0.0", rules: { approve: "ask" } };
  await Deno.writeTextFile(gate, JSON.stringify(rules));
  await writeClientConfig(home, {
    bench: {
      command: Deno.execPath(),
      args: [
        "run",
        "-q",
        "-A",
        "--no-check",
        `${Deno.cwd()}/units/mcp/main.ts`,
        "proxy",
        "bench",
        "--socket",
        `${root}/bench.sock`,
      ],
      env: { DENO_DIR: Deno.env.get("DENO_DIR") ?? "" },
    },
  });
}
