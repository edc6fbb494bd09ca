/**
 * Requests byte by byte at the public listener of both programs that have one. An ambiguous request
 * is refused, nothing refused is stored, no body is read before its token is valid, and no body
 * becomes the next request.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ListenAddress } from "core/ports/sockets.ts";
import type { Metrics } from "teamchat/metrics.ts";
import { readReceiverConfig } from "teamchat/receiver/config.ts";
import { startReceiver } from "teamchat/receiver/receiver.ts";
import type { FakeClock } from "tests/fakes/clock.ts";
import { APP_ID, type ConnectorKit, TENANT } from "tests/teamchat/connector/kit.ts";
import {
  AGENTS,
  CLOUD_PATH,
  messageOf,
  startTestTeamchat,
  stillWith,
} from "tests/teamchat/fixture.ts";
import { kitHost } from "tests/teamchat/kit_host.ts";
import { END_MS_MAX, sendText } from "tests/support/wire.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;

/** A program under attack. */
interface Subject {
  readonly at: ListenAddress;
  readonly clock: FakeClock;
  readonly kit: ConnectorKit;
  /** Returns the number of stored messages. */
  stored(): number;
  close(): Promise<void>;
}

const PROGRAMS: Readonly<Record<string, () => Promise<Subject>>> = {
  "the gateway": async () => {
    const gateway = await startTestTeamchat();
    const { teamchat, kit, clock } = gateway;
    return {
      at: teamchat.messages as ListenAddress,
      clock,
      kit,
      stored: () => storedBy(teamchat.metrics, "turn"),
      close: () => stillWith(clock, teamchat.close()),
    };
  },
  "the receiver": async () => {
    const { host, kit } = await kitHost();
    const { clock } = host;
    const config = readReceiverConfig({
      FLEETCTL_ROOT: "/r",
      TEAMS_APP_ID: APP_ID,
      TEAMS_APP_TENANT_ID: TENANT,
      TEAMS_AGENTS: JSON.stringify(AGENTS),
      TEAMS_CLOUD: CLOUD_PATH,
      TEAMS_LISTEN: "127.0.0.1:0",
    }, { cloudFile: kit.cloudFile });
    assert.ok(config.ok);
    const listenUnix = () => Promise.resolve({ close: () => Promise.resolve() });
    const receiver = await startReceiver(config.value, { ...host, listenUnix }, "1.2.3");
    return {
      at: receiver.messages,
      clock,
      kit,
      stored: () => storedBy(receiver.metrics, "spooled"),
      close: () => stillWith(clock, receiver.close()),
    };
  },
};

function storedBy(metrics: Metrics, result: string): number {
  return metrics.value("activities", { type: "message", result });
}

/** The variable parts of a row: a good token and a good message. */
interface Words {
  readonly token: string;
  readonly body: string;
}

/**
 * The bytes in pieces, and the expected statuses; `stored` is the expected number of stored
 * messages.
 */
interface Row {
  readonly name: string;
  readonly say: (words: Words) => readonly string[];
  readonly statuses: readonly number[];
  readonly stored?: number;
  /** Whether the connection serves another request. */
  readonly isKept?: boolean;
}

const post = (lines: readonly string[], body = "", target = "/api/messages") =>
  [`POST ${target} HTTP/1.1`, "host: a", "content-type: application/json", ...lines, "", body]
    .join("\r\n");
const bearer = ({ token }: Words) => `authorization: Bearer ${token}`;
const length = (body: string) => `content-length: ${new TextEncoder().encode(body).length}`;
const good = (words: Words, target?: string) =>
  post([bearer(words), length(words.body)], words.body, target);
const HEALTH = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

const REFUSED: readonly (readonly [name: string, lines: (words: Words) => readonly string[]])[] = [
  ["a length and chunks", (w) => [bearer(w), length(w.body), "transfer-encoding: chunked"]],
  ["two lengths", (w) => [bearer(w), length(w.body), "content-length: 3"]],
  ["the same length twice", (w) => [bearer(w), length(w.body), length(w.body)]],
  ["a length with a sign", (w) => [bearer(w), "content-length: +3"]],
  ["another coding before chunks", (w) => [bearer(w), "transfer-encoding: gzip, chunked"]],
  ["a space before the colon", (w) => [bearer(w).replace(":", " :"), length(w.body)]],
  ["a folded line", (w) => ["x: a\r\n b", bearer(w), length(w.body)]],
  ["a bare line feed", (w) => ["x: a\nb: c", bearer(w), length(w.body)]],
  ["a NUL", (w) => ["x: a\0b", bearer(w), length(w.body)]],
  ["two hosts", (w) => ["host: b", bearer(w), length(w.body)]],
];

