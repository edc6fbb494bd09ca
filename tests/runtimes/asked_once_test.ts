/**
 * Dial unit, proxy and gate with each real agent program. A person decides once about each call of
 * a tool marked `ask`, and never about a tool without a mark. The model reads the reason of a
 * denial as the tool's result. A later mark applies at once. The first turn after a restart has the
 * tools and the history.
 *
 * @module
 */

import assert from "node:assert/strict";
import { withGatedProgram } from "tests/support/gated_program.ts";
import { sightOf } from "tests/support/model_sight.ts";
import { wantedPrograms } from "tests/support/runtime_programs.ts";

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} causes one approval for each call of a tool that asks`, async () => {
    await withGatedProgram(program, async ({ model, executed, turn, rule, restart }) => {
      const has = (tool: string) => program.toolName("bench", tool);
      const script = (tool: string, args: unknown) => {
        model.forget();
        model.script(
          { kind: "answer", calls: [{ tool: has(tool), arguments: args }] },
          { kind: "answer", text: "done" },
        );
      };
      const read = () => sightOf(model.requests.at(-1)!).results.at(-1);

      script("look", { n: 1 });
      await turn("look");
      const { tools } = sightOf(model.requests[0]!);
      assert.ok(tools.includes(has("write")) && !tools.includes(has("wipe")), tools.join(" "));
      assert.deepEqual(executed.map((params) => [params.name, params.arguments]), [
        ["look", { n: 1 }],
      ]);

      for (const decision of ["approved", "denied"] as const) {
        script("write", { text: decision });
        const events = await turn("write", () => ({ decision, reason: "not on a Friday" }));
        const asked = events.filter(({ kind }) => kind === "approval_asked");
        assert.deepEqual(
          asked.map(({ payload }) => [payload.mcp, payload.tool, payload.arguments]),
          [
            ["bench", "write", { text: decision }],
          ],
        );
        const [call] = events.filter(({ kind }) => kind === "tool_call").slice(-1);
        assert.deepEqual([call?.payload.mcp, call?.payload.tool, call?.payload.arguments], [
          "bench",
          "write",
          { text: decision },
        ]);
        const { text = "", isError } = read() ?? {};
        assert.match(text, decision === "approved" ? /"approved"/ : /denied it: not on a Friday/);
        assert.notEqual(isError, decision === "approved");
      }
      assert.deepEqual(executed.map(({ name }) => name), ["look", "write"]);

      // A mark set while the program runs applies from the next call on.
      await rule({ write: "ask", wipe: "block", look: "block" });
      script("look", { n: 1 });
      await turn("look once more");
      if (program.definition().protocol === "acp") {
        // These programs ask about the call and pass no reason on; the next turn begins with it.
        model.forget();
        model.script({ kind: "answer", text: "noted" });
        await turn("and now?");
      }
      const { results, userTexts } = sightOf(model.requests.at(-1)!);
      assert.match(
        [results.at(-1)?.text, ...userTexts.slice(-1)].join("\n"),
        /"look" of MCP "bench": the tool is declared "risk: block"/,
      );
      assert.deepEqual(executed.map(({ name }) => name), ["look", "write"]);
      await rule({ write: "ask", wipe: "block" });

      await restart();
      const from = model.requests.length;
      script("look", { n: 2 });
      await turn("look again");
      const resumed = sightOf(model.requests[from]!);
      assert.ok(resumed.tools.includes(has("look")), resumed.tools.join(" "));
      assert.ok(resumed.userTexts.some((text) => text.includes("write")), "the history is kept");
      assert.deepEqual(executed.at(-1)?.arguments, { n: 2 });
    });
  });
}
