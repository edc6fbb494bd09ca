/**
 * A scene for tests of the runtime: a scripted endpoint, a home, and a runtime that uses both.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { type FakeModel, type IsAside, startFakeModel } from "tests/fakes/model_endpoint.ts";
import {
  inHome,
  type RuntimeProcess,
  startRuntime,
  writeClientConfig,
} from "tests/support/runtime_process.ts";

/** How long a runtime may take to end. */
export const GRACE_MS = 5_000;

/** Runs a test with an endpoint, a home and a runtime that uses both. */
export async function withRuntime(
  work: (parts: {
    readonly model: FakeModel;
    readonly home: string;
    readonly runtime: RuntimeProcess;
    readonly env: Readonly<Record<string, string>>;
  }) => Promise<void>,
  options: {
    readonly servers?: Readonly<Record<string, unknown>>;
    readonly env?: Readonly<Record<string, string>>;
    /** Requests that get a short answer outside the script. */
    readonly isAside?: IsAside;
  } = {},
): Promise<void> {
  const model = await startFakeModel(options.isAside);
  try {
    await inHome(async (home) => {
      if (options.servers !== undefined) await writeClientConfig(home, options.servers);
      const env = {
        FLEETCTL_PROVIDER: "openai-compatible",
        FLEETCTL_MODEL: "fake",
        FLEETCTL_BASE_URL: model.baseUrl,
        FLEETCTL_MODEL_KEY: "key-0123456789",
        ...options.env,
      };
      const runtime = await startRuntime(home, env);
      try {
        await work({ model, home, runtime, env });
      } finally {
        await runtime.session.close(GRACE_MS);
      }
    });
  } finally {
    await model.close();
  }
}

/**
 * Creates a pipe that shows when the first process opened it, and when the last such process ended.
 */
export async function lifeline(home: string) {
  const path = `${home}/alive`;
  await new Deno.Command("mkfifo", { args: [path] }).output();
  const begun = Deno.open(path);
  return {
    path,
    begun,
    async ended() {
      const file = await begun;
      assert.equal(await new Response(file.readable).text(), "");
    },
  };
}

/** Returns the updates of one kind. */
export function of<Kind extends RuntimeUpdate["kind"]>(
  updates: readonly RuntimeUpdate[],
  kind: Kind,
) {
  return updates.filter((update): update is Extract<RuntimeUpdate, { kind: Kind }> =>
    update.kind === kind
  );
}
