/**
 * The files with the ids of a runtime's conversations: where they are, how many, and what a driver
 * does with them.
 *
 * @module
 */

import { agent, methods, RequestError } from "@agentclientprotocol/sdk";
import assert from "node:assert/strict";
import { jsonPeer } from "tests/fakes/json_peer.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { serve, setUp } from "tests/units/dial/runtimes/acp_scene.ts";
import { SESSION_FILE, withTime } from "tests/units/dial/runtimes/driver_scene.ts";
import { openDriver } from "tests/units/dial/runtimes/line_scene.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { CONVERSATIONS_MAX, openSessionFile } from "units/dial/runtimes/session_file.ts";

const FOLDER = SESSION_FILE.replace("session.json", "sessions");

Deno.test("the session ids of the most recently used conversations are kept", async () => {
  let now = 0;
  const files = memoryFiles({}, { now: () => now });
  const ports = { files, log: recordingLog() };
  const used = await openSessionFile(ports, SESSION_FILE, "used");
  const keep = async (path: string) => {
    await files.ensureDir(FOLDER, { mode: 0o700 });
    await files.write(path, `{"n":${++now}}\n`, { mode: 0o600 });
  };
  await keep(used);
  for (let n = 0; n < 10_000; n++) {
    await keep(await openSessionFile(ports, SESSION_FILE, `c${n}`));
    if (n % 500 === 0) assert.equal(await openSessionFile(ports, SESSION_FILE, "used"), used);
  }
  const kept = await files.list(FOLDER);
  assert.ok(kept.length > 800 && kept.length <= CONVERSATIONS_MAX, `${kept.length}`);
  assert.ok(kept.includes("used.json") && kept.includes("c9999.json"));
  assert.ok(!kept.includes("c0.json"));
});

Deno.test("a conversation opens even if the disk is full", async () => {
  const host = memoryHost({ files: { [`${FOLDER}/b.json`]: "{}" } });
  host.files.failUnder(FOLDER, "ENOSPC");
  assert.equal(await openSessionFile(host, SESSION_FILE, "b"), `${FOLDER}/b.json`);
  assert.equal(host.log.of("conversations not tidied").length, 1);
});

Deno.test("an ACP program resumes the session of the conversation", async () => {
  const asked: string[] = [];
  let begun = 0;
  const { driver, host } = setUp((call) =>
    serve(
      call,
      agent({ name: "fake" })
        .onRequest(methods.agent.initialize, () => ({
          protocolVersion: 1,
          agentCapabilities: { sessionCapabilities: { resume: {} } },
        }))
        .onRequest(methods.agent.session.new, () => ({ sessionId: `s-${++begun}` }))
        .onRequest(methods.agent.session.resume, ({ params }) => {
          if (params.sessionId === "s-2") throw new RequestError(-32602, "no such session");
          asked.push(`resume ${params.sessionId}`);
          return {};
        })
        .onRequest(methods.agent.session.prompt, ({ params }) => {
          asked.push(params.sessionId);
          return { stopReason: "end_turn" };
        }),
    )
  );
  const updates: RuntimeUpdate[] = [];
  for (const conversation of [undefined, "b", undefined, "b"]) {
    const session = await driver.start(undefined, conversation);
    for (const turnId of ["t1", "t2"]) {
      const onUpdate = (update: RuntimeUpdate) => Promise.resolve(void updates.push(update));
      await session.prompt({ turnId, text: "go" }, onUpdate);
    }
    await withTime(host, session.close(1_000));
  }
  assert.deepEqual(asked, ["s-1", "s-1", "s-2", "s-2", "resume s-1", "s-1", "s-1", "s-3", "s-3"]);
  assert.deepEqual(updates, [{
    kind: "notice",
    text: "Conversation lost: the runtime does not know its earlier turns any more " +
      "(no such session). This turn begins a new one.",
  }]);
  assert.equal(JSON.parse(host.files.text(`${FOLDER}/b.json`) ?? "").session_id, "s-3");
});

Deno.test("a program of a line protocol resumes the session of the conversation", async () => {
  const opened: unknown[] = [];
  let starts = 0;
  const { driver, host } = openDriver("rpc_jsonl", async (call) => {
    const peer = jsonPeer(call);
    const sessionFile = `/s/${++starts}.jsonl`;
    await peer.serve(async (command) => {
      const answer = { type: "response", id: command.id, command: command.type, success: true };
      if (command.type === "switch_session") opened.push(command.sessionPath);
      if (command.type === "get_state") await peer.say({ ...answer, data: { sessionFile } });
      else await peer.say(answer);
      if (command.type === "prompt") {
        await peer.say({ type: "agent_start" });
        await peer.say({ type: "agent_end", messages: [] });
      }
    });
    return 0;
  });
  for (const conversation of [undefined, "b", undefined]) {
    const session = await driver.start(undefined, conversation);
    await withTime(host, session.close(1_000));
  }
  assert.deepEqual(opened, ["/s/1.jsonl"]);
  assert.equal(JSON.parse(host.files.text(`${FOLDER}/b.json`) ?? "").session_id, "/s/2.jsonl");
});
