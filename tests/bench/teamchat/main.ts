/**
 * `./dev bench teamchat`: our gateway beside the vendor's own host, `@microsoft/agents-hosting` on
 * Express, in one run: accepting, echoing through the connector, relaying to WebSocket agents at a steady
 * pace, and the memory of 5,000 agents. Ours writes to the disk before it accepts; the peer writes nothing.
 *
 * @module
 */

import { quantile } from "tests/bench/measure.ts";
import { cpuMicros, runLoad } from "tests/bench/login/load.ts";
import { connectAgents, type EchoAgents } from "tests/bench/teamchat/agents.ts";
import { installSdks, startOwn, startSdk, type Subject } from "tests/bench/teamchat/subjects.ts";
import { PUBLIC_ISSUER, startWorld, type World } from "tests/bench/teamchat/world.ts";
import { messageOf } from "tests/teamchat/fixture.ts";
import { TENANT } from "tests/teamchat/connector/keys.ts";

const PEER = "agents-hosting 1.8.1";
const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS = 32;
/** Messages and echoes before anything counts: the peer takes thousands until it is compiled. */
const WARM_UP = 10_000;
const WARM_ECHOES = 4_000;
const AGENTS = 5_000;
/** More than the tokens that a gateway remembers, so that asking in turn never finds one. */
const TOKENS = 4_500;
const encoder = new TextEncoder();

/** Runs the bench. */
export async function benchTeamchat(): Promise<void> {
  await installSdks();
  await using world = await startWorld();
  const token = await tokenOf(world);
  await accepting(world, token);
  console.log("\n| echo | echoes/s, median | CPU µs per echo, median |\n|---|---|---|");
  await echo(world, token);
  console.log(`\n${RELAY_HEAD}`);
  await relay(world, token);
  await memory(world);
}

function tokenOf(world: World, n = 0): Promise<string> {
  return world.keys.token(world.serviceUrl, { claims: { iss: PUBLIC_ISSUER, jti: String(n) } });
}

const ownerOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const conversationOf = (n: number) => `a:owner-${n}`;

function ownersOf(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [ownerOf(n), `agent-${n}`]));
}

