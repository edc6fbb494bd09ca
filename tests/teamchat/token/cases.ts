/**
 * Deliveries with tokens that have one defect each, and the expected results.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { teamchatTest as test, type TestTeamchat } from "tests/teamchat/fixture.ts";
import type { KitKeys } from "tests/teamchat/connector/keys.ts";

/** Input of a case: changes of the activity, of the token, or of its header. */
export interface Given {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly activity?: Readonly<Record<string, unknown>>;
  /** Returns the whole header for a token. */
  readonly authorization?: (token: string) => string | null;
  readonly key?: (keys: KitKeys) => ReturnType<KitKeys["make"]>;
  readonly token?: (at: TestTeamchat) => Promise<string>;
}

/** A case; `name` is part of its test's name. */
export interface Case {
  readonly name: string;
  readonly status: number;
  readonly given: Given;
}

/** A minute, in seconds. */
export const MINUTE = 60;

/** The gateway's time, in seconds, as in tokens. */
export const now = (at: TestTeamchat) => Math.floor(at.clock.now() / 1000);

/** A time claim, this many seconds from now. */
export const offset = (seconds: number) => ({ at: seconds });

/** Tests that each case is refused, and that none of it reaches an agent or another host. */
export function refused(cases: readonly Case[]): void {
  for (const { name, status, given } of cases) {
    test(`a delivery is refused: ${name}`, async (at) => {
      const agent = await at.agent();
      const answer = await deliver(at, given);
      assert.equal(answer.status, status, answer.text);
      await at.clock.advance(2_000);
      assert.deepEqual(agent.frames.filter(({ type }) => type === "turn"), []);
      assert.equal(at.kit.calls.length, 0, "something was sent");
      assert.equal(at.kit.tokensMinted, 0, "a token was asked for");
      assert.deepEqual(at.kit.violations(), [], "another host was asked");
      const paths = at.kit.paths.filter((path) => path !== "metadata" && path !== "keys");
      assert.deepEqual(paths, [], "an address of the token was asked");
      assert.doesNotMatch(answer.text, /eyJ|issuer|audience|signature/);
    });
  }
}

/** Tests that each case is accepted. */
export function accepted(cases: readonly Case[]): void {
  for (const { name, status, given } of cases) {
    test(`a delivery is accepted: ${name}`, async (at) => {
      assert.equal((await deliver(at, given)).status, status);
    });
  }
}

/** Posts a message with the token of the case. */
export async function deliver(at: TestTeamchat, given: Given) {
  const activity = at.message("hello", given.activity);
  const claims = Object.fromEntries(
    Object.entries(given.claims ?? {}).map(([name, value]) => [
      name,
      typeof value === "object" && value !== null && "at" in value
        ? now(at) + Number(value.at)
        : value,
    ]),
  );
  const key = await given.key?.(at.kit.keys);
  // Long enough that the gateway may fetch an unknown key again.
  if (key !== undefined) await at.clock.advance(31_000);
  const token = await given.token?.(at) ?? await at.kit.keys.token(at.kit.serviceUrl, {
    claims,
    ...defined({ header: given.header, key }),
  });
  const authorization = given.authorization === undefined
    ? `Bearer ${token}`
    : given.authorization(token);
  return await at.post(activity, { authorization });
}
