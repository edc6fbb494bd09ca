/**
 * Session files: resume, torn lines, locks, a full disk, growth.
 *
 * @module
 */

import assert from "node:assert/strict";
import { memoryHost } from "tests/fakes/host.ts";
import {
  createConversation,
  openConversation,
  parseRecords,
} from "units/agent_loop/conversation/store.ts";

const FOLDER = "/home/ada/.runtime-b/agent/sessions";
const ID = "session-00000001";
const PATH = `${FOLDER}/${ID}.jsonl`;

function must<T>(result: { ok: true; value: T } | { ok: false; error: { message: string } }): T {
  if (!result.ok) throw new Error(result.error.message);
  return result.value;
}

Deno.test("openConversation() resumes what createConversation() stored", async () => {
  const host = memoryHost();
  const first = must(await createConversation(FOLDER, { id: ID, cwd: "/home/ada" }, host));
  await first.append({ type: "user", at: 1, text: "hello" });
  await first.append({ type: "assistant", at: 2, parts: [{ type: "text", text: "hi" }] });
  await first.append({ type: "end", at: 3, outcome: "completed" });
  await first.close();
  assert.equal((await host.files.stat(PATH))?.mode, 0o600);
  assert.equal((await host.files.stat(FOLDER))?.mode, 0o700);
  const again = must(await openConversation(FOLDER, ID, host));
  assert.deepEqual(again.messages(), [
    { role: "user", text: "hello" },
    { role: "assistant", parts: [{ type: "text", text: "hi" }] },
  ]);
  await again.close();
});

Deno.test("openConversation() skips a torn last line and keeps the next record apart", async () => {
  const lines = [
    JSON.stringify({ type: "session", version: 1, id: ID, at: 1, cwd: "/" }),
    JSON.stringify({ type: "user", at: 1, text: "go" }),
    '{"type":"assistant","at":2,"par',
  ];
  const host = memoryHost({ files: { [PATH]: lines.join("\n") } });
  const conversation = must(await openConversation(FOLDER, ID, host));
  assert.equal(host.log.of("session lines skipped").length, 1);
  await conversation.closeOpenTurn();
  await conversation.closeOpenTurn();
  assert.deepEqual(conversation.messages().map((message) => message.role), ["user", "assistant"]);
  await conversation.append({ type: "user", at: 3, text: "next" });
  await conversation.close();
  const { records, skipped } = parseRecords(host.files.text(PATH) ?? "");
  assert.equal(skipped, 1);
  assert.deepEqual(records.map((record) => record.type), ["session", "user", "end", "user"]);
});

Deno.test("openConversation() refuses invalid session ids", async () => {
  const host = memoryHost();
  for (const id of ["", "../../etc/passwd", "session-00000002", "a", "x".repeat(100)]) {
    const opened = await openConversation(FOLDER, id, host);
    assert.equal(opened.ok ? "" : opened.error.code, "session-unknown", id);
  }
});

Deno.test("openConversation() refuses a session that another runtime holds", async () => {
  const host = memoryHost();
  const first = must(await createConversation(FOLDER, { id: ID, cwd: "/" }, host));
  const second = openConversation(FOLDER, ID, host);
  await host.clock.advance(15_000);
  const opened = await second;
  assert.equal(opened.ok ? "" : opened.error.code, "session-busy");
  await first.close();
});

Deno.test("append() that fails leaves the conversation unchanged", async () => {
  const host = memoryHost();
  const conversation = must(await createConversation(FOLDER, { id: ID, cwd: "/" }, host));
  host.files.failUnder(PATH, "ENOSPC");
  await assert.rejects(conversation.append({ type: "user", at: 1, text: "lost" }), /ENOSPC/);
  assert.deepEqual(conversation.messages(), []);
  host.files.failUnder(PATH, undefined);
  await conversation.append({ type: "user", at: 1, text: "kept" });
  assert.deepEqual(conversation.messages(), [{ role: "user", text: "kept" }]);
  await conversation.close();
});

