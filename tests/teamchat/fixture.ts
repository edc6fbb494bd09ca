/**
 * A real team-chat gateway with the kit, for tests: a memory disk, a fake clock, requests to the
 * platform in memory, its own listeners on loopback. Also a scripted agent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type DialKey, generateDialKey } from "core/dial/proof.ts";
import { pathsUnder } from "core/paths.ts";
import { signRegistration } from "core/teamchat/registration.ts";
import { readTeamchatConfig } from "teamchat/config.ts";
import { startTeamchat, type Teamchat } from "teamchat/teamchat.ts";
import { type FakeClock, settle } from "tests/fakes/clock.ts";
import { type BareClient, connectBare } from "tests/support/gateway_fixture.ts";
import { APP_ID, APP_SECRET, type ConnectorKit, TENANT } from "tests/teamchat/connector/kit.ts";
import { type KitHost, kitHost, type KitHostOptions } from "tests/teamchat/kit_host.ts";

/** The owners of every test. */
export const BEA_OWNER = "00000000-0000-4000-8000-0000000000be";
export const CAL_OWNER = "00000000-0000-4000-8000-0000000000ca";
export const AGENTS = { [BEA_OWNER]: "bea", [CAL_OWNER]: "cal" } as const;
export const CLOUD_PATH = "/etc/cloud.yaml";

/** Payload of `approval_asked` for a call that deletes something. */
export const RESET_ASKED = {
  approval_id: "a1",
  mcp: "git",
  version: "1",
  tool: "git_reset",
  digest: "d1",
  arguments: { hard: true },
  origin: "direct",
  is_destructive: true,
  expires: 1,
} as const;

/** A running gateway, its kit, and functions to control them. */
export interface TestTeamchat extends KitHost, AsyncDisposable {
  readonly teamchat: Teamchat;
  readonly clock: FakeClock;
  readonly url: string;
  readonly keys: Readonly<Record<string, DialKey>>;
  /** Waits for a promise without advancing the clock; timers that are due now still run. */
  withoutClock<T>(work: Promise<T>): Promise<T>;
  /**
   * Advances the clock in steps until `test` holds; fails after an hour of its time. Longer steps
   * save checks between timers that are far apart.
   */
  until(test: () => boolean, stepMs?: number): Promise<void>;
  /** Posts an activity with a good token, or as `options` states. */
  post(activity: unknown, options?: PostOptions): Promise<PostAnswer>;
  /** Makes an activity of bea's owner. */
  message(text: string, more?: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Connects as an agent of its owner, or of `owner`, without sending a register frame. */
  dial(name: "bea" | "cal", owner?: string): Promise<BareClient>;
  /** Registers a scripted agent. */
  agent(name?: "bea" | "cal", frame?: Readonly<Record<string, unknown>>): Promise<TestAgent>;
  restart(): Promise<TestTeamchat>;
}

/** The gateway's answer. */
export interface PostAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Options of a post. */
export interface PostOptions {
  /** The whole header; undefined for a good token, null for no header. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body, sent unchanged. */
  readonly raw?: BodyInit;
}

/** An agent that the test scripts. */
export interface TestAgent extends BareClient {
  /** Accepts and starts the next turn. */
  begin(): Promise<{ readonly turnId: string; readonly text: string }>;
  delta(turnId: string, text: string, offset: number, messageId?: string): void;
  event(kind: string, turnId: string, payload: Readonly<Record<string, unknown>>): void;
  /** Sends a whole message and ends the turn. */
  answer(turnId: string, text: string): void;
}

let messageNumber = 0;

/** Options of a test gateway. */
export interface TeamchatOptions extends KitHostOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** An existing machine and platform to start on. */
  readonly machine?: KitHost;
  readonly keys?: Readonly<Record<string, DialKey>>;
  /**
   * The file that names the owners once the gateway first reads it; the settings name them at
   * start.
   */
  readonly agentsFile?: string;
}

/**
 * Registers a test with its own gateway. The test fails on leaks and on any violation of the
 * platform's rules. `options` may be a function.
 */
export function teamchatTest(
  name: string,
  fn: (at: TestTeamchat) => Promise<void>,
  options: TeamchatOptions | (() => Promise<TeamchatOptions>) = {},
): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const given = typeof options === "function" ? await options() : options;
      await using at = await startTestTeamchat(given);
      await fn(at);
      assert.deepEqual(at.kit.violations(), []);
    },
  });
}

/** Starts a gateway in cloud mode with its own kit. */
export async function startTestTeamchat(options: TeamchatOptions = {}): Promise<TestTeamchat> {
  const { host, kit, fill, spoil } = options.machine ?? await kitHost(options);
  const keys = options.keys ?? {
    bea: (await generateDialKey()).key,
    cal: (await generateDialKey()).key,
  };
  const listed = Object.entries(keys).map(([name, { publicKey }]) => [name, [publicKey]]);
  const paths = pathsUnder("/r");
  await host.files.ensureDir(paths.etc);
  await host.files.write(paths.dialKeys, JSON.stringify(Object.fromEntries(listed)));
  const config = readTeamchatConfig({
    FLEETCTL_ROOT: "/r",
    TEAMS_APP_ID: APP_ID,
    TEAMS_APP_PASSWORD: APP_SECRET,
    TEAMS_APP_TENANT_ID: TENANT,
    TEAMS_AGENTS: JSON.stringify(AGENTS),
    TEAMS_CLOUD: CLOUD_PATH,
    TEAMS_LISTEN: "127.0.0.1:0",
    TEAMS_REGISTER_LISTEN: "127.0.0.1:0",
    ...options.env,
  }, { privateAddress: undefined, cloudFile: kit.cloudFile, agentsFile: options.agentsFile });
  if (!config.ok) throw new Error(config.error.details.join("; "));
  const teamchat = await startTeamchat(config.value, host, { version: "1.2.3", hostNames: [] });
  return handsOn({ teamchat, host, kit, fill, spoil, keys }, options);
}

