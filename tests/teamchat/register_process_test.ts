/**
 * `/register`, one bad token per test: only an owner's agent with its own enrolled key is accepted,
 * at this gateway, once. A removed key ends its connection.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { type DialKey, generateDialKey } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import { type Registration, signRegistration } from "core/teamchat/registration.ts";
import { refusalReason } from "core/teamchat/refused_registration.ts";
import { UpgradeFault } from "core/net/upgrade_fault.ts";
import { connectBare } from "tests/support/gateway_fixture.ts";
import {
  BEA_OWNER,
  CAL_OWNER,
  teamchatTest as test,
  type TestTeamchat,
} from "tests/teamchat/fixture.ts";

type Stated = Pick<Registration, "agent" | "owner" | "gateway" | "nonce">;

/** Changes of a good token or of its request. */
interface Given {
  readonly stated?: Partial<Stated>;
  readonly key?: () => Promise<DialKey>;
  readonly offsetMs?: number;
  readonly header?: (token: string) => string | undefined;
  readonly more?: Readonly<Record<string, string>>;
  readonly path?: string;
  /** The reason in the answer; when absent, the answer is only "not authorized". */
  readonly told?: string;
}

const stranger = async () => (await generateDialKey()).key;
const REFUSED: Readonly<Record<string, Given>> = {
  "no token": { header: () => undefined },
  "another scheme": { header: (token) => `Basic ${token}` },
  "a text that is not a token": { header: () => "Bearer x" },
  "a changed statement": {
    header: (token) => `Bearer ${token.replace(/.register.1.../, ".register.1.xx")}`,
  },
  "a signature of another key": { key: stranger, told: "key-not-enrolled" },
  "another agent's name": { stated: { agent: "cal" }, told: "owner-or-agent-unknown" },
  "another owner": { stated: { owner: CAL_OWNER }, told: "owner-or-agent-unknown" },
  "an unknown agent": {
    stated: { agent: "dan", owner: "00000000-0000-4000-8000-0000000000dd" },
    told: "owner-or-agent-unknown",
  },
  "another gateway": { stated: { gateway: "elsewhere.example:3978" }, told: "other-gateway" },
  "a token of ten minutes ago": { offsetMs: -600_000, told: "token-expired" },
  "a token of ten minutes ahead": { offsetMs: 600_000, told: "token-from-the-future" },
  "a short nonce": { stated: { nonce: "x" } },
  "a proxy in between": { more: { "x-forwarded-for": "10.0.0.1" } },
  "a browser": { more: { "sec-fetch-mode": "websocket" } },
  "a foreign origin": { more: { origin: "https://evil.test" } },
  "another path": { path: "/other" },
};

async function dial(at: TestTeamchat, given: Given) {
  const gateway = `127.0.0.1:${at.teamchat.register.port}`;
  const key = await given.key?.() ?? at.keys.bea;
  assert.ok(key !== undefined);
  const stated = {
    agent: "bea",
    owner: BEA_OWNER,
    gateway,
    nonce: crypto.randomUUID(),
    ...given.stated,
  };
  const token = await signRegistration(stated, key, at.clock.now() + (given.offsetMs ?? 0));
  const header = given.header === undefined ? `Bearer ${token}` : given.header(token);
  const headers = { ...given.more, ...defined({ authorization: header }) };
  const connect = () =>
    at.withoutClock(connectBare(`ws://${gateway}${given.path ?? "/register"}`, { headers }));
  return { connect };
}

for (const [name, given] of Object.entries(REFUSED)) {
  test(`a registration is refused: ${name}`, async (at) => {
    const fault = await (await dial(at, given)).connect().catch((thrown: unknown) => thrown);
    assert.ok(fault instanceof UpgradeFault, String(fault));
    // A caller without any right gets "not found".
    const words = given.told === undefined ? "" : `: ${given.told}`;
    const wanted = fault.status === 404 ? "not found\n" : `not authorized${words}\n`;
    assert.equal(fault.text, wanted);
    assert.equal(refusalReason(fault.text), given.told);
    assert.equal(at.teamchat.metrics.value("registers", { result: "accepted", reason: "" }), 0);
  });
}

test("a token that was used does not open a second connection", async (at) => {
  const { connect } = await dial(at, {});
  const first = await connect();
  await assert.rejects(connect());
  first.connection.terminate();
  await at.withoutClock(first.closed);
});

test("a register frame that names another agent than the token ends the connection", async (at) => {
  const client = await (await dial(at, {})).connect();
  client.send({ type: "register", user_email: "", agent: "cal" });
  assert.equal((await at.withoutClock(client.closed)).code, 1008);
});

test("a revoked key ends its connection within a second", async (at) => {
  const agent = await at.agent();
  await at.host.files.write(pathsUnder("/r").dialKeys, JSON.stringify({ bea: [] }));
  await at.clock.advance(1_000);
  assert.equal((await at.withoutClock(agent.closed)).code, 1008);
  await assert.rejects(at.agent());
});
