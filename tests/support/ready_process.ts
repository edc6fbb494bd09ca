/**
 * A program of the tree as a process of its own, which says on stderr that it is ready.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

/** A running program. */
export interface ReadyProcess {
  readonly pid: number;
  /** The fields of the line in which it said that it is ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Everything it has logged. */
  log(): string;
  /** Whether it has ended by itself. */
  hasEnded(): boolean;
  /** Ends it, if it still runs, and waits until it has. */
  kill(signal?: Deno.Signal): Promise<void>;
}

/**
 * Starts `entry` with the environment given and nothing else, and waits until it is ready. It has
 * every right, unless `rights` say otherwise. Fails with what it said when it ends before.
 */
export async function startReady(
  entry: string,
  env: Readonly<Record<string, string>>,
  rights: readonly string[] = ["-A"],
): Promise<ReadyProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "--no-check", ...rights, `${TREE}${entry}`],
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: env.FLEETCTL_ROOT ?? "/",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? "",
      ...env,
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const ready = Promise.withResolvers<Record<string, unknown>>();
  ready.promise.catch(() => {});
  let text = "";
  let isOver = false;
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const line = text.split("\n").slice(0, -1).find((one) => one.includes('"event":"ready"'));
      if (line !== undefined) ready.resolve(JSON.parse(line));
    }
    isOver = true;
    ready.reject(new Error(`${entry} ended: ${text}`));
  })();
  return {
    pid: child.pid,
    ready: await ready.promise,
    log: () => text,
    hasEnded: () => isOver,
    kill: async (signal = "SIGKILL") => {
      try {
        child.kill(signal);
      } catch {
        // It has ended.
      }
      await child.status;
      await reading;
    },
  };
}
