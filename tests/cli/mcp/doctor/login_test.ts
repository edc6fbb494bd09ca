/**
 * Where there are accounts, the sign-in check of an agent runs with that agent's rights.
 *
 * @module
 */

import assert from "node:assert/strict";
import { checksFor, type CheckTarget } from "cli/mcp/doctor/check.ts";
import { pathsUnder } from "core/paths.ts";
import { memoryHost } from "tests/fakes/host.ts";
import type { FakeCall } from "tests/fakes/processes.ts";

const PATHS = pathsUnder("/");
const FOLDER = `${PATHS.home("ada")}/.fleetctl/oauth/acme`;
const ADA = { name: "ada", uid: 1001, gid: 1001, home: PATHS.home("ada") };

/** A real host; `isFilled` is what the helper finds when it acts as the agent. */
function target(isFilled: boolean, users = [ADA]): CheckTarget {
  const ports = memoryHost({
    // The state that root would find there.
    files: { [`${FOLDER}/token`]: "" },
    programs: { "/usr/bin/perl": (call) => answer(call, isFilled) },
    users: { users },
  });
  const none = { requiredEnv: [], optionalEnv: [], sharing: "per-user" };
  const manifest = { ...none, name: "mail", oauth: { provider: "acme" } };
  const catalog = { entries: new Map([["mail", manifest]]), faults: [] };
  const gathered = { catalog, secrets: { shards: {} }, facts: { rootless: false } };
  const context = { ports, paths: PATHS };
  return { context, gathered, agent: { name: "ada" }, mcp: "mail" } as unknown as CheckTarget;
}

/** Answers the one request like the helper for homes. */
async function answer({ stdin, print }: FakeCall, isFilled: boolean): Promise<void> {
  for await (const request of stdin) {
    assert.match(new TextDecoder().decode(request), /^is-filled 1001 1001 0 3 .*\nada/);
    await print(`ok ${Number(isFilled)} 0\n`);
  }
}

const CASES = [
  { name: "the agent finds a token", of: target(true), code: undefined },
  { name: "root alone would find one", of: target(false), code: "needs-login" },
  { name: "the account is gone", of: target(true, []), code: "needs-login" },
] as const;

for (const { name, of, code } of CASES) {
  Deno.test(`the login check of the doctor when ${name}`, async () => {
    const check = checksFor().find(({ step }) => step === "key");
    const result = await check!.check(of);
    assert.equal(result.ok ? undefined : result.error.code, code, JSON.stringify(result));
  });
}
