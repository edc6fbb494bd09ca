/**
 * The whole loop with a real MCP server over stdio: its tools, how each answer is converted, and
 * servers that do not start or that die.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pngOf } from "tests/support/sample_images.ts";
import { fixtureServer } from "tests/support/runtime_process.ts";
import { of, withRuntime } from "tests/support/runtime_scene.ts";

Deno.test("runtime calls MCP tools and names server and tool", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "echo", arguments: { say: "hello" } }] },
      { kind: "answer", calls: [{ tool: "fix_read", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "fail", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "refuse", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "environment", arguments: {} }] },
      { kind: "answer", text: "done" },
    );
    const { updates } = await runtime.turn("work");
    assert.deepEqual(of(updates, "tool_call").map((call) => [call.mcp, call.tool]), [
      ["fix", "echo"],
      ["fix", "read"],
      ["fix", "fail"],
      ["fix", "refuse"],
      ["fix", "environment"],
    ]);
    const results = of(updates, "tool_result");
    assert.deepEqual(results.slice(0, 4).map(({ status, text }) => [status, text]), [
      ["completed", "hello"],
      ["completed", "not a file"],
      ["failed", "it went wrong"],
      ["denied", "blocked by policy"],
    ]);
    const names = results[4]?.text.split(" ") ?? [];
    assert.ok(names.includes("GIVEN"));
    assert.ok(!names.includes("FLEETCTL_MODEL_KEY"), "a server gets no key that is not its own");
    const notices = of(updates, "notice").map((notice) => notice.text);
    assert.equal(notices.length, 2, "each broken server is told once");
    assert.match(notices[0] ?? "", /MCP "needy" is not available: it needs SOME_TOKEN/);
    assert.match(
      notices[1] ?? "",
      /MCP "broken" is not available: it ended with exit code 3: no socket/,
    );
    model.script({ kind: "answer", text: "again" });
    assert.deepEqual(of((await runtime.turn("more")).updates, "notice"), []);
  }, {
    servers: {
      broken: { command: "/bin/sh", args: ["-c", "echo no socket >&2; exit 3"] },
      needy: { command: "/bin/true", env: { TOKEN: "${SOME_TOKEN}" } },
      fix: fixtureServer({ GIVEN: "yes" }),
    },
  });
});

Deno.test("runtime reports an MCP server that dies in a call, and starts it again", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [{ tool: "die", arguments: {} }] },
      { kind: "answer", calls: [{ tool: "echo", arguments: { say: "back" } }] },
      { kind: "answer", text: "done" },
    );
    const { outcome, updates } = await runtime.turn("work");
    assert.deepEqual(outcome, { outcome: "completed" });
    const [died, again] = of(updates, "tool_result");
    assert.equal(died?.status, "failed");
    assert.match(
      died?.text ?? "",
      /MCP "fix" disconnected during the call: it ended with signal SIGKILL: the fixture gives up/,
    );
    assert.deepEqual([again?.status, again?.text], ["completed", "back"]);
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("runtime stops using a server that sends half a message, without waiting", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script({ kind: "answer", text: "done" });
    const { updates } = await runtime.turn("work");
    assert.deepEqual(of(updates, "notice").map((notice) => notice.text.split(" (")[0]), [
      'MCP "half" is not available: one of its answers is unusable, it is not JSON',
    ]);
  }, {
    servers: {
      half: {
        command: "/bin/sh",
        args: ["-c", `read first; echo '{"jsonrpc":"2.0","id"'; exec sleep 600`],
      },
    },
  });
});

Deno.test("runtime passes on the image of an MCP server, and names it for the model", async () => {
  await withRuntime(async ({ model, runtime }) => {
    const call = { tool: "shot", arguments: {} };
    model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "seen" });
    const { updates } = await runtime.turn("take a picture");
    const text = of(updates, "tool_result")[0]?.text ?? "";
    assert.match(text, /^a picture\n\[image 30×20 PNG, \d+ B\]$/);
    const images = of(updates, "image").map(({ image }) => "base64" in image && image.base64);
    assert.deepEqual(images, [(await pngOf(30, 20)).toBase64()]);
    assert.ok(JSON.stringify(model.requests[1]?.body.messages).includes(JSON.stringify(text)));
  }, { servers: { fix: fixtureServer() } });
});
