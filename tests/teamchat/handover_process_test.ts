/**
 * The gateway in two processes: the receiver accepts and spools, the sender has the secret. Either
 * may be absent or killed at any point: an acknowledged message reaches the agent once, and its
 * answer comes back once. Each runs with the permission set of a host. `FLEETCTL_ROUNDS` sets the
 * number of kills.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { LINE } from "teamchat/reply/activities.ts";
import { APP_SECRET, type ServedKit } from "tests/teamchat/connector/kit.ts";
import { BEA_OWNER, CAL_OWNER, messageOf, type TestAgent } from "tests/teamchat/fixture.ts";
import { deliver, holdOf } from "tests/teamchat/gateway_process.ts";
import {
  leave,
  pairTest as test,
  type ReceiverAndSender,
} from "tests/teamchat/receiver_and_sender.ts";
import type { ReadyProcess } from "tests/support/ready_process.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 9);

/** The answer as the owner reads it, whole and once. */
function answersOf({ kit }: ServedKit): readonly string[] {
  return kit.conversation("a:bea").messages.map(({ text }) => text);
}

test(
  "a message passes receiver and sender, and only the sender has the secret",
  async (pair, served) => {
    await pair.startReceiver();
    await pair.startSender();
    await pair.joined();
    const agent = await pair.register();
    assert.equal(
      await deliver(pair.url, messageOf(served.kit, { text: "hello" }), served.kit),
      202,
    );
    const turn = await agent.begin();
    assert.equal(turn.text, "hello");
    agent.answer(turn.turnId, "and back");
    assert.equal((await agent.next("delivery")).outcome, "delivered");
    assert.deepEqual(answersOf(served), ["and back"]);
    const health = await pair.health();
    assert.deepEqual(health.problems, []);
    const agents = { known: 1, connected: 1, watched: true, digest: "316db8d0d497a646" };
    assert.deepEqual([health.spooled, health.agents], [0, agents]);
    const metrics = await (await fetch(pair.url.replace("api/messages", "metrics"))).text();
    assert.match(metrics, /^fleetctl_teamchat_receiver_tokens_total\{.*\} 1$/m);
    assert.match(metrics, /^fleetctl_teamchat_deliveries_total\{outcome="delivered"\} 1$/m);
    const environment = await Deno.readTextFile(`/proc/${pair.receiver?.pid}/environ`);
    assert.ok(!environment.includes(APP_SECRET) && !environment.includes("TEAMS_APP_PASSWORD"));
    await leave(agent);
  },
);

test(
  "without the sender messages are kept, and presses are refused",
  async (pair, served) => {
    const { kit } = served;
    await pair.startReceiver();
    assert.equal(await deliver(pair.url, messageOf(kit, { text: "one" }), kit), 202);
    assert.equal(await deliver(pair.url, messageOf(kit, { text: "two" }), kit), 202);
    const press = messageOf(kit, { type: "invoke", name: "adaptiveCard/action", value: {} });
    assert.equal(await deliver(pair.url, press, kit), 503);
    const health = await pair.health();
    assert.deepEqual([health.problems, health.spooled], [["sender-away"], 2]);
    await pair.receiver?.kill();
    await pair.startReceiver();
    await pair.startSender();
    const agent = await pair.register();
    for (const text of ["one", "two"]) {
      const turn = await agent.begin();
      assert.equal(turn.text, text);
      agent.answer(turn.turnId, `answer to ${text}`);
      assert.equal((await agent.next("delivery")).outcome, "delivered");
    }
    assert.deepEqual(answersOf(served), ["answer to one", "answer to two"]);
    await pair.joined();
    assert.equal(await deliver(pair.url, press, kit), 200);
    await leave(agent);
  },
);

