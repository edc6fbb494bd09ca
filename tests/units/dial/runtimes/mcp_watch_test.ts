/**
 * Waiting for the MCPs of a streaming JSON runtime, and reporting those that a turn lacks.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createMcpWatch, MCPS_READY_MS } from "units/dial/runtimes/mcp_watch.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import { fakeClock, settle } from "tests/fakes/clock.ts";

const GIT = "git";
const report = (...states: readonly string[]) => ({
  mcpServers: states.map((status, index) => ({ name: [GIT, "pages"][index], status })),
});

/** A watch whose program gives one report after the other and then repeats the last one. */
function scene(ask: (asked: number) => Promise<Message>, names: readonly string[] = [GIT]) {
  const clock = fakeClock();
  const reported: string[] = [];
  let asked = 0;
  const watch = createMcpWatch({
    names,
    clock,
    ask: () => ask(++asked),
    onMcps: (loads) => void reported.push(loads.map(({ state }) => state).join(" ")),
  });
  return { clock, reported, watch, asked: () => asked };
}

const NEVER = new AbortController().signal;

Deno.test("settle() asks again while an MCP is connecting", async () => {
  const { clock, reported, watch } = scene((asked) =>
    Promise.resolve(asked < 3 ? report("pending", "connected") : report("connected", "connected"))
  );
  let isOver = false;
  const over = watch.settle(NEVER).then(() => isOver = true);
  await settle();
  assert.ok(!isOver);
  await clock.advanceToNext();
  await clock.advanceToNext();
  await over;
  assert.deepEqual(reported, ["pending", "pending", "connected"]);
});

Deno.test("settle() waits at most its time limit, and the turn names missing MCPs", async () => {
  const { clock, reported, watch } = scene(() => Promise.resolve(report("pending")));
  let isOver = false;
  const over = watch.settle(NEVER).then(() => isOver = true);
  await clock.advance(MCPS_READY_MS - 1);
  assert.ok(!isOver);
  await clock.advance(1);
  await over;
  assert.equal(reported.at(-1), "pending");
  const turn = (status: string) => watch.onTurn({ mcp_servers: [{ name: GIT, status }] });
  assert.deepEqual(turn("pending"), [{
    sessionUpdate: "notice",
    title: "Without these MCPs",
    description: "git (still connecting)",
  }]);
  assert.deepEqual(turn("pending"), []);
  assert.deepEqual(turn("connected"), []);
  assert.equal(reported.at(-1), "connected");
  assert.equal(turn("needs-auth").length, 1);
});

Deno.test("settle() gives up on a program that does not answer", async () => {
  const { clock, reported, watch } = scene(() => new Promise(() => {}));
  const over = watch.settle(NEVER);
  await clock.advance(MCPS_READY_MS);
  await over;
  assert.deepEqual(reported, []);
});

Deno.test("settle() reports nothing about a program without a report", async () => {
  const { reported, watch } = scene(() => Promise.reject(new Error("not supported")));
  await watch.settle(NEVER);
  assert.deepEqual(watch.onTurn({}), []);
  assert.deepEqual(reported, []);
});

Deno.test("settle() does not ask for an agent without MCPs", async () => {
  const { watch, asked } = scene(() => Promise.resolve(report()), []);
  await watch.settle(NEVER);
  assert.equal(asked(), 0);
});

Deno.test("an MCP that a report omits is absent; an unknown state counts as failed", async () => {
  const { reported, watch } = scene(() => Promise.resolve(report("melted")), [GIT, "pages"]);
  await watch.settle(NEVER);
  assert.deepEqual(reported, ["failed absent"]);
});
