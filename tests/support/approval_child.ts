/**
 * One component of a call's path as a separate process, so that a test can kill it: `gateway ROOT
 * COCKPIT_PORT DIAL_PORT`, `dial ROOT DIAL_URL`, `server SOCKET LOG`. The fourth component, the
 * proxy, is the product's own program. Prints `ready` on stdout.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import { scriptedRuntime } from "tests/fakes/runtime.ts";
import { hastyClock, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway } from "tests/support/gateway_fixture.ts";

const [role, first = "", second = "", third = ""] = Deno.args;
const host = { ...openHost({ log: { program: `child-${role}`, level: "error" } }) };

switch (role) {
  case "gateway":
    await startTestGateway({
      host,
      env: {
        FLEETCTL_ROOT: first,
        WEBVIEW_COCKPIT_LISTEN: `127.0.0.1:${second}`,
        WEBVIEW_DIAL_LISTEN: `127.0.0.1:${third}`,
      },
    });
    break;
  case "dial":
    await startTestDial({
      url: second,
      driver: scriptedRuntime(),
      env: { FLEETCTL_ROOT: first },
      host: { ...host, clock: hastyClock(20) },
    });
    break;
  case "server":
    await Deno.remove(first).catch(() => {/* no socket at the first start */});
    void serve(Deno.listen({ transport: "unix", path: first }), second);
    break;
  default:
    throw new Error(`there is no part ${role}`);
}
console.log("ready");

/** Serves calls; each is in the log before it is answered. */
async function serve(listener: Deno.UnixListener, log: string): Promise<void> {
  for await (const connection of listener) void answer(connection, log).catch(() => {});
}

async function answer(connection: Deno.UnixConn, log: string): Promise<void> {
  let rest = "";
  for await (const chunk of connection.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { id, params } = JSON.parse(line);
      await Deno.writeTextFile(log, `${params.arguments.n}\n`, { append: true });
      const result = { content: [{ type: "text", text: "done" }] };
      await connection.write(
        new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`),
      );
    }
  }
}
