/**
 * The daemon's sums of the host's spending: only with a ceiling, twice a minute, and again after a
 * failure.
 *
 * @module
 */

import assert from "node:assert/strict";
import { HOST_SUM_SECONDS } from "core/dial/host_ceilings.ts";
import { pathsUnder } from "core/paths.ts";
import { parseEnvelope } from "core/verbs/exec_envelope.ts";
import { keepHostSums } from "units/daemon/host_sums.ts";
import { memoryHost } from "tests/fakes/host.ts";

const PATHS = pathsUnder("/");

/** A host whose program `fleetctl-exec` counts its runs and ends with these codes, then with 0. */
async function scene(codes: readonly number[] = []) {
  const requests: unknown[] = [];
  const waiting: (() => void)[] = [];
  const host = memoryHost({
    users: { currentUid: 0 },
    programs: {
      [PATHS.program("fleetctl-exec")]: async (call) => {
        const envelope = parseEnvelope(await call.input());
        assert.ok(envelope.ok);
        requests.push(envelope.value.request.argv);
        waiting.splice(0).forEach((wake) => wake());
        await call.warn("Cannot read the ledger\n");
        return codes[requests.length - 1] ?? 0;
      },
    },
  });
  await host.files.ensureDir(PATHS.etc);
  await host.files.write(PATHS.hostOpKeys, `FLEETCTL_HOST_OP_GRANT_SECRET=${"k".repeat(43)}\n`, {
    mode: 0o600,
    uid: 0,
  });
  /** Resolves when this many sums were taken and the next one is scheduled. */
  const taken = async (count: number) => {
    while (requests.length < count) await new Promise<void>((wake) => waiting.push(wake));
    while (host.clock.pending() === 0) await new Promise((resolve) => setTimeout(resolve));
  };
  return { host, requests, taken, second: (s: number) => host.clock.advance(s * 1_000) };
}

Deno.test("a host with a ceiling is summed at once and twice a minute", async () => {
  const { host, requests, taken, second } = await scene();
  await host.files.write(PATHS.ceilingsFile, "host: day=5usd\n");
  const stop = keepHostSums(host, PATHS);
  await taken(1);
  await second(HOST_SUM_SECONDS);
  await taken(2);
  await stop();
  assert.deepEqual(requests, [["ceilings", "host", "sum"], ["ceilings", "host", "sum"]]);
});

Deno.test("a host without a ceiling starts no program until one is set", async () => {
  const { host, requests, taken, second } = await scene();
  const stop = keepHostSums(host, PATHS);
  await taken(0);
  await second(HOST_SUM_SECONDS);
  await taken(0);
  assert.deepEqual(requests, []);
  await host.files.write(PATHS.ceilingsFile, "host: day=5usd\n");
  await second(HOST_SUM_SECONDS);
  await taken(1);
  await stop();
});

Deno.test("published sums without a ceiling are removed by one more sum", async () => {
  const { host, taken } = await scene();
  await host.files.ensureDir(PATHS.state);
  await host.files.write(PATHS.hostCeilings, "{}");
  const stop = keepHostSums(host, PATHS);
  await taken(1);
  await stop();
});

Deno.test("a failed sum is logged, and the next one is taken", async () => {
  const { host, taken, second } = await scene([1]);
  await host.files.write(PATHS.ceilingsFile, "host: day=5usd\n");
  const stop = keepHostSums(host, PATHS);
  await taken(1);
  const [entry] = host.log.of("spending of the host not summed");
  assert.match(JSON.stringify(entry), /Cannot read the ledger/);
  await second(HOST_SUM_SECONDS);
  await taken(2);
  await stop();
  assert.equal(host.log.of("spending of the host not summed").length, 1);
});