test("a repeated delivery makes no second turn", async (pair, served) => {
  const { kit } = served;
  await pair.startReceiver();
  const message = messageOf(kit, { text: "once" });
  for (let time = 0; time < 3; time++) assert.equal(await deliver(pair.url, message, kit), 202);
  await pair.startSender();
  const agent = await pair.register();
  const turn = await agent.begin();
  agent.answer(turn.turnId, "answer");
  await agent.next("delivery");
  assert.equal(await deliver(pair.url, message, kit), 202);
  assert.equal(await deliver(pair.url, messageOf(kit, { text: "other" }), kit), 202);
  assert.equal((await agent.begin()).text, "other");
  await leave(agent);
});

test("a receiver that cannot reach the sender keeps its messages", async (pair, { kit }) => {
  await pair.startReceiver();
  assert.equal(await deliver(pair.url, messageOf(kit, { text: "kept" }), kit), 202);
  await pair.receiver?.kill("SIGTERM");
  assert.equal(await pair.hasSpool(), true);
});

test("a receiver hands its messages over before it stops", async (pair, served) => {
  const { kit } = served;
  await pair.startReceiver();
  await pair.startSender();
  await pair.joined();
  const pid = pair.sender?.pid ?? 0;
  Deno.kill(pid, "SIGSTOP");
  assert.equal(await deliver(pair.url, messageOf(kit, { text: "one" }), kit), 202);
  assert.equal(await deliver(pair.url, messageOf(kit, { text: "two" }), kit), 202);
  const stopping = pair.receiver?.kill("SIGTERM");
  Deno.kill(pid, "SIGCONT");
  await stopping;
  // An empty spool shows a following single process that nothing is left behind.
  assert.equal(await pair.hasSpool(), false);
  const agent = await pair.register();
  const first = await agent.begin();
  agent.answer(first.turnId, "1");
  assert.equal((await agent.begin()).text, "two");
  await leave(agent);
  // The sender's store also has nothing left to hand over.
  await pair.sender?.kill();
  await pair.startReceiver();
  assert.equal((await pair.health()).spooled, 0);
});

test("receiver and sender apply a new list of owners without a restart", async (pair, served) => {
  const { kit } = served;
  await pair.startReceiver();
  await pair.startSender();
  await pair.joined();
  const agent = await pair.register();
  const from = (owner: string, text: string) =>
    messageOf(kit, {
      text,
      from: { id: `29:${owner}`, aadObjectId: owner },
      conversation: { id: `a:${owner}`, conversationType: "personal" },
    });
  await pair.setOwners({ [BEA_OWNER]: "bea", [CAL_OWNER]: "bea" });
  assert.equal(await deliver(pair.url, from(CAL_OWNER, "I am new"), kit), 202);
  const turn = await agent.begin();
  assert.equal(turn.text, "I am new");
  agent.answer(turn.turnId, "welcome");
  assert.equal((await agent.next("delivery")).outcome, "delivered");
  await pair.setOwners({ [BEA_OWNER]: "bea" });
  assert.equal((await agent.closed).code, 1008);
  assert.equal(await deliver(pair.url, from(CAL_OWNER, "and gone"), kit), 202);
  const back = await pair.register();
  assert.equal(await deliver(pair.url, from(BEA_OWNER, "I stay"), kit), 202);
  assert.equal((await back.begin()).text, "I stay");
  await pair.setOwners("{");
  while (!((await pair.health()).problems as string[]).includes("agents-file-damaged")) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(await deliver(pair.url, from(BEA_OWNER, "and stay"), kit), 202);
  await leave(back);
});

