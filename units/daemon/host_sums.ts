/**
 * Takes the sums of the host's spending, while the host has a ceiling: runs `ceilings host sum`
 * twice a minute, through `fleetctl-exec` as any verb, because the daemon itself may not connect
 * to dial units. It decides nothing for a caller, so the audit log has no row of it.
 *
 * @module
 */

import { HOST_SUM_SECONDS } from "core/dial/host_ceilings.ts";
import { errorText } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { execute } from "units/daemon/execute.ts";
import type { FrameWriter } from "units/daemon/frame_writer.ts";

/** Starts the sums; returns a function that stops them and resolves when none runs. */
export function keepHostSums(host: Host, paths: Paths): () => Promise<void> {
  const stop = new AbortController();
  const done = run(host, paths, stop.signal);
  return async () => {
    stop.abort();
    await done;
  };
}

async function run(host: Host, paths: Paths, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      if (await isDue(host, paths)) await sumOnce(host, paths);
    } catch (thrown) {
      host.log.error("spending of the host not summed", { error: errorText(thrown) });
    }
    await host.clock.sleep(HOST_SUM_SECONDS * 1_000, signal);
  }
}

/** Whether ceilings are set, or published ones are left after their file was removed by hand. */
async function isDue({ files }: Host, paths: Paths): Promise<boolean> {
  return await files.stat(paths.ceilingsFile) !== undefined ||
    await files.stat(paths.hostCeilings) !== undefined;
}

async function sumOnce(host: Host, paths: Paths): Promise<void> {
  const said: string[] = [];
  const writer: FrameWriter = {
    isGone: () => false,
    send: (frame) => {
      if (frame.type === "err") said.push(frame.text);
      return Promise.resolve();
    },
  };
  const ownUid = host.users.currentUid();
  const request = { argv: ["ceilings", "host", "sum"] };
  const outcome = await execute(
    { request, caller: { kind: "operator", uid: ownUid } },
    { paths, writer, isKept: true },
    { ...host, ownUid },
  );
  if (outcome.ok && outcome.value === 0) return;
  const error = outcome.ok ? said.join("").slice(0, 2_000) : outcome.error.message;
  host.log.error("spending of the host not summed", { error });
}
