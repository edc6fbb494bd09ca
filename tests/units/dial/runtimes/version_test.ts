/**
 * The version that each kind of program reports: one that is not tested is logged and shown once,
 * and runs nevertheless.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, methods } from "@agentclientprotocol/sdk";
import { shippedDefinitions } from "core/runtimes/definitions.ts";
import type { WireProtocol } from "core/runtimes/definition.ts";
import { createVersionWatch } from "units/dial/runtimes/version_watch.ts";
import { type JsonPeer, jsonPeer, type PeerMessage } from "tests/fakes/json_peer.ts";
import { recordingLog } from "tests/fakes/log.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";
import { serve } from "tests/units/dial/runtimes/acp_scene.ts";
import { OPENED, THREAD, TURN } from "tests/units/dial/runtimes/codex_scene.ts";
import { type DriverScene, sceneOf, withTime } from "tests/units/dial/runtimes/driver_scene.ts";

type Answer = (peer: JsonPeer, message: PeerMessage) => Promise<void>;

function lineProgram(answer: Answer): FakeProgram {
  return async (call) => {
    const peer = jsonPeer(call);
    await peer.serve((message) => answer(peer, message));
  };
}

const PROGRAMS: Partial<Record<WireProtocol, (version: string) => FakeProgram>> = {
  acp: (version) => (call) =>
    serve(
      call,
      agent({ name: "fake" })
        .onRequest(methods.agent.initialize, () => ({
          protocolVersion: 1,
          agentCapabilities: { sessionCapabilities: { resume: {} } },
          agentInfo: { name: "fake", version },
        }))
        .onRequest(methods.agent.session.new, () => ({ sessionId: "s" }))
        .onRequest(methods.agent.session.resume, () => ({}))
        .onRequest(methods.agent.session.prompt, () => ({ stopReason: "end_turn" })),
    ),
  stream_json: (version) =>
    lineProgram(async (peer, message) => {
      if (message.type === "user") {
        await peer.say(
          { type: "system", subtype: "init", session_id: "s", claude_code_version: version },
          { type: "result", subtype: "success", is_error: false, result: "", session_id: "s" },
        );
      } else {
        const { request_id } = message;
        const response = { subtype: "success", request_id, response: {} };
        await peer.say({ type: "control_response", response });
      }
    }),
  codex_app_server: (version) =>
    lineProgram(async (peer, { id, method = "" }) => {
      if (id === undefined) return;
      const turn = { id: TURN, status: "completed" };
      if (method.startsWith("thread/")) await peer.say({ id, result: OPENED });
      else if (method === "turn/start") {
        await peer.say(
          { id, result: { turn } },
          { method: "turn/started", params: { threadId: THREAD, turn } },
          { method: "turn/completed", params: { threadId: THREAD, turn } },
        );
      } else {
        const userAgent = `fleetctl/${version} (Debian 12.0.0; x86_64) unknown (fleetctl; 0.1.0)`;
        await peer.say({ id, result: { userAgent } });
      }
    }),
};

/** Starts the program, runs a turn, ends it; returns the notices of the turn. */
async function noticesOf({ driver, host }: DriverScene): Promise<readonly string[]> {
  const session = await withTime(host, driver.start());
  const notices: string[] = [];
  const turn = session.prompt({ turnId: "t", text: "go" }, (update) => {
    if (update.kind === "notice") notices.push(update.text);
    return Promise.resolve();
  });
  assert.deepEqual(await withTime(host, turn), { outcome: "completed" });
  await withTime(host, session.close(1_000));
  return notices;
}

for (const name of ["claude-code", "codex", "opencode"]) {
  const definition = shippedDefinitions().get(name);
  assert.ok(definition !== undefined);
  const { known = [], sessionMode: _, ...rest } = definition;
  const create = PROGRAMS[definition.protocol];
  assert.ok(create !== undefined);
  const open = (version: () => string, tested: readonly string[]) =>
    sceneOf(
      { ...(name === "codex" ? definition : rest), known: tested },
      [definition.command, (call) => create(version())(call)],
      {},
    );

  Deno.test(`${name}: a version that is not tested is shown once, and runs`, async () => {
    let version = "9.9.9";
    const scene = open(() => version, known);
    const shown = (of: string) => `Version ${of} of ${name} is not tested (tested: ${known})`;
    assert.deepEqual(await noticesOf(scene), [shown("9.9.9")]);
    assert.deepEqual(await noticesOf(scene), [], "not again with the next start");
    version = "9.9.10";
    assert.deepEqual(await noticesOf(scene), [shown("9.9.10")]);
    assert.deepEqual(
      scene.host.log.of("runtime version not tested").map(({ fields }) => fields.version),
      ["9.9.9", "9.9.10"],
    );
  });

  Deno.test(`${name}: a tested version is only logged`, async () => {
    const scene = open(() => known[0] ?? "", known);
    assert.deepEqual(await noticesOf(scene), []);
    assert.equal(scene.host.log.of("runtime version")[0]?.fields.version, known[0]);
    assert.deepEqual(await noticesOf(open(() => "9.9.9", [])), [], "nothing to compare with");
  });
}

Deno.test("report() ignores an empty version and bounds a long one", () => {
  const watch = createVersionWatch({ runtime: "x", known: ["1"], log: recordingLog() });
  watch.report("");
  assert.deepEqual(watch.take(), []);
  watch.report("v".repeat(10_000));
  assert.ok(JSON.stringify(watch.take()).length < 300);
});
