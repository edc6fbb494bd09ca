/**
 * The connection limits of a proxy's listener: which connection is evicted, which client is turned
 * away and with what answer. A client that uses all it can get takes nothing from others.
 * @module
 */

import assert from "node:assert/strict";
import { HTTP_LIMITS } from "core/limits/http.ts";
import type { Answer } from "core/http1/os/answer.ts";
import { serveHttp1, type WireBounds } from "core/http1/os/server.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { bytesOf, END_MS_MAX, receive } from "tests/support/wire.ts";

const HALF = "GET /slow HTTP/1.1\r\nHost: a\r\nx";
const ASK = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const HANG = "GET /hang HTTP/1.1\r\nHost: a\r\n\r\n";
const TAKE_NOTHING = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n";
/** More than the socket buffers hold when the peer does not read. */
const LARGE_BYTES = 32 * 1024 * 1024;
const PROXY = Symbol("proxy");

interface Scene {
  /** Connects as a client, or as a proxy for many clients, and sends `text`. */
  open(text: string, client?: string | typeof PROXY): Promise<Deno.TcpConn>;
  /** Waits until `count` requests hang. */
  hanging(count: number): Promise<void>;
  readonly log: ReturnType<typeof recordingLog>;
}

/** Reads until `isEnough` or the end of the connection. Appends how the connection ended. */
async function readText(from: Deno.Conn, isEnough?: (text: string) => boolean): Promise<string> {
  const { text, end } = await receive(from, isEnough);
  return text + { enough: "", closed: "END", reset: "RESET", late: "LATE" }[end];
}

const isAnswered = (text: string) => text.endsWith("\r\n\r\nok");

/** Connects again for as long as it is turned away. */
async function untilAnswered(open: Scene["open"]): Promise<void> {
  for (const until = Date.now() + END_MS_MAX; Date.now() < until;) {
    const peer = await open(ASK, "three");
    const answered = await readText(peer, (text) => isAnswered(text) || text.includes(" 503 "));
    peer.close();
    if (isAnswered(answered)) return;
    assert.match(answered, /^HTTP\/1\.1 503 /);
  }
  throw new Error("no place became free");
}

function test(name: string, bounds: WireBounds, run: (scene: Scene) => Promise<void>): void {
  Deno.test(name, async () => {
    const log = recordingLog();
    const release = Promise.withResolvers<void>();
    let count = 0;
    let counted = Promise.withResolvers<void>();
    const ok: Answer = { status: 200, headers: [], body: bytesOf("ok") };
    // The listener accepts connections in the order in which they are made.
    const clients: (string | undefined)[] = [];
    const listener = await serveHttp1({ hostname: "127.0.0.1", port: 0 }, {
      answer: async (request) => {
        const { head, body } = request;
        if (head.target === "/hang") {
          count++;
          counted.resolve();
          counted = Promise.withResolvers();
          const gone = new Promise<void>((resolve) => request.onDisconnect(resolve));
          await Promise.race([release.promise, gone]);
        }
        if (head.target === "/large") {
          count++;
          counted.resolve();
          counted = Promise.withResolvers();
          return { ...ok, body: new Uint8Array(LARGE_BYTES) };
        }
        if (body !== null) await new Response(body).bytes().catch(() => {});
        return ok;
      },
      upgrade: () => Promise.resolve(),
      clientOf: () => clients.shift(),
    }, { processes: fakeProcesses(), log, times: { ...HTTP_LIMITS, checkMs: 20 }, bounds });
    const open: Deno.Conn[] = [];
    try {
      await run({
        log,
        open: async (text, client = "one") => {
          clients.push(client === PROXY ? undefined : client);
          const peer = await Deno.connect(listener.address);
          open.push(peer);
          await peer.write(bytesOf(text));
          return peer;
        },
        hanging: async (wanted) => {
          while (count < wanted) await counted.promise;
        },
      });
    } finally {
      release.resolve();
      for (const peer of open) {
        try {
          peer.close();
        } catch {
          // The test has already closed it.
        }
      }
      await listener.close(0);
    }
  });
}

