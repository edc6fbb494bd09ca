/**
 * What drivers tell a program because of the mode in the agent's record: arguments, settings of a
 * session, and the policy of a thread. Without a mode they tell nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, methods } from "@agentclientprotocol/sdk";
import { defined } from "core/defined.ts";
import { ASK_MODES, type AskMode } from "core/ledger/agent.ts";
import { seededRandom } from "tests/fakes/random.ts";
import { serve, setUpInSession } from "tests/units/dial/runtimes/acp_scene.ts";
import { SESSION_FILE, withTime } from "tests/units/dial/runtimes/driver_scene.ts";
import { claudeSettings } from "units/dial/runtimes/claude_settings.ts";
import { refusedParameter, threadParams } from "units/dial/runtimes/codex_thread.ts";
import { streamJson } from "units/dial/runtimes/stream_json.ts";

const MODES: readonly (AskMode | undefined)[] = [undefined, ...ASK_MODES];
const asksMore = (ask: AskMode | undefined) => ask === "changes" || ask === "outside";

for (const ask of MODES) {
  Deno.test(`Claude Code gets rules that ask by arguments in mode ${ask}`, () => {
    const argsOf = (args: readonly string[]) =>
      streamJson(seededRandom()).askArgs?.({ args, ...defined({ ask }) });
    const settings = JSON.stringify(claudeSettings(ask));
    assert.deepEqual(argsOf(["-p"]), asksMore(ask) ? ["--settings", settings] : []);
    // The host's own settings stay.
    for (const args of [["--settings", "/etc/x.json"], ["--settings=/etc/x.json"]]) {
      assert.deepEqual(argsOf(args), []);
    }
  });

  Deno.test(`an ACP program gets rules for Claude Code by its session in mode ${ask}`, async () => {
    const reported: unknown[] = [];
    const app = () =>
      agent({ name: "fake" })
        .onRequest(methods.agent.initialize, () => ({
          protocolVersion: 1,
          agentCapabilities: { sessionCapabilities: { resume: {} } },
        }))
        .onRequest(methods.agent.session.new, ({ params }) => {
          reported.push(params._meta);
          return { sessionId: "s" };
        })
        .onRequest(methods.agent.session.resume, ({ params }) => {
          reported.push(params._meta);
          return {};
        });
    const stored = { [SESSION_FILE]: '{"runtime":"runtime-x","session_id":"s"}' };
    for (const files of [{}, stored]) {
      const { driver, host } = setUpInSession((call) => serve(call, app()), {
        files,
        ...defined({ ask }),
      });
      const session = await driver.start();
      await withTime(host, session.close(1_000));
    }
    const settings = claudeSettings(ask);
    const meta = asksMore(ask) ? { claudeCode: { options: { settings } } } : undefined;
    assert.deepEqual(reported, [meta, meta]);
  });
}

const FREE = ["outside", "never"];
const THREADS = MODES.flatMap((ask) =>
  ["danger-full-access", "workspace-write", "read-only", undefined].map((mode) => ({
    ask,
    mode,
    policy: mode === "workspace-write" && FREE.includes(ask ?? "") ? "on-request" : "untrusted",
  }))
);
for (const { ask, mode, policy } of THREADS) {
  Deno.test(`codex with sandbox ${mode} asks ${policy} in mode ${ask}`, () => {
    const params = threadParams({ cwd: "/ws", mode, ask, entries: [] });
    assert.equal(params.approvalPolicy, policy);
    assert.equal(params.approvalsReviewer, "user");
    const { web_search: search } = params.config as { web_search?: string };
    assert.equal(search, asksMore(ask) ? "disabled" : undefined);
    const sandbox = { type: { "workspace-write": "workspaceWrite" }[mode ?? ""] ?? mode };
    const opened = { approvalPolicy: policy, approvalsReviewer: "user", sandbox };
    const other = policy === "untrusted" ? "on-request" : "untrusted";
    const refused = refusedParameter({ ...opened, approvalPolicy: other }, { mode, ask });
    assert.match(refused ?? "", new RegExp(`does not accept approvalPolicy "${policy}"`));
    if (mode === "workspace-write") {
      assert.equal(refusedParameter(opened, { mode, ask }), undefined);
    }
  });
}