function handsOn(
  at: Pick<TestTeamchat, "teamchat" | "keys"> & KitHost,
  options: TeamchatOptions,
): TestTeamchat {
  const { teamchat, kit, host, fill, spoil, keys } = at;
  const { clock } = host;
  const url = `http://127.0.0.1:${teamchat.messages?.port}/api/messages`;
  const withoutClock = <T>(work: Promise<T>) => stillWith(clock, work);
  const dial: TestTeamchat["dial"] = async (
    name,
    owner = name === "bea" ? BEA_OWNER : CAL_OWNER,
  ) => {
    const gateway = `127.0.0.1:${teamchat.register.port}`;
    const key = keys[name];
    if (key === undefined) throw new Error(`no key of ${name}`);
    const claim = { agent: name, owner, gateway, nonce: crypto.randomUUID() };
    const authorization = `Bearer ${await signRegistration(claim, key, clock.now())}`;
    return await withoutClock(
      connectBare(`ws://${gateway}/register`, { headers: { authorization } }),
    );
  };
  return {
    ...at,
    clock,
    url,
    withoutClock,
    until: (test, stepMs) => untilWith(clock, test, stepMs),
    message: (text, more = {}) => messageOf(kit, { text, ...more }),
    post: async (activity, how = {}) => {
      const serviceUrl = (activity as { serviceUrl?: unknown })?.serviceUrl;
      const own = how.authorization === undefined
        ? `Bearer ${await kit.keys.token(String(serviceUrl ?? kit.serviceUrl))}`
        : how.authorization;
      const response = await withoutClock(fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(own === null ? {} : { authorization: own }),
          ...how.headers,
        },
        body: how.raw ?? JSON.stringify(activity),
      }));
      const { status, headers } = response;
      return { status, headers, text: await withoutClock(response.text()) };
    },
    dial,
    agent: async (name = "bea", frame = {}) =>
      await withoutClock(agentOf(await dial(name), name, frame)),
    restart: async () => {
      await withoutClock(teamchat.close());
      return await startTestTeamchat({ ...options, machine: { host, kit, fill, spoil }, keys });
    },
    [Symbol.asyncDispose]: () => withoutClock(teamchat.close()),
  };
}

/** Registers and returns the scripted agent. */
export async function agentOf(
  client: BareClient,
  name: string,
  frame: Readonly<Record<string, unknown>> = {},
): Promise<TestAgent> {
  client.send({ type: "register", user_email: "", agent: name, epoch: `e-${name}`, ...frame });
  const registered = await client.next("registered");
  let seq = Number(registered.acked_seq);
  const event: TestAgent["event"] = (kind, turnId, payload) => {
    client.send({ type: "event", event: { seq: ++seq, at: 1, turn_id: turnId, kind, payload } });
  };
  return {
    ...client,
    event,
    begin: async () => {
      const turn = await client.next("turn");
      const turnId = String(turn.turn_id);
      client.send({ type: "turn_accepted", turn_id: turnId });
      event("turn_started", turnId, {});
      return { turnId, text: String(turn.text) };
    },
    delta: (turnId, text, offset, messageId = "m1") => {
      const payload = { message_id: messageId, text, offset };
      client.send({ type: "preview", event: { turn_id: turnId, kind: "text_delta", payload } });
    },
    answer: (turnId, text) => {
      event("message", turnId, { message_id: "m1", role: "assistant", text });
      event("turn_ended", turnId, { outcome: "completed" });
    },
  };
}

/** A message of bea's owner in their personal chat. */
export function messageOf(
  kit: Pick<ConnectorKit, "serviceUrl">,
  more: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const number = ++messageNumber;
  return {
    type: "message",
    id: `${1_700_000_000_000 + number}`,
    timestamp: "2026-01-01T00:00:00.000Z",
    channelId: "msteams",
    serviceUrl: kit.serviceUrl,
    from: { id: "29:bea-owner", name: "Bea's owner", aadObjectId: BEA_OWNER },
    recipient: { id: `28:${APP_ID}`, name: "agent" },
    conversation: { id: "a:bea", conversationType: "personal", tenantId: TENANT },
    channelData: { tenant: { id: TENANT } },
    text: "hello",
    textFormat: "plain",
    ...more,
  };
}

/** The texts of a conversation, by default that of bea's owner. */
export function textsIn(at: Pick<TestTeamchat, "kit">, id = "a:bea"): readonly string[] {
  return at.kit.conversation(id).messages.map(({ text }) => text);
}

/** Waits without advancing the clock; timers that are due now still run. */
export async function stillWith<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isDone = false;
  const finish = () => {
    isDone = true;
  };
  work.then(finish, finish);
  while (!isDone) await clock.advance(0);
  return await work;
}

/** An hour of the clock. */
const PATIENCE_MS = 3_600_000;

/** Advances the clock in steps until `test` holds. */
export async function untilWith(
  clock: FakeClock,
  test: () => boolean,
  stepMs = 500,
): Promise<void> {
  const end = clock.monotonic() + PATIENCE_MS;
  while (!test()) {
    if (clock.monotonic() > end) throw new Error("it did not happen within an hour");
    // Let pending loopback traffic arrive first.
    for (let turn = 0; turn < 3 && !test(); turn++) await settle();
    if (!test()) await clock.advance(stepMs);
  }
}
