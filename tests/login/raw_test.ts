/**
 * Raw requests that no client library would send: the listener refuses malformed ones, and the
 * cockpit sees no undecided request.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { systemSockets } from "core/os/sockets.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { basicHeader, BOB, startTestLogin } from "tests/support/login_fixture.ts";

const ME = `Authorization: ${basicHeader(BOB)}\r\n`;
const CLOSE = "Connection: close\r\n";

const FORGED = "\r\nX-User-Email: eve\r\n\r\n";

/** Name, request, first status, what the cockpit sees. */
const ROWS: readonly [string, string, number, readonly string[]][] = [
  [
    "identity headers in three spellings",
    `GET /a HTTP/1.1\r\nHost: x\r\n${ME}X_User_Email: eve\r\nx-USER-email: eve\r\n` +
    `X-User-Email: eve\r\n${CLOSE}\r\n`,
    200,
    ["GET /a bob@example.org"],
  ],
  // 480 bytes in Latin-1. If they counted as two each, the rest of the head would become the body.
  ...[0, 1, 100, 480, 900].map((count): (typeof ROWS)[number] => [
    `a head with ${count} bytes that are not ASCII and a forged one behind it`,
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}X-A: ${"\xe9".repeat(count)}${"y".repeat(3_000)}\r\n` +
    `Content-Length: ${FORGED.length}\r\n${CLOSE}\r\n${FORGED}`,
    200,
    ["POST /a bob@example.org"],
  ]),
  [
    "a space before the colon",
    `GET /a HTTP/1.1\r\nHost: x\r\n${ME}X-User-Email : eve\r\n${CLOSE}\r\n`,
    400,
    [],
  ],
  [
    "a folded line",
    `GET /a HTTP/1.1\r\nHost: x\r\n${ME} X-User-Email: eve\r\n${CLOSE}\r\n`,
    400,
    [],
  ],
  ["two hosts", `GET /a HTTP/1.1\r\nHost: x\r\nHost: y\r\n${ME}${CLOSE}\r\n`, 400, []],
  ["no host", `GET /a HTTP/1.1\r\n${ME}${CLOSE}\r\n`, 400, []],
  [
    "an absolute target",
    `GET http://y/a HTTP/1.1\r\nHost: x\r\n${ME}${CLOSE}\r\n`,
    200,
    ["GET /a bob@example.org"],
  ],
  [
    "a target that names a host",
    `GET //evil.invalid/a?b HTTP/1.1\r\nHost: x\r\n${ME}${CLOSE}\r\n`,
    200,
    ["GET //evil.invalid/a bob@example.org"],
  ],
  [
    "a target with a backslash",
    `GET /\\evil.invalid/a HTTP/1.1\r\nHost: x\r\n${ME}${CLOSE}\r\n`,
    200,
    ["GET //evil.invalid/a bob@example.org"],
  ],
  [
    "a length and chunks",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n` +
    `${CLOSE}\r\n` +
    "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
    400,
    [],
  ],
  [
    "two lengths",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Content-Length: 4\r\nContent-Length: 5\r\n${CLOSE}\r\n` +
    "abcde",
    400,
    [],
  ],
  [
    "an unknown coding",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Transfer-Encoding: xchunked\r\n${CLOSE}\r\nabcde`,
    400,
    [],
  ],
  [
    "an unknown coding before a good one",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Transfer-Encoding: gzip, chunked\r\n${CLOSE}\r\n0\r\n\r\n`,
    400,
    [],
  ],
  [
    "chunks under two names",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Transfer-Encoding: chunked\r\n` +
    `Transfer-Encoding: identity\r\n${CLOSE}\r\n0\r\n\r\n`,
    400,
    [],
  ],
  [
    "a length with a sign",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Content-Length: +4\r\n${CLOSE}\r\nabcd`,
    400,
    [],
  ],
  [
    "a length in a list",
    `POST /a HTTP/1.1\r\nHost: x\r\n${ME}Content-Length: 4, 4\r\n${CLOSE}\r\nabcd`,
    400,
    [],
  ],
  [
    "a body under GET with another request in it",
    `GET /a HTTP/1.1\r\nHost: x\r\n${ME}Content-Length: 31\r\n${CLOSE}\r\n` +
    "GET /smuggled HTTP/1.1\r\nHost: x",
    200,
    ["GET /a bob@example.org"],
  ],
  [
    "a path that leaves an exempt one",
    `GET /icons/../a HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`,
    401,
    [],
  ],
  [
    "an escaped path that leaves an exempt one",
    `GET /icons/..%2f..%2fa HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`,
    401,
    [],
  ],
  [
    "a fragment",
    `GET /icons/a#/../b HTTP/1.1\r\nHost: x\r\n${CLOSE}\r\n`,
    400,
    [],
  ],
  ["an asterisk", `OPTIONS * HTTP/1.1\r\nHost: x\r\n${ME}${CLOSE}\r\n`, 400, []],
  ["TRACE", `TRACE /a HTTP/1.1\r\nHost: x\r\n${ME}${CLOSE}\r\n`, 400, []],
  ["a NUL", `GET /a HTTP/1.1\r\nHost: x\r\n${ME}X-A: a\0b\r\n${CLOSE}\r\n`, 400, []],
  [
    "a long cookie",
    `GET /a HTTP/1.1\r\nHost: x\r\n${ME}Cookie: ${"a=b; ".repeat(14_000)}\r\n${CLOSE}\r\n`,
    431,
    [],
  ],
  [
    "an upgrade to another protocol",
    `GET /a HTTP/1.1\r\nHost: x\r\n${ME}Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n`,
    400,
    [],
  ],
  [
    "an upgrade without a session",
    "GET /a HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    401,
    [],
  ],
];

