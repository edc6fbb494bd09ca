/**
 * A real team-chat gateway against the kit, for tests: memory for a disk, a clock in the test's
 * hands, requests to the platform in memory, its own listeners on loopback. And an agent by hand.
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

/** Owners of every test. */
export const BEA_OWNER = "00000000-0000-4000-8000-0000000000be";
export const CAL_OWNER = "00000000-0000-4000-8000-0000000000ca";
export const AGENTS = { [BEA_OWNER]: "bea", [CAL_OWNER]: "cal" } as const;
export const CLOUD_PATH = "/etc/cloud.yaml";

/** A running gateway, its kit, and hands to move it. */
export interface TestTeamchat extends KitHost, AsyncDisposable {
  readonly teamchat: Teamchat;
  readonly clock: FakeClock;
  readonly url: string;
  readonly keys: Readonly<Record<string, DialKey>>;
  /** Waits for a promise while the clock stands still, but for what is due at once. */
  still<T>(work: Promise<T>): Promise<T>;
  /**
   * Moves the clock from timer to timer until `test` holds; fails after an hour of its time. Longer
   * steps spare the looks between timers that are far apart.
   */
  until(test: () => boolean, stepMs?: number): Promise<void>;
  /** Posts an activity with a good token, or with what `options` say. */
  post(activity: unknown, options?: PostOptions): Promise<PostAnswer>;
  /** An activity of bea's owner. */
  message(text: string, more?: Readonly<Record<string, unknown>>): Record<string, unknown>;
  /** Connects as an agent of its owner, or of `owner`; its register frame is still to come. */
  dial(name: "bea" | "cal", owner?: string): Promise<BareClient>;
  /** Registers an agent by hand. */
  agent(name?: "bea" | "cal", frame?: Readonly<Record<string, unknown>>): Promise<TestAgent>;
  restart(): Promise<TestTeamchat>;
}

/** What was answered. */
export interface PostAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** How to post. */
export interface PostOptions {
  /** The whole header; undefined for a good token, null for none. */
  readonly authorization?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body as it is. */
  readonly raw?: BodyInit;
}

/** An agent in the hands of a test. */
export interface TestAgent extends BareClient {
  /** The next turn, accepted and begun. */
  begin(): Promise<{ readonly turnId: string; readonly text: string }>;
  delta(turnId: string, text: string, offset: number, messageId?: string): void;
  event(kind: string, turnId: string, payload: Readonly<Record<string, unknown>>): void;
  /** Sends a whole message and ends the turn. */
  answer(turnId: string, text: string): void;
}

let messageNumber = 0;

/** How to start one. */
export interface TeamchatOptions extends KitHostOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** A machine and its platform that were there before. */
  readonly machine?: KitHost;
  readonly keys?: Readonly<Record<string, DialKey>>;
  /** The file that names the owners from the first look on; the settings name them at start. */
  readonly agentsFile?: string;
}

/**
 * A test with a gateway of its own, which leaks nothing and does nothing that the platform forbids;
 * `options` may be made by the test itself.
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

/** Starts a gateway in cloud mode against a kit of its own. */
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
  const still = <T>(work: Promise<T>) => stillWith(clock, work);
  const dial: TestTeamchat["dial"] = async (
    name,
    owner = name === "bea" ? BEA_OWNER : CAL_OWNER,
  ) => {
    const gateway = `127.0.0.1:${teamchat.register.port}`;
    const key = keys[name];
    if (key === undefined) throw new Error(`no key of ${name}`);
    const claim = { agent: name, owner, gateway, nonce: crypto.randomUUID() };
    const authorization = `Bearer ${await signRegistration(claim, key, clock.now())}`;
    return await still(connectBare(`ws://${gateway}/register`, { headers: { authorization } }));
  };
  return {
    ...at,
    clock,
    url,
    still,
    until: (test, stepMs) => untilWith(clock, test, stepMs),
    message: (text, more = {}) => messageOf(kit, { text, ...more }),
    post: async (activity, how = {}) => {
      const serviceUrl = (activity as { serviceUrl?: unknown })?.serviceUrl;
      const own = how.authorization === undefined
        ? `Bearer ${await kit.keys.token(String(serviceUrl ?? kit.serviceUrl))}`
        : how.authorization;
      const response = await still(fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          ...(own === null ? {} : { authorization: own }),
          ...how.headers,
        },
        body: how.raw ?? JSON.stringify(activity),
      }));
      const { status, headers } = response;
      return { status, headers, text: await still(response.text()) };
    },
    dial,
    agent: async (name = "bea", frame = {}) => await still(agentOf(await dial(name), name, frame)),
    restart: async () => {
      await still(teamchat.close());
      return await startTestTeamchat({ ...options, machine: { host, kit, fill, spoil }, keys });
    },
    [Symbol.asyncDispose]: () => still(teamchat.close()),
  };
}

/** Registers and gives the test its hands. */
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

/** The texts of a conversation, of bea's owner's own unless said otherwise. */
export function textsIn(at: Pick<TestTeamchat, "kit">, id = "a:bea"): readonly string[] {
  return at.kit.conversation(id).messages.map(({ text }) => text);
}

/** Waits while the clock stands, but for what is due at once. */
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

/** Moves the clock from timer to timer until `test` holds. */
export async function untilWith(
  clock: FakeClock,
  test: () => boolean,
  stepMs = 500,
): Promise<void> {
  const end = clock.monotonic() + PATIENCE_MS;
  while (!test()) {
    if (clock.monotonic() > end) throw new Error("it did not happen within an hour");
    // What is on its way over loopback comes first.
    for (let turn = 0; turn < 3 && !test(); turn++) await settle();
    if (!test()) await clock.advance(stepMs);
  }
}
