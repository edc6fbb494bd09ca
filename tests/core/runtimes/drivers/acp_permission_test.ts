/**
 * What the ACP driver answers a runtime that asks whether it may.
 *
 * @module
 */

import assert from "node:assert/strict";
import { methods } from "@agentclientprotocol/sdk";
import type { PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import { plainAgent, serve, setUp } from "tests/core/runtimes/drivers/acp_scene.ts";
import { withTime } from "tests/core/runtimes/drivers/driver_scene.ts";

const OPTIONS = [
  { optionId: "always", name: "Always", kind: "allow_always" as const },
  { optionId: "yes", name: "Yes", kind: "allow_once" as const },
  { optionId: "no", name: "No", kind: "reject_once" as const },
];
const PERMISSION_ROWS: readonly (readonly [string, PermissionDecider | undefined, unknown])[] = [
  ["nobody decides", undefined, { outcome: "selected", optionId: "no" }],
  ["it is denied", () => Promise.resolve("deny"), { outcome: "selected", optionId: "no" }],
  ["it is allowed", () => Promise.resolve("allow"), { outcome: "selected", optionId: "yes" }],
  ["deciding fails", () => Promise.reject(new Error("x")), { outcome: "selected", optionId: "no" }],
];
for (const [when, decidePermission, wanted] of PERMISSION_ROWS) {
  Deno.test(`a permission request is answered once and never for good when ${when}`, async () => {
    let answered: unknown;
    const { driver, host } = setUp(
      (call) =>
        serve(
          call,
          plainAgent().onRequest(methods.agent.session.prompt, async ({ params, client }) => {
            const response = await client.request(methods.client.session.requestPermission, {
              sessionId: params.sessionId,
              toolCall: { toolCallId: "c", title: "rm", rawInput: { path: "/" } },
              options: OPTIONS,
            });
            answered = (response as { outcome: unknown }).outcome;
            return { stopReason: "end_turn" };
          }),
        ),
      decidePermission === undefined ? {} : { decidePermission },
    );
    const session = await driver.start();
    await session.prompt({ turnId: "t", text: "go" }, () => Promise.resolve());
    assert.deepEqual(answered, wanted);
    await withTime(host, session.close(1_000));
  });
}
