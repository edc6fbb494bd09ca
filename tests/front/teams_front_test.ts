/**
 * The HTTPS fronts of docs/teamchat.md, verbatim, before a real gateway: Debian's nginx and Caddy,
 * reached over TLS by curl and by hand-written bytes. Only `/api/messages*` reaches the gateway.
 * Any other request is answered with 404, or not at all.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Front, FRONTS, type FrontSite, RunningFront } from "tests/front/front.ts";
import type { ReadyProcess } from "tests/support/ready_process.ts";
import { type ConnectorKit, type ServedKit, serveKit } from "tests/teamchat/connector/kit.ts";
import { messageOf } from "tests/teamchat/fixture.ts";
import {
  makeTeamchatRoot,
  startTeamchatProcess,
  type TeamchatRoot,
} from "tests/teamchat/gateway_process.ts";

const HOST = "teams.example.org";
const SITE: FrontSite = {
  page: "docs/teamchat.md",
  host: HOST,
  certificate: "teams",
  upstream: "127.0.0.1:3978",
};
/** A front's answers to an oversized body; Caddy's limit ends the request to the gateway. */
const TOO_LARGE = { nginx: [413], Caddy: [413, 502] } as const;
/**
 * The answers after the gateway was killed. Caddy may find an idle connection to it dead in the
 * middle of a request. It then resets the stream instead of answering, and curl reports 000. That
 * can happen once for each idle connection.
 */
const JUST_GONE = { nginx: [502], Caddy: [502, 0] } as const;
/** The idle connections to one upstream that Caddy keeps at most, by its default. */
const IDLE_CONNECTIONS = 32;

/** One request by curl: the status, the HTTP version and the body. */
async function ask(running: RunningFront, path: string, more: readonly string[] = []) {
  const shown = ["--max-time", "20", "-w", "\n%{http_code} %{http_version}"];
  const text = await running.curl(path, [...shown, ...more]);
  const [, body = "", status = "", version = ""] = /^([^]*)\n(\d+) (\S+)$/.exec(text) ?? [];
  return { status: Number(status), version, body };
}

/** Returns curl's arguments for header lines. */
function headers(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line) => ["-H", line]);
}

/** Paths that must be hidden from the outside, in several spellings. */
const HIDDEN = [
  "/",
  "/register",
  "/healthz",
  "/metrics",
  "/api",
  "/api/message",
  "/API/messages",
  "/api/messages/../../register",
  "/api/messages/../../healthz",
  "/api/messages/%2e%2e/%2e%2e/metrics",
  "/api/messages%2f..%2f..%2fhealthz",
  "/api/messages/..%5c..%5c/healthz",
  "/api/messages\\..\\..\\healthz",
  "/api/messages/..;/..;/healthz",
  "/x/../register",
  "//register",
  "/register/",
  "/register?/api/messages",
  "/%72egister",
  "/api/messages/x",
  "/api/messagesx",
];

/** A front before a running gateway. */
interface Scene {
  readonly front: Front;
  readonly running: RunningFront;
  readonly kit: ConnectorKit;
  readonly gateway: ReadyProcess;
  readonly root: string;
  readonly register: TeamchatRoot["register"];
  /** Posts a message with a valid token through the front. */
  post(body: string): ReturnType<typeof ask>;
}

/** What a front must do, and its check. The last check ends the gateway. */
const RULES: readonly (readonly [rule: string, check: (scene: Scene) => Promise<void>])[] = [
  ["a message goes in and its answer comes back, over HTTP/2", passesMessage],
  ["the gateway refuses a message without a token", leavesTokenToGateway],
  ["everything else is 404", hidesOthers],
  ["no upgrade goes through", refusesUpgrade],
  ["a request inside a request is never answered", dropsHiddenRequest],
  ["a client cannot remove a header that the proxy sets", keepsProxyHeaders],
  ["the front refuses a body of more than 256 KiB", limitsBody],
  ["without the gateway no message is accepted", refusesWithoutGateway],
];

async function passesMessage({ kit, register, gateway, post }: Scene): Promise<void> {
  const agent = await register(String(gateway.ready.register));
  const taken = await post(JSON.stringify(messageOf(kit, { text: "through" })));
  assert.deepEqual([taken.status, taken.version, taken.body], [202, "2", ""]);
  const turn = await agent.begin();
  assert.equal(turn.text, "through");
  agent.answer(turn.turnId, "and back");
  assert.equal((await agent.next("delivery")).outcome, "delivered");
  assert.equal(kit.conversation("a:bea").messages.at(-1)?.text, "and back");
  agent.connection.terminate();
  await agent.closed;
}

