/**
 * When the daemon starts the verb that replaces agents by a new version.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { followReplacements } from "units/daemon/replacements.ts";
import { recordPath } from "units/reconcile/record.ts";
import { memoryHost } from "tests/fakes/host.ts";

const PATHS = pathsUnder("/r");
const UNIT = { inputs: "i", softInputs: "s", waitsSince: 1 };

/** A record with this unit. */
const recordWith = (
  units: Readonly<Record<string, unknown>>,
  agent: string | undefined = "ada",
) => {
  const files = Object.keys(units).map((name) => ({ path: `${PATHS.units}/${name}`, agent }));
  return JSON.stringify({ format: 1, files, clients: [], units });
};
const WAITING = recordWith({ "fleetctl-dial-ada.service": UNIT });

const NO_ONE_WAITS: readonly (readonly [string, string | undefined])[] = [
  ["no record", undefined],
  ["a damaged record", "{"],
  ["a record of another format", WAITING.replace("1", "2")],
  ["a record in which no agent waits", WAITING.replace("waitsSince", "since")],
  [
    "a time that is no number",
    recordWith({
      "fleetctl-dial-ada.service": { ...UNIT, waitsSince: "1" },
    }),
  ],
  ["a unit of no agent", WAITING.replace('"agent":"ada"', '"mcp":"x"')],
  ["a unit of an invalid agent", recordWith({ "fleetctl-dial-x.service": UNIT }, "../x")],
  ["a unit without its file", WAITING.replace('fleetctl-dial-ada.service",', 'x",')],
];

/** A daemon that follows; each run of the verb ends when the test ends it. */
function scene() {
  const host = memoryHost({ files: { [`${PATHS.state}/x`]: "" } });
  const runs: { readonly argv: readonly string[]; readonly signal: AbortSignal; end(): void }[] =
    [];
  const following = followReplacements({
    ...host,
    paths: PATHS,
    run: async (argv, signal) => {
      const { promise, resolve: end } = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => end());
      runs.push({ argv, signal, end });
      await promise;
    },
  });
  return { host, runs, following };
}

for (const [name, text] of NO_ONE_WAITS) {
  Deno.test(`followReplacements() runs nothing with ${name}`, async () => {
    const { host, runs, following } = scene();
    if (text !== undefined) await host.files.write(recordPath(PATHS), text);
    await host.clock.advance(60_000);
    assert.deepEqual(runs, []);
    await following.close();
  });
}

Deno.test("followReplacements() runs the verb once at a time, and again after a kill", async () => {
  const { host, runs, following } = scene();
  await host.files.write(recordPath(PATHS), WAITING);
  await host.clock.advance(60_000);
  assert.deepEqual(runs.map(({ argv }) => argv), [["apply", "--waiting"]]);
  runs[0]?.end();
  await host.clock.advance(10_000);
  assert.equal(runs.length, 2, "the agent still waits");
  await host.files.write(recordPath(PATHS), recordWith({}));
  runs[1]?.end();
  await host.clock.advance(60_000);
  assert.equal(runs.length, 2);
  await following.close();
});

Deno.test("followReplacements() ends the verb when it is closed", async () => {
  const { host, runs, following } = scene();
  await host.files.write(recordPath(PATHS), WAITING);
  await host.clock.advance(10_000);
  await following.close();
  assert.equal(runs[0]?.signal.aborted, true);
  assert.equal(host.clock.pending(), 0);
});
