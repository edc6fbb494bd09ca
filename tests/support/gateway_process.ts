/**
 * The gateway as a process of its own, for tests that kill it, attack it or weigh it.
 *
 * @module
 */

/** A running gateway process. */
export interface GatewayProcess {
  readonly pid: number;
  readonly cockpit: string;
  readonly dial: string;
  /** Everything it has logged. */
  log(): string;
  /** Whether it has ended by itself. */
  hasEnded(): boolean;
  /** Resident memory in bytes. */
  memory(): Promise<number>;
  /** Open file descriptors. */
  descriptors(): Promise<number>;
  kill(): Promise<void>;
}

/** Starts `gateway/main.ts`, for one owner, mia, unless `env` says more; waits until it is ready. */
export async function startGatewayProcess(
  root: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "gateway/main.ts"],
    clearEnv: true,
    env: {
      PATH: Deno.env.get("PATH") ?? "",
      HOME: root,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? "",
      FLEETCTL_ROOT: root,
      WEBVIEW_COCKPIT_LISTEN: "127.0.0.1:0",
      WEBVIEW_DIAL_LISTEN: "127.0.0.1:0",
      WEBVIEW_LEDGER: '{"mia@example.org":"mia"}',
      WEBVIEW_ADMINS: "[]",
      ...env,
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const ready = Promise.withResolvers<{ readonly cockpit: string; readonly dial: string }>();
  let text = "";
  let ended = false;
  const reading = (async () => {
    for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const line = text.split("\n").slice(0, -1).find((one) => one.includes('"ready"'));
      if (line !== undefined) ready.resolve(JSON.parse(line));
    }
    ended = true;
    ready.reject(new Error(`the gateway ended: ${text}`));
  })();
  ready.promise.catch(() => {});
  const { cockpit, dial } = await ready.promise;
  return {
    pid: child.pid,
    cockpit: `http://${cockpit}`,
    dial: `ws://${dial}`,
    log: () => text,
    hasEnded: () => ended,
    memory: async () => {
      const status = await Deno.readTextFile(`/proc/${child.pid}/status`);
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
    },
    descriptors: async () => (await Array.fromAsync(Deno.readDir(`/proc/${child.pid}/fd`))).length,
    kill: async () => {
      if (!ended) child.kill("SIGKILL");
      await child.status;
      await reading;
    },
  };
}
