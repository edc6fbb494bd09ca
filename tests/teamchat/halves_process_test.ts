/**
 * The gateway in two processes: the receiving half takes and keeps, the sending half holds the secret.
 * Either may be away or killed at any point: what was acknowledged reaches the agent once, and its answer
 * comes back once. Each runs with the permission set that a host has. `FLEETCTL_ROUNDS` sets how often they are killed.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type ServedKit, serveKit } from "tests/teamchat/connector/kit.ts";
import { APP_SECRET } from "tests/teamchat/connector/kit.ts";
import { messageOf, type TestAgent } from "tests/teamchat/fixture.ts";
import {
  deliver,
  makeTeamchatRoot,
  startTeamchatProcess,
  type TeamchatProcess,
  type TeamchatRoot,
} from "tests/teamchat/gateway_process.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 6);

/** Both halves of one gateway under one root. */
class Halves {
  readonly #at: TeamchatRoot;
  sender: TeamchatProcess | undefined;
  receiver: TeamchatProcess | undefined;

  constructor(at: TeamchatRoot) {
    this.#at = at;
  }

  async startSender(): Promise<void> {
    this.sender = await startTeamchatProcess({ ...this.#at.env, TEAMS_RECEIVER: "apart" }, {
      set: { name: "teamchat", file: this.#at.permissions },
    });
  }

  async startReceiver(): Promise<void> {
    const { TEAMS_APP_PASSWORD: _, TEAMS_REGISTER_LISTEN: __, ...env } = this.#at.env;
    this.receiver = await startTeamchatProcess(env, {
      entry: "teamchat/receiver/main.ts",
      set: { name: "teamchat-receiver", file: this.#at.permissions },
    });
  }

  get url(): string {
    return `http://${this.receiver?.ready.messages}/api/messages`;
  }

  async health(): Promise<Record<string, unknown>> {
    return await (await fetch(`http://${this.receiver?.ready.messages}/healthz`)).json();
  }

  /** Waits until the sending half has connected to the receiving one. */
  async joined(): Promise<void> {
    while (((await this.health()).problems as string[]).includes("sender-away")) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async register(openTurns: readonly string[] = []): Promise<TestAgent> {
    return await this.#at.register(String(this.sender?.ready.register), openTurns);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sender?.kill();
    await this.receiver?.kill();
    await Deno.remove(this.#at.root, { recursive: true });
  }
}

function test(name: string, fn: (halves: Halves, served: ServedKit) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      await using served = await serveKit({ rules: { streamGapMs: 0 } });
      await using halves = new Halves(await makeTeamchatRoot(served.kit));
      await fn(halves, served);
    },
  });
}

async function leave(agent: TestAgent): Promise<void> {
  agent.connection.terminate();
  await agent.closed;
}

/** The answer as the owner reads it, whole and once. */
function answersOf({ kit }: ServedKit): readonly string[] {
  return kit.conversation("a:bea").messages.map(({ text }) => text);
}

test(
  "a message goes through both halves, and only one of them has the secret",
  async (halves, served) => {
    await halves.startReceiver();
    await halves.startSender();
    await halves.joined();
    const agent = await halves.register();
    assert.equal(
      await deliver(halves.url, messageOf(served.kit, { text: "hello" }), served.kit),
      202,
    );
    const turn = await agent.begin();
    assert.equal(turn.text, "hello");
    agent.answer(turn.turnId, "and back");
    assert.equal((await agent.next("delivery")).outcome, "delivered");
    assert.deepEqual(answersOf(served), ["and back"]);
    const health = await halves.health();
    assert.deepEqual(health.problems, []);
    assert.deepEqual([health.spooled, health.agents], [0, { known: 1, connected: 1 }]);
    const metrics = await (await fetch(halves.url.replace("api/messages", "metrics"))).text();
    assert.match(metrics, /^fleetctl_teamchat_receiver_tokens_total\{.*\} 1$/m);
    assert.match(metrics, /^fleetctl_teamchat_deliveries_total\{outcome="delivered"\} 1$/m);
    const environment = await Deno.readTextFile(`/proc/${halves.receiver?.pid}/environ`);
    assert.ok(!environment.includes(APP_SECRET) && !environment.includes("TEAMS_APP_PASSWORD"));
    await leave(agent);
  },
);

test(
  "without the sending half messages are kept, and presses are not taken",
  async (halves, served) => {
    const { kit } = served;
    await halves.startReceiver();
    assert.equal(await deliver(halves.url, messageOf(kit, { text: "one" }), kit), 202);
    assert.equal(await deliver(halves.url, messageOf(kit, { text: "two" }), kit), 202);
    const press = messageOf(kit, { type: "invoke", name: "adaptiveCard/action", value: {} });
    assert.equal(await deliver(halves.url, press, kit), 503);
    const health = await halves.health();
    assert.deepEqual([health.problems, health.spooled], [["sender-away"], 2]);
    await halves.receiver?.kill();
    await halves.startReceiver();
    await halves.startSender();
    const agent = await halves.register();
    for (const text of ["one", "two"]) {
      const turn = await agent.begin();
      assert.equal(turn.text, text);
      agent.answer(turn.turnId, `answer to ${text}`);
      assert.equal((await agent.next("delivery")).outcome, "delivered");
    }
    assert.deepEqual(answersOf(served), ["answer to one", "answer to two"]);
    await halves.joined();
    assert.equal(await deliver(halves.url, press, kit), 200);
    await leave(agent);
  },
);

test("a delivery that comes again makes no second turn", async (halves, served) => {
  const { kit } = served;
  await halves.startReceiver();
  const message = messageOf(kit, { text: "once" });
  for (let time = 0; time < 3; time++) assert.equal(await deliver(halves.url, message, kit), 202);
  await halves.startSender();
  const agent = await halves.register();
  const turn = await agent.begin();
  agent.answer(turn.turnId, "answer");
  await agent.next("delivery");
  assert.equal(await deliver(halves.url, message, kit), 202);
  assert.equal(await deliver(halves.url, messageOf(kit, { text: "other" }), kit), 202);
  assert.equal((await agent.begin()).text, "other");
  await leave(agent);
});

/** Which half dies, and when: after the 202, or after the agent began. */
const KILLS = [
  ["receiver", "accepted"],
  ["sender", "accepted"],
  ["sender", "begun"],
  ["receiver", "begun"],
  ["both", "accepted"],
  ["both", "begun"],
] as const;

test("killed halves lose nothing that was accepted, and double nothing", async (halves, served) => {
  const { kit } = served;
  const ran = new Map<string, string>();
  await halves.startReceiver();
  await halves.startSender();
  const restart = async (which: "receiver" | "sender" | "both") => {
    if (which !== "sender") await halves.receiver?.kill();
    if (which !== "receiver") await halves.sender?.kill();
    if (which !== "sender") await halves.startReceiver();
    if (which !== "receiver") await halves.startSender();
  };
  const begin = async (agent: TestAgent, text: string) => {
    const turn = await agent.begin();
    assert.equal(turn.text, text);
    assert.ok(!ran.has(turn.turnId), "a turn was handed out twice");
    ran.set(turn.turnId, text);
    await agent.next("ack");
    return turn.turnId;
  };
  for (let round = 0; round < ROUNDS; round++) {
    const [which, place] = KILLS[round % KILLS.length] ?? ["both", "accepted"];
    const text = `turn ${round}`;
    const message = messageOf(kit, { text });
    assert.equal(await deliver(halves.url, message, kit), 202);
    let turnId: string | undefined;
    let agent: TestAgent | undefined;
    if (place === "begun") {
      agent = await halves.register([...ran.keys()]);
      turnId = await begin(agent, text);
    }
    await restart(which);
    if (which !== "receiver" || agent === undefined) {
      await agent?.closed;
      agent = await halves.register([...ran.keys()]);
    }
    // The platform delivers again what it may not have had an answer to.
    assert.equal(await deliver(halves.url, message, kit), 202);
    turnId ??= await begin(agent, text);
    agent.answer(turnId, `answer to ${text}`);
    const told = await agent.next("delivery");
    assert.equal(told.outcome, "delivered");
    await leave(agent);
  }
  const wanted = Array.from({ length: ROUNDS }, (_, round) => `answer to turn ${round}`);
  assert.deepEqual(answersOf(served), wanted);
});