const ROWS: readonly Row[] = [
  { name: "a valid message", say: (w) => [good(w)], statuses: [202], stored: 1, isKept: true },
  ...REFUSED.map(([name, lines]): Row => ({
    name,
    say: (w) => [post(lines(w), w.body)],
    statuses: [400],
  })),
  { name: "no host", say: (w) => [good(w).replace("host: a\r\n", "")], statuses: [400] },
  { name: "another protocol", say: () => ["\x16\x03\x01\x02"], statuses: [400] },
  {
    name: "two good authorizations",
    say: (w) => [post([bearer(w), bearer(w), length(w.body)], w.body)],
    statuses: [401],
    isKept: true,
  },
  {
    name: "a body that is announced with a bad token and never comes",
    say: () => [post(["authorization: Bearer a.b.c", "content-length: 200000"])],
    statuses: [401],
  },
  {
    name: "a body that waits for 100 Continue, with a bad token",
    say: () => [post(["authorization: Bearer a.b.c", "content-length: 9", "expect: 100-continue"])],
    statuses: [401],
  },
  {
    name: "a body that waits for 100 Continue",
    say: (w) => [post([bearer(w), length(w.body), "expect: 100-continue"]), w.body],
    statuses: [100, 202],
    stored: 1,
    isKept: true,
  },
  {
    name: "a request within a body that was not read",
    say: () => [post(["authorization: Bearer a.b.c", length(HEALTH)], HEALTH)],
    statuses: [401],
    isKept: true,
  },
  {
    name: "a request within a body that comes too late to be dropped",
    say: () => [post(["authorization: Bearer a.b.c", length(HEALTH)]), HEALTH],
    statuses: [401],
  },
  {
    name: "a body in chunks",
    say: (w) => [
      post([bearer(w), "transfer-encoding: chunked"]),
      ...[w.body.slice(0, 9), w.body.slice(9)].map(chunk),
      "0\r\n\r\n",
    ],
    statuses: [202],
    stored: 1,
    isKept: true,
  },
  {
    name: "invalid chunks",
    say: (w) => [post([bearer(w), "transfer-encoding: chunked"], "zz\r\n")],
    statuses: [400],
  },
  {
    name: "chunks over the limit",
    say: (w) => [post([bearer(w), "transfer-encoding: chunked"], chunk("x".repeat(300_000)))],
    statuses: [413],
  },
  {
    name: "a length over the limit",
    say: (w) => [post([bearer(w), "content-length: 262145"])],
    statuses: [413],
  },
  {
    name: "a body byte by byte",
    say: (w) => [post([bearer(w), length(w.body)]), ...w.body.match(/.{1,40}/g) ?? []],
    statuses: [202],
    stored: 1,
    isKept: true,
  },
  {
    name: "two requests at once",
    say: (w) => [good(w) + HEALTH],
    statuses: [202, 200],
    stored: 1,
    isKept: true,
  },
  { name: "a head of 17 KB", say: () => [post([`x: ${"x".repeat(17_000)}`])], statuses: [431] },
  {
    name: "a target with scheme and host",
    say: (w) => [good(w, "http://elsewhere/api/messages")],
    statuses: [202],
    stored: 1,
    isKept: true,
  },
  {
    name: "a query",
    say: (w) => [good(w, "/api/messages?a=b")],
    statuses: [202],
    stored: 1,
    isKept: true,
  },
  ...[
    "//api/messages",
    "/api/./messages",
    "/x/../api/messages",
    "/%61pi/messages",
  ]
    .map((target): Row => ({
      name: `the target ${target}`,
      say: (w) => [good(w, target)],
      statuses: [404],
      isKept: true,
    })),
  {
    name: "a fragment in the target",
    say: () => ["GET /api/messages#a HTTP/1.1\r\nhost: a\r\n\r\n"],
    statuses: [400],
    isKept: false,
  },
  {
    name: "an asterisk",
    say: () => ["OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n"],
    statuses: [400],
    isKept: false,
  },
  { name: "a tunnel", say: () => ["CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n"], statuses: [501] },
  {
    name: "an upgrade",
    say: () => [
      "GET /register HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ],
    statuses: [404],
    isKept: true,
  },
];

/** Returns the statuses in the output of a connection. */
function statusesOf(text: string): readonly number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/**
 * Sends the pieces in order, waiting for `100 Continue` where the first one expects it, then reads
 * the answers and tries one more request.
 */
async function converse(at: ListenAddress, pieces: readonly string[], count: number) {
  const peer = await Deno.connect(at);
  const timer = setTimeout(() => peer.close(), END_MS_MAX);
  let text = "";
  const readUntil = async (isEnough: () => boolean) => {
    const buffer = new Uint8Array(64 * 1024);
    while (!isEnough()) {
      const read = await peer.read(buffer).catch(() => null);
      if (read === null) return false;
      text += new TextDecoder("latin1").decode(buffer.subarray(0, read));
    }
    return true;
  };
  try {
    for (const [index, piece] of pieces.entries()) {
      // A refused connection may close before all pieces are sent.
      await sendText(peer, piece).catch(() => {});
      if (index === 0 && text === "" && /expect: 100/.test(piece)) {
        await readUntil(() => statusesOf(text).length > 0);
      } else await new Promise((resolve) => setTimeout(resolve));
    }
    await readUntil(() => statusesOf(text).length >= count);
    const before = statusesOf(text).length;
    await peer.write(new TextEncoder().encode(HEALTH)).catch(() => {});
    await readUntil(() => statusesOf(text).length > before);
    return {
      statuses: statusesOf(text).slice(0, before),
      isKept: statusesOf(text).length > before,
    };
  } finally {
    clearTimeout(timer);
    try {
      peer.close();
    } catch {
      // The timer has already closed it.
    }
  }
}

for (const [program, start] of Object.entries(PROGRAMS)) {
  Deno.test({
    name: `${program} interprets each request in exactly one way, or refuses it`,
    ...SAFE,
    fn: async (t) => {
      for (const row of ROWS) {
        await t.step(row.name, async () => {
          const subject = await start();
          try {
            const { kit, clock } = subject;
            const token = await kit.keys.token(kit.serviceUrl);
            const body = JSON.stringify(messageOf(kit));
            const { statuses, isKept } = await stillWith(
              clock,
              converse(subject.at, row.say({ token, body }), row.statuses.length),
            );
            assert.deepEqual(statuses, row.statuses);
            assert.equal(isKept, row.isKept ?? false, "another request on the connection");
            assert.equal(subject.stored(), row.stored ?? 0, "stored");
          } finally {
            await subject.close();
          }
        });
      }
    },
  });

  Deno.test({
    name: `${program} allows ten seconds for a body, and accepts no truncated one`,
    ...SAFE,
    fn: async () => {
      const subject = await start();
      const { at, clock, kit } = subject;
      const token = await kit.keys.token(kit.serviceUrl);
      const body = JSON.stringify(messageOf(kit));
      const head = new TextEncoder().encode(good({ token, body }).slice(0, -1));
      const [slow, cut] = [await Deno.connect(at), await Deno.connect(at)];
      try {
        await slow.write(head);
        await cut.write(head);
        await cut.closeWrite();
        const buffer = new Uint8Array(4096);
        await stillWith(clock, cut.read(buffer));
        const late = slow.read(buffer);
        let isDone = false;
        const finish = () => void (isDone = true);
        late.then(finish, finish);
        for (let seconds = 0; !isDone && seconds < 60; seconds++) {
          await stillWith(clock, new Promise((resolve) => setTimeout(resolve, 1)));
          await clock.advance(1_000);
        }
        const text = new TextDecoder().decode(buffer.subarray(0, await late ?? 0));
        assert.match(text, /^HTTP\/1\.1 408 /);
        assert.equal(subject.stored(), 0);
      } finally {
        slow.close();
        cut.close();
        await subject.close();
      }
    },
  });
}
