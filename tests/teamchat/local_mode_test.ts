/**
 * Local mode checks no token, so it judges a caller by the host name of the request. A page that
 * points its own name at this machine (DNS rebinding), or that sends cross-origin requests, does
 * not reach an agent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { messageOf, startTestTeamchat } from "tests/teamchat/fixture.ts";
import { receiveText } from "tests/support/wire.ts";

const LOCAL = { TEAMS_APP_ID: "", TEAMS_APP_PASSWORD: "", TEAMS_APP_TENANT_ID: "" };
const SERVICE = { serviceUrl: "http://127.0.0.1:9/" };

/** Headers, method and expected answer; `PORT` stands for the gateway's port. */
const ROWS: readonly (readonly [name: string, method: string, lines: string, status: number])[] = [
  ["this machine by its IPv4 address", "POST", "host: 127.0.0.1:PORT", 202],
  ["this machine by its name", "POST", "host: localhost:PORT", 202],
  ["this machine by its IPv6 address", "POST", "host: [::1]:PORT", 202],
  ["a page of the test client", "POST", "host: localhost:PORT\r\norigin: http://localhost:5", 202],
  ["a probe of the test client", "HEAD", "host: localhost:PORT", 200],
  ["a foreign name that resolves to this machine", "POST", "host: evil.test:PORT", 403],
  [
    "a foreign name with its own origin",
    "POST",
    "host: evil.test\r\norigin: http://evil.test",
    403,
  ],
  ["a probe under a foreign name", "HEAD", "host: evil.test", 403],
  ["a name that begins with localhost", "POST", "host: localhost.evil.test:PORT", 403],
  ["another address", "POST", "host: 10.0.0.1:PORT", 403],
  ["another origin", "POST", "host: localhost:PORT\r\norigin: https://evil.test", 403],
  ["a page without an origin", "POST", "host: localhost:PORT\r\norigin: null", 403],
];

for (const [name, method, lines, status] of ROWS) {
  Deno.test({
    name: `local mode answers ${status}: ${name}`,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      await using at = await startTestTeamchat({ env: LOCAL });
      const { port = 0 } = at.teamchat.messages ?? {};
      const body = JSON.stringify(messageOf(SERVICE, { text: "do as the page says" }));
      using connection = await Deno.connect({ hostname: "127.0.0.1", port });
      const head = `${method} /api/messages HTTP/1.1\r\n${lines.replaceAll("PORT", String(port))}`;
      const sent = method === "HEAD" ? "" : body;
      await connection.write(new TextEncoder().encode(
        `${head}\r\ncontent-type: application/json\r\nconnection: close\r\n` +
          `content-length: ${sent.length}\r\n\r\n${sent}`,
      ));
      const answer = await at.withoutClock(receiveText(connection));
      assert.equal(answer.split(" ")[1], String(status));
      const metrics = at.teamchat.metrics.render();
      assert.equal(metrics.includes('result="turn"'), status === 202, metrics);
    },
  });
}

Deno.test({
  name: "in cloud mode the front, not the gateway, checks names and origins",
  sanitizeOps: true,
  sanitizeResources: true,
  fn: async () => {
    await using at = await startTestTeamchat();
    const answer = await at.post(at.message("hi"), { headers: { origin: "https://teams.test" } });
    assert.equal(answer.status, 202);
  },
});
