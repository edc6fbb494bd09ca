/**
 * The login proxy on real sockets in front of a realistic test cockpit: streams pass chunk by
 * chunk, sockets pass frame by frame, and both end within a second of a logout.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type IncomingHttpHeaders, request } from "node:http";
import type { FrameConnection, Listener } from "core/ports/sockets.ts";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemSockets } from "core/os/sockets.ts";
import { systemRandom } from "core/os/random.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { logInByForm, MIA, startTestLogin } from "tests/support/login_fixture.ts";
import { settlesAtOnce } from "tests/support/turns.ts";

const LOOPBACK = { hostname: "127.0.0.1", port: 0 };
const encoder = new TextEncoder();

/** A cockpit whose streams the test controls. */
interface TestCockpit {
  readonly listener: Listener;
  readonly url: string;
  /** The stream of the last `/events`. */
  stream(): ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  /** Resolves when the reader of the last `/events` has disconnected. */
  readonly gone: Promise<void>;
  readonly opened: Promise<void>;
  readonly socket: Promise<{ readonly connection: FrameConnection; readonly email: string }>;
}

/** Bytes that are neither text nor brotli: any decoding would corrupt them. */
const PACKED = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) & 0xff);

/** Serves a file like the cockpit: precompressed, with an ETag, in ranges. */
function packedFile(request: Request): Response {
  const headers = new Headers({
    "content-encoding": "br",
    "etag": '"v1"',
    "vary": "accept-encoding",
  });
  if (!(request.headers.get("accept-encoding") ?? "").includes("br")) {
    return new Response("plain", { headers: { "content-length": "5" } });
  }
  if (request.headers.get("if-none-match") === '"v1"') {
    return new Response(null, { status: 304, headers });
  }
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get("range") ?? "");
  const [from, to] = range === null ? [0, PACKED.length - 1] : [Number(range[1]), Number(range[2])];
  const part = PACKED.slice(from, to + 1);
  headers.set("content-length", String(part.length));
  if (range !== null) headers.set("content-range", `bytes ${from}-${to}/${PACKED.length}`);
  const status = range === null ? 200 : 206;
  return new Response(request.method === "HEAD" ? null : part, { status, headers });
}

async function startCockpit(): Promise<TestCockpit> {
  const sockets = systemSockets({ processes: systemProcesses(), log: recordingLog() });
  const gone = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  const socket = Promise.withResolvers<{ connection: FrameConnection; email: string }>();
  let controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | undefined;
  const listener = await sockets.serveFrames(LOOPBACK, {
    frameBytesMax: 1024 * 1024,
    upgrade: (request) => {
      const email = request.headers.get("x-user-email") ?? "";
      if (new URL(request.url).pathname !== "/terminal/x") {
        return { accept: false, response: new Response("no such terminal", { status: 404 }) };
      }
      return {
        accept: true,
        protocol: "term.1",
        onOpen: (connection) => socket.resolve({ connection, email }),
      };
    },
    handler: async (request) => {
      const { pathname } = new URL(request.url);
      if (pathname === "/echo") {
        return new Response(request.body, { headers: { "x-method": request.method } });
      }
      if (pathname === "/app.js") return packedFile(request);
      if (pathname !== "/events") return Response.json([...request.headers]);
      await Promise.resolve();
      const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
        start: (made) => {
          controller = made;
          opened.resolve();
        },
        cancel: () => gone.resolve(),
      });
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return {
    listener,
    url: `http://127.0.0.1:${listener.address.port}`,
    stream: () => controller!,
    gone: gone.promise,
    opened: opened.promise,
    socket: socket.promise,
  };
}

interface Scene {
  readonly cockpit: TestCockpit;
  readonly url: string;
  readonly cookie: string;
}

function test(name: string, run: (scene: Scene) => Promise<void>): void {
  Deno.test({
    name,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const cockpit = await startCockpit();
      const host = {
        ...memoryHost(),
        clock: systemClock(),
        random: systemRandom(),
      };
      const { proxy, url } = await startTestLogin(host, cockpit.url);
      try {
        await run({ cockpit, url, cookie: await logInByForm(url) });
      } finally {
        await proxy.close();
        await cockpit.listener.close(0);
      }
    },
  });
}

async function logOut({ url, cookie }: Scene): Promise<void> {
  const done = await fetch(`${url}/auth/logout`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: url, cookie },
  });
  await done.body?.cancel();
  assert.equal(done.status, 303);
}

test("a stream passes chunk by chunk", async ({ cockpit, url, cookie }) => {
  const answer = await fetch(`${url}/events`, { headers: { cookie } });
  const reader = answer.body!.getReader();
  for (const text of ["data: 1\n\n", "data: 2\n\n", "data: 3\n\n"]) {
    cockpit.stream().enqueue(encoder.encode(text));
    const { value } = await reader.read();
    assert.equal(new TextDecoder().decode(value), text);
  }
  await reader.cancel();
  await cockpit.gone;
});

test("a client that leaves ends its request to the cockpit", async ({ cockpit, url, cookie }) => {
  const leave = new AbortController();
  const answer = await fetch(`${url}/events`, { headers: { cookie }, signal: leave.signal });
  cockpit.stream().enqueue(encoder.encode("data: 1\n\n"));
  const reader = answer.body!.getReader();
  await reader.read();
  leave.abort();
  await cockpit.gone;
  await reader.read().catch(() => {});
});