test(
  "one owner's unanswered presses leave room for another's message",
  async (pair, served) => {
    const { kit } = served;
    await pair.startReceiver();
    await pair.setOwners({ [BEA_OWNER]: "bea", [CAL_OWNER]: "cal" });
    // A sender that is connected and silent.
    const silent = await pair.connectAsSender();
    const press = (n: number) =>
      messageOf(kit, { type: "invoke", name: "adaptiveCard/action", value: { n } });
    const count = TEAMCHAT_LIMITS.concurrentRequestsMax + 76;
    const presses = Array.from({ length: count }, (_, n) => deliver(pair.url, press(n), kit));
    const first = await Promise.race(presses);
    assert.equal(first, 429, "more of one owner are under way than may be");
    const other = messageOf(kit, {
      text: "cal's",
      from: { id: "29:cal", aadObjectId: CAL_OWNER },
      conversation: { id: "a:cal", conversationType: "personal" },
    });
    assert.equal(await deliver(pair.url, other, kit), 202);
    silent.close();
    const statuses = await Promise.all(presses);
    assert.deepEqual([...new Set(statuses)].sort(), [429, 503]);
  },
);

/** Where a kill happens, in the order of a turn's progress. */
const PLACES = [
  // The delivery is in progress, and the platform may have no answer yet.
  "posted",
  "accepted",
  // The agent has received the turn and sent nothing yet.
  "handed",
  "begun",
  // A request has reached the platform, which executed it or not.
  "opening before",
  "opening after",
  "answered",
  "final before",
  "final after",
] as const;
/** Which process is killed. Ten and nine have no common factor: ninety rounds cover every pair. */
const VICTIMS = [
  ...["both", "sender", "receiver", "both", "sender"] as const,
  ...["both", "receiver", "sender", "both", "receiver"] as const,
];
type Victim = typeof VICTIMS[number];
/** The start of the turn, its message and its end. */
const EVENTS_OF_A_TURN = 3;
const yieldOnce = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

test(
  "a killed receiver or sender loses nothing accepted, and duplicates nothing",
  async (pair, served) => {
    const rounds = new Rounds(pair, served);
    await pair.startReceiver();
    await pair.startSender();
    for (let round = 0; round < ROUNDS; round++) {
      const victim = VICTIMS[round % VICTIMS.length] ?? "both";
      const place = PLACES[round % PLACES.length] ?? "accepted";
      await inTime(rounds.run(round, victim, place), () => {
        const lines = (half: ReadyProcess | undefined) => half?.log().split("\n").slice(-12);
        return JSON.stringify(
          { round, victim, place, sender: lines(pair.sender), receiver: lines(pair.receiver) },
          undefined,
          1,
        );
      });
    }
    assert.equal(rounds.ran.size, ROUNDS);
  },
);

