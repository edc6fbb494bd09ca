/**
 * Connecting to a server that does not start.
 *
 * @module
 */

import assert from "node:assert/strict";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { type Wire, wireOf } from "units/mcp/wire.ts";
import { fakeClock } from "tests/fakes/clock.ts";
import { openLink } from "units/mcp/server_link.ts";

const TARGET = { mcp: "bench", socket: "/run/mcp/bench.sock" };

Deno.test("openLink() gives up a socket that does not accept, closes it when it does", async () => {
  const clock = fakeClock();
  const accepted = Promise.withResolvers<Wire>();
  const opening = openLink(TARGET, { clock, openServer: () => accepted.promise });
  await clock.advance(MCP_LIMITS.connectSeconds * 1000);
  const opened = await opening;
  assert.ok(!opened.ok);
  assert.equal(opened.error.code, "mcp-unreachable");
  assert.match(opened.error.message, /did not accept within 10 s/);
  assert.ok(opened.error.hints.length > 0, "it says what to run");
  const wire = wireOf(new TransformStream<Uint8Array, Uint8Array>());
  let isClosed = false;
  accepted.resolve({ ...wire, close: () => void (isClosed = true) });
  await accepted.promise;
  assert.ok(isClosed);
});

Deno.test("openLink() reports the state of the socket; for a URL only the fault", async () => {
  const fails = (thrown: Error) => () => Promise.reject(thrown);
  for (
    const [socket, thrown, want] of [
      [TARGET.socket, new Deno.errors.NotFound("x"), /its socket ".*" does not exist/],
      [TARGET.socket, new Deno.errors.ConnectionRefused("x"), /has no listener/],
      [TARGET.socket, new Deno.errors.PermissionDenied("x"), /belongs to another user/],
      [TARGET.socket, new Error("odd"), /cannot be used: odd/],
      ["", new Error("HUB_TOKEN is not set"), /^Cannot reach MCP "bench": HUB_TOKEN is not set$/],
    ] as const
  ) {
    const clock = fakeClock();
    const opened = await openLink({ mcp: "bench", socket }, { clock, openServer: fails(thrown) });
    assert.ok(!opened.ok && want.test(opened.error.message), JSON.stringify(opened));
  }
});