/** A message of the `n`-th owner, as bytes of a whole request. */
function requestOf(
  world: World,
  of: { readonly n: number; readonly token: string; readonly text?: string },
): Uint8Array<ArrayBuffer> {
  const { n, token, text = "hello" } = of;
  const body = JSON.stringify(messageOf(world, {
    text,
    from: { id: `29:owner-${n}`, name: "Owner", aadObjectId: ownerOf(n) },
    conversation: { id: conversationOf(n), conversationType: "personal", tenantId: TENANT },
    entities: [{ type: "clientInfo", locale: "en-US", country: "US", platform: "Windows" }],
  }));
  return encoder.encode(
    `POST /api/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `authorization: Bearer ${token}\r\ncontent-length: ${
        encoder.encode(body).length
      }\r\n\r\n${body}`,
  );
}

interface Measured {
  readonly rate: number;
  readonly cpu: number;
}

function tell(name: string, rounds: readonly Measured[], base?: readonly Measured[]): void {
  const rate = quantile(rounds.map((round) => round.rate), 0.5);
  const cpu = quantile(rounds.map((round) => round.cpu), 0.5);
  const than = (of: (round: Measured) => number) => quantile((base ?? rounds).map(of), 0.5);
  const ratios = base === undefined ? ["", ""] : [
    ` (${(rate / than((one) => one.rate)).toFixed(1)} ×)`,
    ` (1/${(than((one) => one.cpu) / cpu).toFixed(1)})`,
  ];
  console.log(`| ${name} | ${rate.toFixed(0)}${ratios[0]} | ${cpu.toFixed(0)}${ratios[1]} |`);
}

async function accepting(world: World, token: string): Promise<void> {
  console.log("| accept | requests/s, median | CPU µs per request, median |\n|---|---|---|");
  const many = await Promise.all(Array.from({ length: TOKENS }, (_, n) => tokenOf(world, n)));
  await accept(world, [token], many);
}

/** Messages that are taken and nothing else: no agent is there, the peer's bot says nothing. */
async function accept(
  world: World,
  one: readonly string[],
  many: readonly string[],
): Promise<void> {
  const ways = [
    { name: `${PEER} on Express`, start: () => startSdk(PEER, world, false), tokens: one },
    { name: "fleetctl-teamchat", start: () => startOwn(world, ownersOf(AGENTS)), tokens: one },
    {
      name: "fleetctl-teamchat-receiver, which hands over to nobody",
      start: () => startOwn(world, ownersOf(AGENTS), { entry: "teamchat/receiver/main.ts" }),
      tokens: one,
    },
    {
      name: "fleetctl-teamchat, every token new",
      start: () => startOwn(world, ownersOf(AGENTS)),
      tokens: many,
    },
  ];
  const rounds = new Map<string, Measured[]>(ways.map(({ name }) => [name, []]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, start, tokens } of ways) {
      const subject = await start();
      let n = 0;
      const done = await runLoad({
        ...{ port: subject.port, path: "/", headers: {}, good: [200, 202] },
        next: () => requestOf(world, { n: n % AGENTS, token: tokens[n++ % tokens.length] ?? "" }),
      }, {
        ...{ pids: [subject.pid], connections: CONNECTIONS, seconds: SECONDS, warmUp: WARM_UP },
      });
      rounds.get(name)?.push({
        rate: done.requests / done.seconds,
        cpu: done.cpuMicros / done.requests,
      });
      await subject.stop();
    }
  }
  const [peer, ...own] = ways;
  const base = rounds.get(peer?.name ?? "");
  tell(peer?.name ?? "", base ?? []);
  for (const { name } of own) tell(name, rounds.get(name) ?? [], base);
}

/**
 * Every message is answered with its own words in one message; a conversation waits for its answer. The
 * peer does it in its own process with one request. Ours asks an agent over a WebSocket, stores each step,
 * and shows a line of progress which the answer then takes the place of: two requests.
 */
async function echo(world: World, token: string): Promise<void> {
  const rounds: { peer: Measured[]; own: Measured[] } = { peer: [], own: [] };
  for (let round = 0; round < ROUNDS; round++) {
    const peer = await startSdk(PEER, world, true);
    rounds.peer.push(await echoes(world, peer, token));
    await peer.stop();
    const own = await startOwn(world, ownersOf(ECHOES));
    const agents = await connectAgents(own, ECHOES, ownerOf);
    rounds.own.push(await echoes(world, own, token));
    agents.close();
    await own.stop();
  }
  tell(`${PEER} on Express`, rounds.peer);
  tell("fleetctl-teamchat, WebSocket agents", rounds.own, rounds.peer);
}

/** Conversations at once: so many that the platform's pace for one, which ours keeps, is no bound. */
const ECHOES = 400;

async function echoes(world: World, subject: Subject, token: string): Promise<Measured> {
  const waiting = new Map<string, () => void>();
  world.onMessage = (conversation) => waiting.get(conversation)?.();
  let isOver = false;
  let isCounting = false;
  let count = 0;
  let early = 0;
  const warm = Promise.withResolvers<void>();
  const room = async (n: number) => {
    const conversation = conversationOf(n);
    while (!isOver) {
      const answered = Promise.withResolvers<void>();
      waiting.set(conversation, answered.resolve);
      await post(subject, requestOf(world, { n, token }));
      const late = Promise.withResolvers<"late">();
      const timer = setTimeout(() => late.resolve("late"), 10_000);
      const end = await Promise.race([answered.promise, late.promise]);
      clearTimeout(timer);
      if (end === "late") continue;
      if (isCounting) count++;
      else if (++early >= WARM_ECHOES) warm.resolve();
    }
  };
  const rooms = Array.from({ length: ECHOES }, (_, n) => room(n));
  await warm.promise;
  const before = cpuMicros([subject.pid]);
  const started = performance.now();
  isCounting = true;
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 2_000));
  isCounting = false;
  const seconds = (performance.now() - started) / 1000;
  const used = cpuMicros([subject.pid]) - before;
  isOver = true;
  await Promise.all(rooms);
  await closeConnections();
  return { rate: count / seconds, cpu: used / count };
}

/** Connections that were used and are free. */
const free = new Map<number, Deno.Conn[]>();

async function closeConnections(): Promise<void> {
  for (const list of free.values()) for (const connection of list) connection.close();
  free.clear();
  await Promise.resolve();
}

/** Posts over a kept connection; resolves when it is answered. */
async function post(subject: Subject, request: Uint8Array): Promise<void> {
  const list = free.get(subject.port) ?? [];
  free.set(subject.port, list);
  const kept = list.pop();
  const connection = kept ?? await Deno.connect({ hostname: "127.0.0.1", port: subject.port });
  const buffer = new Uint8Array(16 * 1024);
  const read = await connection.write(request).then(() => connection.read(buffer))
    .catch(() => null);
  if (read === null && kept !== undefined) {
    // Closed by the subject because it was idle for too long, as servers do.
    connection.close();
    return await post(subject, request);
  }
  const text = new TextDecoder().decode(buffer.subarray(0, read ?? 0));
  if (!/^HTTP\/1.1 20[02]/.test(text)) throw new Error(text.slice(0, 300));
  list.push(connection);
}

const RELAY_HEAD =
  "| relay at 200 turns/s | ack ms p50 / p99 | message to answer ms p50 / p99 | CPU µs | " +
  "disk alone, ms p50 / p99 |\n|---|---|---|---|---|";
const RELAY_PER_SECOND = 200;
const RELAY_SECONDS = 15;
const RELAY_AGENTS = 600;

/** A steady 200 turns a second to 600 agents: how soon it is accepted, and how soon answered. */
async function relay(world: World, token: string): Promise<void> {
  const own = await startOwn(world, ownersOf(RELAY_AGENTS));
  const agents = await connectAgents(own, RELAY_AGENTS, ownerOf);
  const begun = new Map<string, number>();
  const acks: number[] = [];
  const answers: number[] = [];
  world.onMessage = (_conversation, text) => {
    const at = begun.get(text);
    if (at !== undefined) answers.push(performance.now() - at);
  };
  const total = RELAY_PER_SECOND * RELAY_SECONDS;
  const disk = probeDisk();
  const first = performance.now();
  const before = cpuMicros([own.pid]);
  const posts: Promise<void>[] = [];
  for (let turn = 0; turn < total; turn++) {
    const wait = first + turn * 1000 / RELAY_PER_SECOND - performance.now();
    if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
    const text = `turn ${turn}`;
    const request = requestOf(world, { n: turn % RELAY_AGENTS, token, text });
    const at = performance.now();
    begun.set(text, at);
    posts.push(post(own, request).then(() => void acks.push(performance.now() - at)));
  }
  await Promise.all(posts);
  for (let waited = 0; waited < 10_000 && answers.length < total; waited += 100) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const cpu = (cpuMicros([own.pid]) - before) / total;
  const both = (list: readonly number[]) =>
    `${quantile(list, 0.5).toFixed(1)} / ${quantile(list, 0.99).toFixed(1)}`;
  const name = `fleetctl-teamchat, ${answers.length} of ${total} answered`;
  const alone = both(await disk.stop());
  console.log(`| ${name} | ${both(acks)} | ${both(answers)} | ${cpu.toFixed(0)} | ${alone} |`);
  agents.close();
  await closeConnections();
  await own.stop();
}

/**
 * Writes a page to the same disk twenty times a second and waits for it: no acknowledgement of what is
 * stored can be quicker than that.
 */
function probeDisk(): { stop(): Promise<readonly number[]> } {
  const took: number[] = [];
  let isOver = false;
  const page = new Uint8Array(4_096);
  const running = (async () => {
    const path = await Deno.makeTempFile({ prefix: "ft-" });
    using file = await Deno.open(path, { write: true });
    while (!isOver) {
      const begun = performance.now();
      await file.write(page);
      await file.syncData();
      took.push(performance.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await Deno.remove(path);
    return took;
  })();
  return {
    stop: () => {
      isOver = true;
      return running;
    },
  };
}

async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** Only accepting, ours and the peer's. */
export async function benchTeamchatAccept(): Promise<void> {
  await installSdks();
  await using world = await startWorld();
  await accepting(world, await tokenOf(world));
}

/** Only echoes, ours and the peer's. */
export async function benchTeamchatEcho(): Promise<void> {
  await installSdks();
  await using world = await startWorld();
  console.log("| echo | echoes/s, median | CPU µs per echo, median |\n|---|---|---|");
  await echo(world, await tokenOf(world));
}

/** Only the relay, at its steady pace. */
export async function benchTeamchatRelay(): Promise<void> {
  await using world = await startWorld();
  console.log(RELAY_HEAD);
  await relay(world, await tokenOf(world));
}

/** Only the last part: how soon many agents are there, and what each costs. */
export async function benchTeamchatAgents(): Promise<void> {
  await using world = await startWorld();
  await memory(world);
}

/** What a registered agent costs. */
async function memory(world: World): Promise<void> {
  const own = await startOwn(world, ownersOf(AGENTS));
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const before = await residentBytes(own.pid);
  const [started, used] = [performance.now(), cpuMicros([own.pid])];
  const agents: EchoAgents = await connectAgents(own, AGENTS, ownerOf);
  const seconds = ((performance.now() - started) / 1e3).toFixed(1);
  const each = ((cpuMicros([own.pid]) - used) / AGENTS).toFixed(0);
  console.log(`\n${AGENTS} agents registered in ${seconds} s, ${each} µs of CPU time each`);
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  const after = await residentBytes(own.pid);
  console.log(
    `\n${agents.connected()} registered agents: ${(before / 1e6).toFixed(0)} MB before, ${
      (after / 1e6).toFixed(0)
    } MB after, ${((after - before) / AGENTS / 1e3).toFixed(1)} kB an agent`,
  );
  agents.close();
  await own.stop();
}