test("a logout closes an open stream and ends the session", async (scene) => {
  const { cockpit, url, cookie } = scene;
  const answer = await fetch(`${url}/events`, { headers: { cookie } });
  cockpit.stream().enqueue(encoder.encode("data: 1\n\n"));
  const reader = answer.body!.getReader();
  await reader.read();
  await logOut(scene);
  const cut = Promise.all([assert.rejects(reader.read()), cockpit.gone]);
  assert.ok(await settlesAtOnce(cut));
  await cut;
  const after = await fetch(`${url}/events`, { headers: { cookie } });
  await after.body?.cancel();
  assert.equal(after.status, 401);
});

test("a body of any size passes unchanged in both directions", async ({ url, cookie }) => {
  const bytes = crypto.getRandomValues(new Uint8Array(60_000));
  const parts = Array.from({ length: 50 }, () => bytes);
  const answer = await fetch(`${url}/echo`, {
    method: "PUT",
    headers: { cookie, origin: url },
    body: new Blob(parts),
  });
  assert.equal(answer.headers.get("x-method"), "PUT");
  assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), await new Blob(parts).bytes());
});

/** Sends a request without decompressing the answer, which `fetch` always does. */
async function askRaw(
  { url, cookie }: Scene,
  init: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> } = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    readonly status: number | undefined;
    readonly headers: IncomingHttpHeaders;
    readonly body: Uint8Array;
  }>();
  const asked = request(`${url}/app.js`, {
    method: init.method ?? "GET",
    agent: false,
    headers: { cookie, "accept-encoding": "br", ...init.headers },
  }, (answer) => {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    answer.on("data", (part) => parts.push(part));
    answer.on("error", reject);
    answer.on("end", async () => {
      const body = await new Blob(parts).bytes();
      resolve({ status: answer.statusCode, headers: answer.headers, body });
    });
  });
  asked.on("error", reject);
  asked.end();
  return await promise;
}

test("a compressed file arrives unchanged, with its length and tag", async (scene) => {
  const { status, headers, body } = await askRaw(scene);
  assert.equal(status, 200);
  assert.equal(headers["content-encoding"], "br");
  assert.equal(headers["content-length"], String(PACKED.length));
  assert.equal(headers.etag, '"v1"');
  assert.deepEqual(body, PACKED);
});

test("a range, an unchanged file and a HEAD pass unchanged", async (scene) => {
  const range = await askRaw(scene, { headers: { range: "bytes=10-19" } });
  assert.equal(range.status, 206);
  assert.equal(range.headers["content-range"], "bytes 10-19/70000");
  assert.deepEqual(range.body, PACKED.slice(10, 20));
  const same = await askRaw(scene, { headers: { "if-none-match": '"v1"' } });
  assert.deepEqual([same.status, same.headers.etag, same.body.length], [304, '"v1"', 0]);
  const head = await askRaw(scene, { method: "HEAD" });
  assert.equal(head.status, 200);
  assert.deepEqual([head.headers["content-length"], head.body.length], ["70000", 0]);
});

test("a client that accepts no compression gets the uncompressed file", async (scene) => {
  const { headers, body } = await askRaw(scene, { headers: { "accept-encoding": "identity" } });
  assert.equal(headers["content-encoding"], undefined);
  assert.equal(new TextDecoder().decode(body), "plain");
});

async function openSocket({ url, cookie }: Scene, path = "/terminal/x"): Promise<FrameConnection> {
  const sockets = systemSockets({ processes: systemProcesses(), log: recordingLog() });
  return await sockets.connectFrames(url.replace("http", "ws") + path, {
    protocols: ["term.1"],
    headers: { cookie, origin: url },
    frameBytesMax: 1024 * 1024,
    timeoutMs: 5_000,
  });
}

test("a WebSocket passes frames both ways, and a logout closes both ends", async (scene) => {
  const { cockpit, url, cookie } = scene;
  const client = await openSocket(scene);
  assert.equal(client.protocol, "term.1");
  const { connection, email } = await cockpit.socket;
  assert.equal(email, MIA.name);
  const up = new Promise<string>((resolve) => connection.onMessage(resolve));
  const long = "x".repeat(500_000);
  client.send(long);
  assert.equal(await up, long);
  const down = new Promise<string>((resolve) => client.onMessage(resolve));
  connection.send(long);
  assert.equal(await down, long);
  const closed = Promise.all(
    [client, connection].map((one) =>
      new Promise<number>((resolve) => one.onClose((code) => resolve(code)))
    ),
  );
  await logOut({ cockpit, url, cookie });
  assert.ok(await settlesAtOnce(closed));
  assert.deepEqual(await closed, [1006, 1006]);
});

test("a WebSocket that the cockpit refuses is refused", async (scene) => {
  await assert.rejects(openSocket(scene, "/terminal/none"), /404/);
  await assert.rejects(openSocket({ ...scene, cookie: "wv_session=x" }), /401/);
});

test("a WebSocket closed by its client closes at the cockpit", async (scene) => {
  const client = await openSocket(scene);
  const { connection } = await scene.cockpit.socket;
  const closed = new Promise<number>((resolve) => connection.onClose((code) => resolve(code)));
  const left = new Promise<number>((resolve) => client.onClose((code) => resolve(code)));
  client.close(4000, "bye");
  assert.equal(await closed, 4000);
  assert.equal(await left, 4000);
});

test("an unreachable cockpit is a 502 for requests and sockets", async (scene) => {
  await scene.cockpit.listener.close(0);
  const answer = await fetch(`${scene.url}/api/x`, { headers: { cookie: scene.cookie } });
  assert.equal((await answer.json()).code, "cockpit-unreachable");
  await assert.rejects(openSocket(scene), /502/);
});
