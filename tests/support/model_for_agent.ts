/**
 * Connects an agent of a running `up` to a model endpoint, as an operator does.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runVerb } from "tests/support/up_process.ts";

/**
 * Stores address and key in the agent's shard, names provider and model, and restarts the agent.
 */
export async function connectModel(root: string, agent: string, baseUrl: string): Promise<void> {
  const steps: readonly (readonly [readonly string[], string | undefined])[] = [
    [["secret", "set", "FLEETCTL_BASE_URL", "--value", "-", "--agent", agent], baseUrl],
    [["secret", "set", "FLEETCTL_MODEL_KEY", "--value", "-", "--agent", agent], "test-key"],
    [["agents", "set", agent, "--provider", "openai-compatible", "--model", "m"], undefined],
    [["apply"], undefined],
    [["agents", "restart", agent], undefined],
  ];
  for (const [args, stdin] of steps) {
    const done = await runVerb(root, args, stdin === undefined ? {} : { stdin });
    assert.equal(done.code, 0, `fleetctl ${args.join(" ")}\n${done.stdout}${done.stderr}`);
  }
}