/** Fails after a minute with the known state, because a hanging round reports nothing itself. */
async function inTime(work: Promise<void>, delivery: () => string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`it hangs: ${delivery()}`)), 60_000);
  try {
    await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Rounds of one receiver and sender, and the memory of their agent. */
class Rounds {
  /** Turns that the agent accepted, with their texts: each runs once. */
  readonly ran = new Map<string, string>();
  /** The running turn, how much of its outbox was sent, and how many events came before it. */
  #turn: string | undefined;
  #said = 0;
  #base = 0;
  readonly #pair: ReceiverAndSender;
  readonly #kit: ServedKit["kit"];

  constructor(pair: ReceiverAndSender, { kit }: ServedKit) {
    this.#pair = pair;
    this.#kit = kit;
  }

  async run(round: number, victim: Victim, place: typeof PLACES[number]): Promise<void> {
    const [pair, kit] = [this.#pair, this.#kit];
    const where = `round ${round}: ${victim} killed, ${place}`;
    // Each round has its own chat: after a killed stream opening, the next stream in the same chat
    // is blocked for two minutes.
    const room = `a:bea-${round}`;
    const text = `turn ${round}`;
    const conversation = { id: room, conversationType: "personal" };
    const message = messageOf(kit, { text, conversation });
    const [what, when] = place.split(" ") as [string, "before" | "after" | undefined];
    const kind = what === "opening" ? "informative" : what;
    const held = when === undefined ? undefined : holdOf(kit, kind, when);
    const delivering = deliver(pair.url, message, kit).catch(() => undefined);
    // More turns of the event loop in each round: the kill comes before, during and after the
    // write.
    for (let turn = 0; place === "posted" && turn < round % 40; turn++) await yieldOnce();
    if (place !== "posted") assert.equal(await delivering, 202, where);
    let agent = await this.#reach(what, text);
    await held?.reached;
    await this.#kill(victim);
    await delivering;
    held?.release();
    // A fast answer may be delivered and reported before the kill.
    let delivery: Readonly<Record<string, unknown>> | undefined;
    if (victim !== "receiver" || agent === undefined) {
      await agent?.closed;
      delivery = agent?.frames.find((frame) =>
        frame.type === "delivery" && frame.turn_id === this.#turn
      );
      agent = await this.#register();
    }
    // The platform redelivers what may have had no answer.
    assert.equal(await deliver(pair.url, message, kit), 202, where);
    await this.#finish(agent, text);
    delivery ??= await agent.next("delivery");
    // A process that was killed while it reported an earlier turn reports it again.
    while (delivery.turn_id !== this.#turn) delivery = await agent.next("delivery");
    assert.equal(delivery.outcome, "delivered", where);
    const read = kit.conversation(room).messages.map(({ text }) => text);
    assert.deepEqual(read.filter((one) => one !== LINE), [`answer to ${text}`], where);
    this.#turn = undefined;
    this.#base += EVENTS_OF_A_TURN;
    await leave(agent);
  }

  /** Advances the turn up to the place; returns undefined if no agent takes part yet. */
  async #reach(what: string, text: string): Promise<TestAgent | undefined> {
    if (what === "posted" || what === "accepted") return undefined;
    const agent = await this.#register();
    const turn = await agent.next("turn");
    assert.equal(turn.text, text);
    if (what === "handed") return agent;
    this.#take(agent, turn);
    this.#say(agent, what === "answered" || what === "final" ? EVENTS_OF_A_TURN : 1);
    await agent.next("ack");
    return agent;
  }

  /**
   * Registers as an agent that remembers its running turn, and resumes from the gateway's state.
   */
  async #register(): Promise<TestAgent> {
    const agent = await this.#pair.register({
      open_turns: this.#turn === undefined ? [] : [this.#turn],
    });
    const registered = agent.frames.find(({ type }) => type === "registered");
    this.#said = Number(registered?.acked_seq) - this.#base;
    return agent;
  }

  #take(agent: TestAgent, turn: Readonly<Record<string, unknown>>): void {
    const turnId = this.#turn = String(turn.turn_id);
    assert.ok(!this.ran.has(turnId), `a turn was handed out twice: ${turn.text}`);
    this.ran.set(turnId, String(turn.text));
    agent.send({ type: "turn_accepted", turn_id: turnId });
  }

  /** Sends the turn's outbox up to a place, without what the gateway already has. */
  #say(agent: TestAgent, upTo: number): void {
    const turnId = this.#turn ?? "";
    const text = `answer to ${this.ran.get(turnId)}`;
    const outbox = [
      ["turn_started", {}],
      ["message", { message_id: "m1", role: "assistant", text }],
      ["turn_ended", { outcome: "completed" }],
    ] as const;
    for (const [kind, payload] of outbox.slice(this.#said, upTo)) {
      agent.event(kind, turnId, payload);
    }
    this.#said = Math.max(this.#said, upTo);
  }

  /** Runs the turn unless it ran, and sends the rest of its answer. */
  async #finish(agent: TestAgent, text: string): Promise<void> {
    if (this.#turn === undefined) {
      const known = agent.frames.find((frame) => frame.type === "turn" && frame.text === text);
      this.#take(agent, known ?? await agent.next("turn"));
    }
    this.#say(agent, EVENTS_OF_A_TURN);
  }

  async #kill(victim: Victim): Promise<void> {
    const pair = this.#pair;
    if (victim !== "sender") await pair.receiver?.kill();
    if (victim !== "receiver") await pair.sender?.kill();
    if (victim !== "sender") await pair.startReceiver();
    if (victim !== "receiver") await pair.startSender();
  }
}