Deno.test("openConversation() shortens a large file, and counts the dropped turns", async () => {
  const turns = Array.from({ length: 30 }, (_, index) => [
    JSON.stringify({ type: "user", at: 1, text: `${index} ${"x".repeat(600_000)}` }),
    JSON.stringify({ type: "end", at: 1, outcome: "completed" }),
  ]).flat();
  const header = JSON.stringify({ type: "session", version: 1, id: ID, at: 1, cwd: "/" });
  const host = memoryHost({ files: { [PATH]: [header, ...turns, ""].join("\n") } });
  const conversation = must(await openConversation(FOLDER, ID, host));
  const kept = conversation.records().filter((record) => record.type === "user").length;
  assert.ok(kept >= 5 && kept < 10, `${kept} turns`);
  assert.equal(conversation.forgottenTurns(), 30 - kept);
  assert.ok((host.files.text(PATH)?.length ?? 0) < 6_000_000);
  await conversation.close();
});

Deno.test("forget() drops the oldest turns but never the last", async () => {
  const host = memoryHost();
  const conversation = must(await createConversation(FOLDER, { id: ID, cwd: "/" }, host));
  for (const text of ["a", "b", "c"]) {
    await conversation.append({ type: "user", at: 1, text });
    await conversation.append({ type: "end", at: 1, outcome: "completed" });
  }
  conversation.forget(10);
  assert.equal(conversation.forgottenTurns(), 2);
  assert.deepEqual(conversation.messages()[0], { role: "user", text: "c" });
  await conversation.close();
});

Deno.test("a stored summary hides older records, also after it is opened again", async () => {
  const host = memoryHost();
  const first = must(await createConversation(FOLDER, { id: ID, cwd: "/" }, host));
  for (const text of ["one", "two", "three"]) {
    await first.append({ type: "user", at: 1, text });
    await first.append({ type: "end", at: 1, outcome: "completed" });
  }
  const summary = { type: "summary", at: 2, id: "s1", text: "S", kept: 2, by: "model" } as const;
  await first.append(summary);
  const seen = first.messages();
  assert.deepEqual(seen[0], { role: "user", text: "three" });
  await first.append({ type: "user", at: 3, text: "four" });
  // The newest one counts; it keeps everything since "three".
  await first.append({ ...summary, id: "s2", text: "edited", by: "owner", kept: 4 });
  await first.close();
  assert.match(host.files.text(PATH) ?? "", /"one"/);
  const again = must(await openConversation(FOLDER, ID, host));
  assert.equal(again.summary()?.text, "edited");
  assert.deepEqual(
    again.messages().flatMap((each) => each.role === "user" ? [each.text] : []),
    ["three", "four"],
  );
  again.forget(1);
  assert.deepEqual(again.messages(), [{ role: "user", text: "four" }]);
  assert.equal(again.summary()?.text, "edited");
});

Deno.test("openConversation() of a large file keeps the summary of what it drops", async () => {
  const line = (record: unknown) => `${JSON.stringify(record)}\n`;
  const turns = Array.from(
    { length: 30 },
    (_, n) =>
      line({ type: "user", at: n, text: `${n} ${"x".repeat(600_000)}` }) +
      line({ type: "end", at: n, outcome: "completed" }),
  );
  const summary = line({ type: "summary", at: 1, id: "s", text: "S", kept: 0, by: "model" });
  const header = line({ type: "session", version: 1, id: ID, at: 1, cwd: "/" });
  const text = header + turns[0] + summary + turns.slice(1).join("");
  const host = memoryHost({ files: { [PATH]: text } });
  const conversation = must(await openConversation(FOLDER, ID, host));
  assert.equal(conversation.summary()?.text, "S");
  const [first] = conversation.messages();
  assert.match(first?.role === "user" ? first.text : "", /^2\d x/);
  await conversation.close();
});
