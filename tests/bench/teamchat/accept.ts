/**
 * The first part of the team-chat bench: messages are accepted and nothing else. There is no agent,
 * and the peer's bot does not reply. `autocannon` makes the load over 32 connections, as in the
 * definition of the goal.
 *
 * @module
 */

import { cpuMicros } from "tests/bench/login/load.ts";
import { PEER, PEER_NODES, type Round, tellRounds } from "tests/bench/teamchat/rounds.ts";
import { messageText, ownersOf, tokenOf } from "tests/bench/teamchat/requests.ts";
import { installLoad, LOAD_FOLDER } from "tests/bench/teamchat/load.ts";
import { startOwn, startSdk, type Subject } from "tests/teamchat/sdks/subjects.ts";
import type { World } from "tests/teamchat/sdks/world.ts";
import { TREE } from "tests/support/module_graph.ts";
import { NODE } from "tests/support/conformance/suite.ts";

const ROUNDS = 3;
const CONNECTIONS = 32;
const OWNERS = 5_000;
/**
 * More than the tokens that a gateway caches, so that cycling through them never hits the cache.
 */
const TOKENS = 4_500;
/**
 * A round ends at the first of these limits. Their sum stays below the about seventy thousand
 * messages that a receiver without a sender stores.
 */
const WARM_UP = { seconds: 5, most: 15_000, first: 1_700_000_000_000 };
const COUNTED = { seconds: 10, most: 45_000, first: 1_700_001_000_000 };

interface Way {
  readonly name: string;
  readonly start: () => Promise<Subject>;
  readonly tokens: readonly string[];
}

/** Prints the table; each round starts new processes and warms them up before it counts. */
export async function accepting(world: World): Promise<void> {
  await installLoad();
  const one = [await tokenOf(world)];
  const many = await Promise.all(Array.from({ length: TOKENS }, (_, n) => tokenOf(world, n)));
  const owners = ownersOf(OWNERS);
  const ways: readonly Way[] = [
    ...PEER_NODES.map(({ name, node }) => ({
      name,
      tokens: one,
      start: () => startSdk(PEER, world, { isEcho: false, node }),
    })),
    { name: "fleetctl-teamchat", start: () => startOwn(world, owners), tokens: one },
    {
      name: "fleetctl-teamchat-receiver, without a sender",
      start: () => startOwn(world, owners, { entry: "teamchat/receiver/main.ts" }),
      tokens: one,
    },
    {
      name: "fleetctl-teamchat, every token new",
      start: () => startOwn(world, owners),
      tokens: many,
    },
  ];
  const rounds = new Map<string, Round[]>(ways.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    // Run the round in alternating order, so that changes in the machine's load favour no subject.
    for (const way of round % 2 === 0 ? ways : ways.toReversed()) {
      rounds.get(way.name)?.push(await acceptOnce(world, way));
    }
  }
  tellRounds("accept", "requests", rounds);
}

async function acceptOnce(world: World, { name, start, tokens }: Way): Promise<Round> {
  const subject = await start();
  try {
    await load(world, subject, { ...WARM_UP, tokens });
    const before = cpuMicros([subject.pid]);
    const { answered, refused, seconds } = await load(world, subject, { ...COUNTED, tokens });
    if (refused > 0) throw new Error(`${name} took ${answered} messages and refused ${refused}`);
    return { rate: answered / seconds, cpu: (cpuMicros([subject.pid]) - before) / answered };
  } finally {
    await subject.stop();
  }
}

interface Loaded {
  readonly answered: number;
  readonly refused: number;
  readonly seconds: number;
}

async function load(
  world: World,
  { port }: Subject,
  of: {
    readonly seconds: number;
    readonly most: number;
    /** Number of the first message. */
    readonly first: number;
    readonly tokens: readonly string[];
  },
): Promise<Loaded> {
  const script = `${TREE}tests/bench/teamchat/load.cjs`;
  const child = new Deno.Command(NODE, {
    args: [script, LOAD_FOLDER],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(
    new TextEncoder().encode(
      JSON.stringify({
        ...of,
        port,
        connections: CONNECTIONS,
        owners: OWNERS,
        message: template(world),
      }),
    ),
  );
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("the load ended with a fault");
  return JSON.parse(new TextDecoder().decode(stdout)) as Loaded;
}

/** Returns a message with placeholders for the parts that differ. */
function template(world: World): string {
  const message = JSON.parse(messageText(world, 0)) as Record<string, unknown>;
  return JSON.stringify({ ...message, id: "{id}" })
    .replaceAll("owner-0", "owner-{n}").replaceAll("000000000000", "{owner}");
}
