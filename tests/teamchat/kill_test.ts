/**
 * Repeated `kill -9` of the team-chat gateway between accept, hand-off and send: no accepted turn
 * is lost, none runs twice, and each answer is in the conversation once. `FLEETCTL_ROUNDS` sets the
 * number of rounds.
 *
 * @module
 */

import assert from "node:assert/strict";
import { LINE } from "teamchat/reply/activities.ts";
import { type ServedKit, serveKit } from "tests/teamchat/connector/kit.ts";
import { messageOf, type TestAgent } from "tests/teamchat/fixture.ts";
import {
  deliver,
  holdOf,
  makeTeamchatRoot,
  startTeamchatProcess,
  type TeamchatRoot,
} from "tests/teamchat/gateway_process.ts";
import type { ReadyProcess } from "tests/support/ready_process.ts";

const ROUNDS = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 12);
/**
 * Where the kill happens: after the answer 202, after the hand-off of the turn, after the start of
 * the answer, after its end; and while a request is at the platform, which executed it ("after") or
 * not ("before").
 */
const PLACES = [
  ...["accepted", "handed", "begun", "answered"] as const,
  ...["opening before", "opening after", "final before", "final after"] as const,
  ...["line before", "line after", "edit before", "edit after"] as const,
];
type Place = typeof PLACES[number];
/** The kit's names for these requests. */
const KINDS: Readonly<Record<string, string>> = { opening: "informative", line: "message" };

/** The agent's state, which survives every kill: its turns, and the events it sent for them. */
interface AgentMemory {
  readonly ran: Map<string, string>;
  readonly events: { readonly kind: string; readonly turnId: string; readonly payload: object }[];
}

Deno.test({
  name: "a killed gateway loses no accepted turn, runs none twice, and answers each once",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    await using served = await serveKit({ rules: { streamGapMs: 0 } });
    const root = await makeTeamchatRoot(served.kit);
    try {
      await runRounds(root, served);
    } finally {
      await Deno.remove(root.root, { recursive: true });
    }
  },
});

async function runRounds(root: TeamchatRoot, { kit }: ServedKit): Promise<void> {
  const memory: AgentMemory = { ran: new Map(), events: [] };
  const connect = (gateway: ReadyProcess) =>
    root.register(String(gateway.ready.register), { open_turns: [...memory.ran.keys()] });
  for (let round = 0; round < ROUNDS; round++) {
    const place = PLACES[round % PLACES.length] ?? "accepted";
    // Each round has its own chat: after a killed stream opening, the next stream in the same chat
    // is blocked for two minutes.
    const room = `a:bea-${round}`;
    const conversation = { id: room, conversationType: "personal" };
    const message = messageOf(kit, { text: `turn ${round}`, conversation });
    const start = () => startTeamchatProcess(root.env);
    await untilKilled(start, { place, message, connect, memory, kit });
    const gateway = await start();
    // The platform redelivers what had no answer, and sometimes what had one.
    assert.equal(await deliver(urlOf(gateway), message, kit), 202);
    const agent = await connect(gateway);
    await finish(agent, memory, `turn ${round}`);
    const turnId = [...memory.ran].find(([, text]) => text === `turn ${round}`)?.[0];
    let delivery = await agent.next("delivery");
    // A gateway that was killed while it reported an earlier turn reports it again.
    while (delivery.turn_id !== turnId) delivery = await agent.next("delivery");
    assert.equal(delivery.outcome, "delivered", `${place}: ${JSON.stringify(delivery)}`);
    const texts = kit.conversation(room).messages.map(({ text }) => text);
    const read = texts.filter((text) => text !== LINE);
    assert.deepEqual(read, [`answer to turn ${round}`], place);
    await gateway.kill();
    await agent.closed;
  }
  const wanted = Array.from({ length: ROUNDS }, (_, round) => `turn ${round}`);
  assert.deepEqual([...memory.ran.values()], wanted);
}

const urlOf = ({ ready }: ReadyProcess) => `http://${ready.messages}/api/messages`;

/** Advances a turn up to the place and kills the gateway there. */
async function untilKilled(
  start: () => Promise<ReadyProcess>,
  at: {
    readonly place: Place;
    readonly message: unknown;
    readonly connect: (gateway: ReadyProcess) => Promise<TestAgent>;
    readonly memory: AgentMemory;
    readonly kit: ServedKit["kit"];
  },
): Promise<void> {
  const [what, when] = at.place.split(" ") as [string, "before" | "after" | undefined];
  const gateway = await start();
  // Without a stream, the text is sent as an edit of a placeholder line.
  const isLine = what === "line" || what === "edit";
  const opening = isLine ? holdOf(at.kit, "informative", "before") : undefined;
  const held = when === undefined ? undefined : holdOf(at.kit, KINDS[what] ?? what, when);
  assert.equal(await deliver(urlOf(gateway), at.message, at.kit), 202);
  if (at.place === "accepted") return await gateway.kill();
  const agent = await at.connect(gateway);
  const turn = await agent.next("turn");
  const turnId = String(turn.turn_id);
  if (at.place !== "handed") {
    take(at.memory, turnId, String(turn.text));
    agent.send({ type: "turn_accepted", turn_id: turnId });
    agent.event("turn_started", turnId, {});
    await agent.next("ack");
  }
  if (at.place === "answered" || isLine || what === "final") {
    agent.answer(turnId, `answer to ${turn.text}`);
    await agent.next("ack");
  }
  await opening?.reached;
  if (!isLine) await held?.reached;
  await gateway.kill();
  await agent.closed;
  opening?.release();
  if (!isLine) return held?.release();
  const second = await start();
  await held?.reached;
  await second.kill();
  held?.release();
}

function take(memory: AgentMemory, turnId: string, text: string): void {
  assert.ok(!memory.ran.has(turnId), `turn ${turnId} was handed out twice and would run twice`);
  memory.ran.set(turnId, text);
}

/** Runs the turn unless it ran, and sends its answer unless the gateway has it. */
async function finish(agent: TestAgent, memory: AgentMemory, text: string): Promise<void> {
  const known = [...memory.ran].find(([, ran]) => ran === text)?.[0];
  if (known === undefined) {
    const turn = await agent.next("turn");
    take(memory, String(turn.turn_id), String(turn.text));
    agent.send({ type: "turn_accepted", turn_id: String(turn.turn_id) });
    agent.event("turn_started", String(turn.turn_id), {});
    return agent.answer(String(turn.turn_id), `answer to ${turn.text}`);
  }
  // An outbox resends from the gateway's state: the start is stored, the answer may be.
  const registered = agent.frames.find(({ type }) => type === "registered");
  if (Number(registered?.acked_seq) < 3 * memory.ran.size) agent.answer(known, `answer to ${text}`);
}
