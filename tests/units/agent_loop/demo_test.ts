/**
 * The demo model through the whole loop: no provider, a real loopback endpoint, a real MCP server.
 *
 * @module
 */

import assert from "node:assert/strict";
import { systemSockets } from "core/os/sockets.ts";
import { systemClock } from "core/os/clock.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { seededRandom } from "tests/fakes/random.ts";
import {
  fixtureServer,
  inHome,
  startRuntime,
  writeClientConfig,
} from "tests/support/runtime_process.ts";
import { piecesOf, startDemoEndpoint } from "units/agent_loop/demo/endpoint.ts";

Deno.test("without a provider the demo model runs real tools and says what it is", async () => {
  await inHome(async (home) => {
    await writeClientConfig(home, { git: fixtureServer() });
    const runtime = await startRuntime(home, { FLEETCTL_PROJECT: "/srv/project" });
    try {
      const commit = await runtime.turn("last commit of this project");
      assert.deepEqual(commit.outcome, { outcome: "completed" });
      assert.match(commit.text, /commit: f{40}\n- subject: 1 of \/srv\/project/);
      const [notice] = commit.updates.filter((update) => update.kind === "notice");
      assert.match(notice?.text ?? "", /the demo model answers/);
      const [call] = commit.updates.filter((update) => update.kind === "tool_call");
      assert.deepEqual([call?.mcp, call?.tool, call?.arguments], [
        "git",
        "git_log",
        { path: "/srv/project", maxCount: 1 },
      ]);
      assert.match(
        (await runtime.turn("last commit of /none")).text,
        /The git MCP failed:\n\n```\nnot a git repository/,
      );
      assert.match(
        (await runtime.turn('call echo {"say": "hi"}')).text,
        /`echo` answered:[\s\S]*hi/,
      );
      const what = await runtime.turn("what can you do");
      assert.match(what.text, /`bash`[\s\S]*`git_log`: Shows commits/);
      assert.ok(what.updates.filter((update) => update.kind === "text_delta").length > 10);
    } finally {
      await runtime.session.close(5_000);
    }
  });
});

Deno.test("the demo endpoint answers only with its token, and only its protocol", async () => {
  const log = recordingLog();
  const endpoint = await startDemoEndpoint(
    { agent: "ada", cwd: "/", home: "/", project: "/", fleetctl: "fleetctl" },
    {
      sockets: systemSockets({ processes: fakeProcesses(), log }),
      random: seededRandom(),
      clock: systemClock(),
    },
  );
  try {
    assert.match(endpoint.baseUrl, /^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    assert.match(endpoint.key, /^[0-9a-f]{64}$/);
    const good = { authorization: `Bearer ${endpoint.key}` };
    const body = JSON.stringify({ model: "demo", messages: [{ role: "user", content: "hi" }] });
    const rows: readonly (readonly [string, RequestInit, number])[] = [
      ["/chat/completions", { method: "POST", body }, 401],
      ["/chat/completions", { method: "POST", body, headers: { authorization: "Bearer x" } }, 401],
      ["/chat/completions", { method: "POST", body: "{", headers: good }, 400],
      ["/chat/completions", { method: "POST", body: "{}", headers: good }, 400],
      ["/chat/completions", { headers: good }, 404],
      ["/elsewhere", { method: "POST", body, headers: good }, 404],
      ["/models", { headers: good }, 200],
      ["/chat/completions", { method: "POST", body, headers: good }, 200],
      ["/chat/completions", { method: "POST", body: endless(), headers: good }, 413],
    ];
    for (const [path, init, status] of rows) {
      const response = await fetch(endpoint.baseUrl + path, init);
      await response.text();
      assert.equal(response.status, status, `${init.method ?? "GET"} ${path}`);
    }
  } finally {
    await endpoint.close();
  }
});

/** A body without a declared length that never ends. */
function endless(): ReadableStream<Uint8Array> {
  const chunk = new TextEncoder().encode(" ".repeat(1024 * 1024));
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}

Deno.test("piecesOf() loses nothing", () => {
  for (const text of ["", " ", "a", "  a\n\nb  ", "word ".repeat(2_000)]) {
    assert.equal(piecesOf(text).join(""), text);
  }
});
