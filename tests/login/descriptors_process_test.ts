/**
 * The login proxy without free descriptors: there are more slow connections than it may open. It
 * evicts idle connections and answers a new request.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

const DESCRIPTORS = 128;
const SLOW = 200;
const USER = { name: "bob@example.org", password: "a-password-of-the-test" };

async function readyPort(lines: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<number> {
  let text = "";
  for await (const piece of lines.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const port = /127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    if (text.includes("ready") && port !== undefined) return Number(port);
  }
  throw new Error(`it did not begin: ${text}`);
}

Deno.test("without free descriptors, idle connections are closed for new requests", async () => {
  const root = await Deno.makeTempDir({ prefix: "descriptors-" });
  const seen: string[] = [];
  const cockpit = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    seen.push(new URL(request.url).pathname);
    return new Response("ok");
  });
  const run = `ulimit -n ${DESCRIPTORS}; exec "$@"`;
  const args = ["run", "-q", "-A", "--no-check", "--config", `${TREE}deno.json`];
  const child = new Deno.Command("sh", {
    args: ["-c", run, "sh", Deno.execPath(), ...args, `${TREE}login/main.ts`],
    clearEnv: true,
    env: {
      ...Object.fromEntries(
        ["PATH", "HOME", "DENO_DIR"].flatMap((name) => {
          const value = Deno.env.get(name);
          return value === undefined ? [] : [[name, value]];
        }),
      ),
      FLEETCTL_ROOT: root,
      WEBVIEW_LOGIN_LISTEN: "127.0.0.1:0",
      WEBVIEW_UPSTREAM: `http://127.0.0.1:${cockpit.addr.port}`,
      WEBVIEW_AUTH_DRIVER: "basic",
      WEBVIEW_BASIC_USERS: `${USER.name}:${USER.password}`,
      WEBVIEW_HMAC_KEY: "a-key-of-the-tests-0000000000000",
    },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const slow: Deno.Conn[] = [];
  try {
    const [log, rest] = child.stderr.tee();
    const port = await readyPort(log);
    rest.cancel().catch(() => {});
    for (let count = 0; count < SLOW; count++) {
      const peer = await Deno.connect({ hostname: "127.0.0.1", port });
      await peer.write(new TextEncoder().encode("GET /slow HTTP/1.1\r\nhost: x\r\nx"));
      slow.push(peer);
    }
    const answer = await fetch(`http://127.0.0.1:${port}/live`, {
      headers: { authorization: `Basic ${btoa(`${USER.name}:${USER.password}`)}` },
      signal: AbortSignal.timeout(8_000),
    });
    assert.deepEqual([answer.status, await answer.text()], [200, "ok"]);
    assert.deepEqual(seen, ["/live"]);
  } finally {
    for (const peer of slow) peer.close();
    child.kill("SIGTERM");
    await child.status;
    await cockpit.shutdown();
    await Deno.remove(root, { recursive: true });
  }
});