async function leavesTokenToGateway({ running }: Scene): Promise<void> {
  const json = [...headers(["content-type: application/json"]), "--data-binary", "{}"];
  assert.equal((await ask(running, "/api/messages", json)).status, 401);
}

async function hidesOthers({ running }: Scene): Promise<void> {
  for (const path of HIDDEN) {
    for (const more of [[], ["--http1.1"], ["--http1.1", "-d", "{}"]]) {
      const { status, body } = await ask(running, path, more);
      assert.ok(status === 404 || status === 400, `${path} ${more.join(" ")}: ${status}`);
      assert.doesNotMatch(body, /turns_open|fleetctl_teamchat/, path);
    }
  }
}

async function refusesUpgrade({ running }: Scene): Promise<void> {
  for (const path of ["/register", "/api/messages", "/api/messages/../../register"]) {
    const upgrade = headers([
      "connection: Upgrade",
      "upgrade: websocket",
      "sec-websocket-version: 13",
      "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
    ]);
    const { status } = await ask(running, path, ["--http1.1", ...upgrade]);
    assert.ok(status >= 400, `${path}: ${status}`);
  }
}

async function dropsHiddenRequest({ running }: Scene): Promise<void> {
  const inner = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
  const head = `POST /api/messages HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n` +
    "Content-Type: application/json\r\n";
  const chunked = `0\r\n\r\n${inner}`;
  const hidden = [
    `${head}Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked\r\n\r\n` +
    `${chunked}`,
    `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunked}`,
    `${head}Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    `${head}Transfer-Encoding : chunked\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
    `${head}Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}${inner}`,
    `${head}X-A: b\r\n Content-Length: ${inner.length}\r\nContent-Length: 2\r\n\r\n` +
    `{}${inner}`,
    `${head}Content-Length: +2\r\n\r\n{}${inner}`,
  ];
  for (const text of hidden) {
    const answered = await running.raw(text);
    assert.doesNotMatch(answered, /fleetctl_teamchat/, text);
    assert.ok(answered.split("HTTP/1.1 ").length <= 2, answered);
  }
}

async function keepsProxyHeaders({ running }: Scene): Promise<void> {
  const { status } = await ask(running, "/api/messages\\..\\..\\healthz", [
    "--http1.1",
    ...headers(["connection: close, x-forwarded-for"]),
  ]);
  assert.ok(status === 404 || status === 400, String(status));
}

async function limitsBody({ front, root, post }: Scene): Promise<void> {
  const large = `{"text":"${"x".repeat(300_000)}"}`;
  await Deno.writeTextFile(`${root}/large.json`, large);
  const { status } = await post(`@${root}/large.json`);
  assert.ok((TOO_LARGE[front.name] as readonly number[]).includes(status), String(status));
}

async function refusesWithoutGateway({ front, kit, gateway, post }: Scene): Promise<void> {
  await gateway.kill();
  const statuses = [];
  while (statuses.at(-1) !== 502 && statuses.length <= IDLE_CONNECTIONS) {
    statuses.push((await post(JSON.stringify(messageOf(kit)))).status);
  }
  const allowed: readonly number[] = JUST_GONE[front.name];
  assert.deepEqual(statuses.filter((status) => !allowed.includes(status)), []);
  assert.equal(statuses.at(-1), 502);
}

for (const front of FRONTS) {
  Deno.test(`${front.name} forwards only /api/messages to the gateway`, async (t) => {
    await using served: ServedKit = await serveKit({ rules: { streamGapMs: 0 } });
    const { kit } = served;
    const { root, env, register } = await makeTeamchatRoot(kit);
    const gateway = await startTeamchatProcess(env);
    try {
      await using running = await RunningFront.start(front, SITE, String(gateway.ready.messages));
      const token = await kit.keys.token(kit.serviceUrl);
      const head = ["content-type: application/json", `authorization: Bearer ${token}`];
      const post = (body: string) =>
        ask(running, "/api/messages", [...headers(head), "--data-binary", body]);
      const scene = { front, running, kit, gateway, root, register, post };
      for (const [rule, check] of RULES) await t.step(rule, () => check(scene));
    } finally {
      await gateway.kill();
      await Deno.remove(root, { recursive: true });
    }
  });
}
