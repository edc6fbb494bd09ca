/**
 * A program of the tree as a separate process that reports on stderr when it is ready.
 *
 * @module
 */

import { TREE } from "tests/support/module_graph.ts";

/** A running program. */
export interface ReadyProcess {
  readonly pid: number;
  /** The fields of the log line that reports readiness. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Returns everything that it has logged. */
  log(): string;
  /** Returns whether it has ended by itself. */
  hasEnded(): boolean;
  /** Ends it if it still runs, and waits until it has ended. */
  kill(signal?: Deno.Signal): Promise<void>;
}

/**
 * Starts `entry` with only the given environment, and waits until it is ready. It has all
 * permissions unless `rights` limits them. When it ends before that, this fails with its output.
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
        // It has ended already.
      }
      await child.status;
      await reading;
    },
  };
}