test("a client's new connection closes that client's oldest waiting one, and no other's", {
  connectionsOfOneMax: 3,
}, async ({ open }) => {
  const other = await open(HALF, "two");
  const first = await open(HALF);
  await open(HALF);
  await open(HALF);
  const live = await open(ASK);
  assert.ok(isAnswered(await readText(live, isAnswered)));
  assert.equal(await readText(first), "END", "the oldest has gone");
  await other.write(bytesOf(": y\r\n\r\n"));
  assert.ok(isAnswered(await readText(other, isAnswered)), "another client's stays");
});

test("a client whose connections are all busy is refused and gets a Retry-After", {
  connectionsOfOneMax: 2,
}, async ({ open, hanging, log }) => {
  await open(HANG);
  await open(HANG);
  await hanging(2);
  for (let count = 0; count < 3; count++) {
    const answered = await readText(await open(ASK));
    assert.match(
      answered,
      /^HTTP\/1\.1 503 [^]*retry-after: 5\r\n[^]*connection: close\r\n\r\nEND$/,
    );
  }
  const other = await open(ASK, "two");
  assert.ok(isAnswered(await readText(other, isAnswered)), "another client is served");
  const news = log.lines.filter(({ event }) => event === "connections_full");
  assert.equal(news.length, 1, "and it is written about once");
});

test("a trusted proxy has no separate limit", {
  connectionsOfOneMax: 1,
  connectionsMax: 8,
}, async ({ open, hanging }) => {
  for (let count = 0; count < 7; count++) await open(HANG, PROXY);
  await hanging(7);
  const live = await open(ASK, PROXY);
  assert.ok(isAnswered(await readText(live, isAnswered)));
});

test("at the total limit, the oldest idle connection of any client is closed", {
  connectionsMax: 3,
}, async ({ open, hanging }) => {
  const busy = await open(HANG, PROXY);
  await hanging(1);
  const slow = await open(HALF, PROXY);
  await open(HALF);
  const live = await open(ASK, "three");
  assert.ok(isAnswered(await readText(live, isAnswered)));
  assert.equal(await readText(slow), "END");
  // The busy connection is older, and still open: a second request on it would be answered later.
  await busy.write(bytesOf(ASK));
});

test("when all connections are busy, a new one is refused until one is free", {
  connectionsMax: 2,
}, async ({ open, hanging }) => {
  const leaving = await open(HANG);
  await open(HANG, "two");
  await hanging(2);
  assert.match(await readText(await open(ASK, "three")), /^HTTP\/1\.1 503 /);
  leaving.close();
  // Its place becomes free once the listener notices that it closed.
  await untilAnswered(open);
});

test("a connection with a slow body is closed when no other can be", {
  connectionsMax: 2,
}, async ({ open, hanging }) => {
  const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1";
  const slow = await open(head);
  await open(HANG, "two");
  await hanging(1);
  const gone = readText(slow);
  await untilAnswered(open);
  assert.equal(await gone, "END");
});

test("connections beyond the number that get an answer are closed at once", {
  connectionsMax: 1,
  refusingMax: 1,
  lingerMsMax: END_MS_MAX,
}, async ({ open, hanging }) => {
  await open(HANG);
  await hanging(1);
  // The first client keeps its side open, so the listener is still sending it the refusal.
  await readText(await open(ASK), (text) => text.includes("\r\n\r\n"));
  assert.match(await readText(await open(ASK)), /^(?:END|RESET)$/);
});

test("a client that does not read its answer blocks no other client", {
  connectionsMax: 2,
}, async ({ open, hanging }) => {
  for (const client of ["one", "two"]) await open(TAKE_NOTHING, client);
  await hanging(2);
  await untilAnswered(open);
});