const sockets = () => systemSockets({ processes: systemProcesses(), log: recordingLog() });

async function answerTo(port: number, text: string): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(Uint8Array.from(text, (one) => one.charCodeAt(0)));
  let answer = "";
  try {
    for await (const chunk of connection.readable) answer += new TextDecoder().decode(chunk);
  } catch {
    // A connection may also end with a reset after the answer.
  }
  return answer;
}

/** Bodies with invalid framing. */
const MALFORMED = [
  "x\r\nabc\r\n0\r\n\r\n",
  "3\r\nabcd\r\n0\r\n\r\n",
  "3\nabc\r\n0\r\n\r\n",
  "-3\r\nabc\r\n0\r\n\r\n",
  "3\r\nabc\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n",
];

Deno.test("a malformed chunked body is a 400, closes, and is not forwarded", async (t) => {
  const whole: string[] = [];
  const cockpit = await sockets().serveHttp({ hostname: "127.0.0.1", port: 0 }, async (request) => {
    whole.push(await request.text());
    return new Response("ok");
  });
  const host = { ...memoryHost(), clock: systemClock(), random: systemRandom() };
  const { proxy } = await startTestLogin(host, `http://127.0.0.1:${cockpit.address.port}`);
  const form = "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";
  try {
    for (const body of MALFORMED) {
      for (const [path, more] of [["/a", ME], ["/auth/login", form]] as const) {
        await t.step(`${path} ${JSON.stringify(body)}`, async () => {
          const answer = await answerTo(
            proxy.address.port,
            `POST ${path} HTTP/1.1\r\nHost: localhost\r\n` +
              `${more}Transfer-Encoding: chunked\r\n\r\n${body}`,
          );
          assert.match(answer, /^HTTP\/1\.1 400 [^]*connection: close[^]*"body-malformed"/);
          assert.equal(answer.split("HTTP/1.1").length, 2, "one answer");
        });
      }
    }
    assert.deepEqual(whole, [], "the cockpit never had a whole body");
  } finally {
    await proxy.close();
    await cockpit.close(0);
  }
});

Deno.test("the cockpit sees exactly the request that was checked", async (t) => {
  const seen: string[] = [];
  const cockpit = await sockets().serveHttp({ hostname: "127.0.0.1", port: 0 }, (request) => {
    const { pathname } = new URL(request.url);
    seen.push(`${request.method} ${pathname} ${request.headers.get("x-user-email")}`);
    const text = JSON.stringify([...request.headers]);
    return new Response(text.includes("eve") ? "forged" : "ok");
  });
  const host = {
    ...memoryHost(),
    clock: systemClock(),
    random: systemRandom(),
  };
  const { proxy } = await startTestLogin(host, `http://127.0.0.1:${cockpit.address.port}`);
  try {
    for (const [name, text, status, wanted] of ROWS) {
      await t.step(name, async () => {
        seen.length = 0;
        const answer = await answerTo(proxy.address.port, text);
        assert.equal(Number(answer.split(" ")[1]), status, answer.slice(0, 400));
        assert.deepEqual(seen, wanted);
        assert.ok(!answer.includes("forged"));
      });
    }
  } finally {
    await proxy.close();
    await cockpit.close(0);
  }
});
