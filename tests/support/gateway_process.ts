/**
 * The gateway as a separate process, for tests that kill it, attack it or measure its memory.
 *
 * @module
 */

import { type ReadyProcess, startReady } from "tests/support/ready_process.ts";

/** A running gateway process. */
export interface GatewayProcess extends Omit<ReadyProcess, "ready"> {
  readonly cockpit: string;
  readonly dial: string;
  /** Returns the resident memory in bytes. */
  memory(): Promise<number>;
  /** Returns the number of open file descriptors. */
  descriptors(): Promise<number>;
}

/**
 * Starts `gateway/main.ts` and waits until it is ready. It has one owner, mia, unless `env` changes
 * that.
 */
export async function startGatewayProcess(
  root: string,
  env: Readonly<Record<string, string>> = {},
): Promise<GatewayProcess> {
  const { ready, ...process } = await startReady("gateway/main.ts", {
    FLEETCTL_ROOT: root,
    WEBVIEW_COCKPIT_LISTEN: "127.0.0.1:0",
    WEBVIEW_DIAL_LISTEN: "127.0.0.1:0",
    WEBVIEW_LEDGER: '{"mia@example.org":"mia"}',
    WEBVIEW_ADMINS: "[]",
    ...env,
  });
  const { pid } = process;
  return {
    ...process,
    cockpit: `http://${ready.cockpit}`,
    dial: `ws://${ready.dial}`,
    memory: async () => {
      const status = await Deno.readTextFile(`/proc/${pid}/status`);
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
    },
    descriptors: async () => (await Array.fromAsync(Deno.readDir(`/proc/${pid}/fd`))).length,
  };
}
