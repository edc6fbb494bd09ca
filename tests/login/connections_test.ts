/**
 * Connections of the login proxy: the limit per client, and clients with incomplete requests, which
 * exclude no other client and reach nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { systemSockets } from "core/os/sockets.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { basicHeader, BOB, createLoginRig, startTestLogin } from "tests/support/login_fixture.ts";

const MORE = 64;
const bytesOf = (text: string) => new TextEncoder().encode(text);

Deno.test("a connection counts for its client; a trusted proxy's for no client", async () => {
  const { app } = await createLoginRig({ env: { WEBVIEW_TRUSTED_PROXIES: "10.0.0.0/8" } });
  assert.equal(app.clientOf("10.1.2.3:1"), undefined);
  assert.equal(app.clientOf("[::ffff:10.1.2.3]:1"), undefined);
  assert.equal(app.clientOf("9.9.9.9:1"), app.clientOf("9.9.9.9:2"));
  assert.notEqual(app.clientOf("9.9.9.9:1"), app.clientOf("9.9.9.8:1"));
  assert.equal(app.clientOf("[2001:db8::1]:1"), app.clientOf("[2001:db8::ffff]:1"), "one /64");
  assert.notEqual(app.clientOf("[2001:db8::1]:1"), app.clientOf("[2001:db8:0:1::1]:1"));
  assert.equal(typeof app.clientOf("no address"), "string", "who cannot be named has a bound too");
});

Deno.test("a client that opens more connections than it may closes its own oldest", async () => {
  const seen: string[] = [];
  const cockpit = await systemSockets({ processes: systemProcesses(), log: recordingLog() })
    .serveHttp({ hostname: "127.0.0.1", port: 0 }, (request) => {
      seen.push(new URL(request.url).pathname);
      return new Response("ok");
    });
  const host = { ...memoryHost(), clock: systemClock(), random: systemRandom() };
  const { proxy } = await startTestLogin(host, `http://127.0.0.1:${cockpit.address.port}`, {
    WEBVIEW_TRUSTED_PROXIES: "10.0.0.0/8",
  });
  const slow: Deno.Conn[] = [];
  const ended: Promise<unknown>[] = [];
  try {
    for (let count = 0; count < WIRE_LIMITS.connectionsOfOneMax + MORE; count++) {
      const peer = await Deno.connect(proxy.address);
      await peer.write(bytesOf("GET /slow HTTP/1.1\r\nhost: x\r\nx"));
      slow.push(peer);
      // The listener closes the oldest ones without an answer: they have sent no complete request.
      if (count < MORE) ended.push(peer.read(new Uint8Array(1)).catch(() => null));
    }
    const answer = await fetch(`http://127.0.0.1:${proxy.address.port}/live`, {
      headers: { authorization: basicHeader(BOB) },
    });
    assert.deepEqual([answer.status, await answer.text()], [200, "ok"]);
    assert.deepEqual(await Promise.all(ended), ended.map(() => null));
    assert.deepEqual(seen, ["/live"], "the cockpit saw nothing of the others");
  } finally {
    for (const peer of slow) peer.close();
    await proxy.close();
    await cockpit.close(0);
  }
});
