/**
 * The HTTPS fronts of docs/login.md, verbatim, before the real login proxy: Debian's nginx and
 * Caddy, over TLS. The documented rules for a front hold through both.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Listener } from "core/ports/sockets.ts";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { systemSockets } from "core/os/sockets.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { FRONTS, type FrontSite, RunningFront } from "tests/front/front.ts";
import { BOB, startTestLogin } from "tests/support/login_fixture.ts";

const HOST = "cockpit.example.org";
const ME = ["-u", `${BOB.name}:${BOB.password}`] as const;
const SITE: FrontSite = {
  page: "docs/login.md",
  host: HOST,
  certificate: "cockpit",
  upstream: "127.0.0.1:8736",
};

/** A cockpit that streams, accepts a WebSocket, and echoes request headers. */
async function startCockpit(): Promise<Listener> {
  const sockets = systemSockets({ processes: systemProcesses(), log: recordingLog() });
  return await sockets.serveFrames({ hostname: "127.0.0.1", port: 0 }, {
    frameBytesMax: 1024,
    upgrade: () => ({ accept: true, onOpen: (connection) => connection.send("hello") }),
    handler: (request) => {
      if (!request.url.endsWith("/events")) {
        const state = request.headers.get("x-webauthn-state") ?? "";
        return Response.json(Object.fromEntries(request.headers), {
          headers: { "x-webauthn-state": `${state}-back` },
        });
      }
      const first = new TextEncoder().encode("data: first\n\n");
      return new Response(
        new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (made) => made.enqueue(first) }),
        { headers: { "content-type": "text/event-stream" } },
      );
    },
  });
}

/** Sends a request through the front; returns the answer with its head. */
type Curl = (path: string, ...more: readonly string[]) => Promise<string>;

/** What a front must do, and its check. */
const RULES: readonly (readonly [rule: string, check: (curl: Curl) => Promise<void>])[] = [
  ["a page over HTTP/2, with an HSTS header", servesPage],
  ["state and request id pass in both directions, and the host is the front's name", passesHeaders],
  ["a stream begins at once, and is not compressed", streamsAtOnce],
  ["a WebSocket of the cockpit's page opens, and one of another site does not", opensOwnSocket],
  ["a forged address allows no ninth guess", countsGuesses],
];

async function servesPage(curl: Curl): Promise<void> {
  const page = await curl("/auth/login", "-H", "accept: text/html", "--max-time", "20");
  assert.match(page, /^HTTP\/2 200/);
  assert.match(page, /strict-transport-security: max-age=/);
  assert.match(page, /set-cookie: wv_login_csrf=[^\n]*; Secure/);
}

async function passesHeaders(curl: Curl): Promise<void> {
  const state = ["-H", "x-webauthn-state: one", "-H", "x-request-id: mine-1"];
  const answer = await curl("/api/x", ...ME, ...state, "--max-time", "20");
  assert.match(answer, /x-webauthn-state: one-back/);
  assert.match(answer, /x-request-id: mine-1/);
  const [, seen = "{}"] = answer.split("\r\n\r\n");
  assert.equal(JSON.parse(seen)["x-forwarded-host"], HOST);
  assert.equal(JSON.parse(seen)["x-forwarded-proto"], "https");
  assert.equal(JSON.parse(seen)["x-user-email"], BOB.name);
}

async function streamsAtOnce(curl: Curl): Promise<void> {
  const stream = await curl("/events", ...ME, "-N", "--compressed", "--max-time", "6");
  assert.match(stream, /^HTTP\/2 200/);
  assert.match(stream, /data: first/);
  assert.doesNotMatch(stream, /content-encoding/i);
}

async function opensOwnSocket(curl: Curl): Promise<void> {
  const upgrade = (origin: string) =>
    curl(
      "/terminal/x",
      ...ME,
      "--http1.1",
      "--max-time",
      "3",
      ...[
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        `origin: ${origin}`,
      ].flatMap((header) => ["-H", header]),
    );
  assert.match(await upgrade(`https://${HOST}`), /^HTTP\/1\.1 101 [^]*hello/);
  assert.match(await upgrade("https://evil.example"), /^HTTP\/1\.1 403 /);
}

async function countsGuesses(curl: Curl): Promise<void> {
  const statuses: string[] = [];
  for (let guess = 0; guess < 9; guess++) {
    const answer = await curl(
      "/api/x",
      "-u",
      `${BOB.name}:wrong-${guess}`,
      "-H",
      `x-forwarded-for: 6.6.6.${guess}`,
      "-H",
      `x-real-ip: 6.6.6.${guess}`,
      "--max-time",
      "20",
    );
    statuses.push(answer.slice(7, 10));
  }
  assert.deepEqual(statuses, [...Array(8).fill("401"), "429"]);
}

for (const front of FRONTS) {
  Deno.test(`${front.name} as documented passes on what the login proxy needs`, async (t) => {
    const cockpit = await startCockpit();
    const host = { ...memoryHost(), clock: systemClock(), random: systemRandom() };
    const { proxy } = await startTestLogin(host, `http://127.0.0.1:${cockpit.address.port}`, {
      WEBVIEW_URL: `https://${HOST}`,
    });
    try {
      const upstream = `127.0.0.1:${proxy.address.port}`;
      await using running = await RunningFront.start(front, SITE, upstream);
      const curl: Curl = (path, ...more) => running.curl(path, ["-i", ...more]);
      for (const [rule, check] of RULES) await t.step(rule, () => check(curl));
    } finally {
      await proxy.close();
      await cockpit.close(0);
    }
  });
}
