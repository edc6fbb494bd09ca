/**
 * A proxy from the environment, with a process that starts with it. Each request goes through the
 * proxy, nothing bypasses it, and a request that it does not carry was never sent. The process has
 * the permissions of a gateway: to the requested host, not to the proxy.
 *
 * @module
 */

import assert from "node:assert/strict";
import { PROXY_VARIABLES } from "core/net/proxy_env.ts";

const CHILD = new URL("../../support/proxied_call_child.ts", import.meta.url).pathname;
const CONFIG = new URL("../../../deno.json", import.meta.url).pathname;

/** Listens, records what it receives, and answers each connection once. */
function listen(answer: string) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: string[] = [];
  const running = (async () => {
    for await (const connection of listener) {
      const buffer = new Uint8Array(8_192);
      const read = await connection.read(buffer);
      requests.push(new TextDecoder().decode(buffer.subarray(0, read ?? 0)));
      await connection.write(new TextEncoder().encode(answer));
      connection.close();
    }
  })().catch(() => {});
  return {
    port: (listener.addr as Deno.NetAddr).port,
    requests,
    [Symbol.asyncDispose]: async () => {
      listener.close();
      await running;
    },
  };
}

/** Sends a request from a separate process that may only reach the host of the URL. */
async function ask(url: string, env: Readonly<Record<string, string>>): Promise<string> {
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--no-check",
      "--cached-only",
      `--config=${CONFIG}`,
      `--allow-net=${new URL(url).host}`,
      `--allow-env=${PROXY_VARIABLES.join(",")}`,
      CHILD,
      url,
    ],
    env: { DENO_DIR: Deno.env.get("DENO_DIR") ?? "", HOME: Deno.env.get("HOME") ?? "", ...env },
    clearEnv: true,
  }).output();
  const decoder = new TextDecoder();
  return decoder.decode(stdout) || decoder.decode(stderr);
}

Deno.test("HTTPS_PROXY gets the request; a request that it refuses was never sent", async () => {
  await using proxy = listen("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
  const env = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
  assert.equal(await ask("https://smba.test/v3/x", env), "unmade");
  assert.deepEqual(proxy.requests.map((text) => text.split("\r\n")[0]), [
    "CONNECT smba.test:443 HTTP/1.1",
  ]);
  assert.equal(proxy.requests.join().includes("secret"), false);
});

Deno.test("an unreachable proxy is not bypassed", async () => {
  const proxy = listen("");
  await proxy[Symbol.asyncDispose]();
  const env = { ALL_PROXY: `http://127.0.0.1:${proxy.port}` };
  assert.equal(await ask("https://smba.test/v3/x", env), "unmade");
});

Deno.test("a proxy gets no request to this machine, and NO_PROXY exempts a host", async () => {
  await using proxy = listen("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
  await using server = listen("HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}");
  const at = `http://127.0.0.1:${proxy.port}`;
  const local = `http://127.0.0.1:${server.port}/v3/x`;
  assert.equal(await ask(local, { HTTP_PROXY: at, ALL_PROXY: at }), "201 {}");
  // The name does not exist: the process resolved it instead of handing it to the proxy.
  const exempt = { HTTPS_PROXY: at, NO_PROXY: "other.test,smba.test" };
  assert.equal(await ask("https://smba.test/v3/x", exempt), "unmade");
  assert.deepEqual([proxy.requests, server.requests.length], [[], 1]);
});
