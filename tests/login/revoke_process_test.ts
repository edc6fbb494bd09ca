/**
 * The CLI ends a session in the store, and a running proxy aborts its open streams and refuses its
 * next request without a notification. Real files and sockets, two connections to one database.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { openLoginStore } from "core/login/store.ts";
import { logInByForm, MIA, startTestLogin } from "tests/support/login_fixture.ts";

Deno.test("the proxy closes a session that another program ends", async () => {
  const root = await Deno.makeTempDir({ prefix: "login-revoke-" });
  const host = openHost({ log: { program: "login-revoke", level: "error" } });
  const first = new TextEncoder().encode("data: 1\n\n");
  const cockpit = await host.sockets.serveHttp(
    { hostname: "127.0.0.1", port: 0 },
    () =>
      new Response(
        new ReadableStream({ start: (made) => made.enqueue(first) }),
        { headers: { "content-type": "text/event-stream" } },
      ),
  );
  const { proxy, url } = await startTestLogin(host, `http://127.0.0.1:${cockpit.address.port}`, {
    FLEETCTL_ROOT: root,
  });
  try {
    const cookie = await logInByForm(url);
    const stream = await fetch(`${url}/events`, { headers: { cookie } });
    const reader = stream.body!.getReader();
    await reader.read();
    const store = await openLoginStore(host.databases, `${root}/var/lib/fleetctl/login/login.db`);
    assert.deepEqual(store.list().map(({ principal }) => principal), [MIA.name]);
    assert.deepEqual(store.endAll(MIA.name), { ok: true, value: 1 });
    store.close();
    await assert.rejects(reader.read(), "the stream is cut, not left to end by itself");
    const after = await fetch(`${url}/events`, { headers: { cookie } });
    await after.body?.cancel();
    assert.equal(after.status, 401);
  } finally {
    await proxy.close();
    await cockpit.close(0);
    await Deno.remove(root, { recursive: true });
  }
});
