/**
 * A server that a real agent program reaches without the MCP proxy: the program requests approval
 * of its calls. Claude Code only: other programs declare tools in other ways. Calls through the
 * proxy are in `tests/runtimes/asked_once_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { KEY } from "tests/support/http_mcp.ts";
import { markedHub } from "tests/support/marked_hub.ts";
import { type SeenResult, sightOf } from "tests/support/model_sight.ts";
import { type ProgramScene, withProgram } from "tests/support/program_scene.ts";
import { programNamed, testPrograms } from "tests/support/runtime_programs.ts";

const CLAUDE_CODE = programNamed("claude-code");

/** Makes the model call a tool; returns the result that it read. */
async function call({ model, turn }: ProgramScene, tool: string): Promise<SeenResult> {
  const calls = [{ tool, arguments: { page: "home" } }];
  model.script({ kind: "answer", calls }, { kind: "answer", text: "ok" });
  assert.deepEqual((await turn(`use ${tool}`)).outcome, { outcome: "completed" });
  const result = sightOf(model.requests.at(-1)!).results.at(-1);
  assert.ok(result !== undefined);
  return result;
}

testPrograms(
  [CLAUDE_CODE.name],
  "asks about a call without the proxy by MCP and tool",
  async () => {
    await using hub = markedHub();
    const url = `${hub.url}?key=${encodeURIComponent(KEY)}`;
    const pages = { type: "http", url, headers: { authorization: `Bearer ${KEY}` } };
    const asks: unknown[] = [];
    await withProgram(CLAUDE_CODE, async (scene) => {
      const denied = await call(scene, "mcp__pages__wipe");
      assert.deepEqual(asks, [["pages", false, "wipe", { page: "home" }]]);
      assert.equal(denied.isError, true);
      assert.match(denied.text, /pages are kept/);
      assert.deepEqual(hub.calls, []);
    }, {
      mcps: { pages },
      decidePermission: ({ mcp, isProxied, tool, arguments: given }) => {
        asks.push([mcp, isProxied, tool, given]);
        return Promise.resolve({ decision: "deny", reason: "pages are kept" });
      },
    });
  },
);
