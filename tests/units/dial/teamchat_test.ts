/**
 * A dial unit with a real team-chat gateway. The owner's reactions to an answer reach the next
 * turn, and messages that the agent sends unprompted reach the owner.
 *
 * @module
 */

import assert from "node:assert/strict";
import { scriptedRuntime, type TurnStage } from "tests/fakes/runtime.ts";
import { startTeamchatPair } from "tests/support/teamchat_pair.ts";
import { FILE_INFO } from "core/teamchat/file_refs.ts";
import { SAMPLES } from "tests/support/sample_images.ts";
import { FILE_HOST } from "tests/teamchat/connector/file_service.ts";
import { error } from "tests/teamchat/connector/conversation.ts";
import { BEA_OWNER } from "tests/teamchat/fixture.ts";

const SAFE = { sanitizeOps: true, sanitizeResources: true } as const;

/** A runtime that answers "done" and records its prompts. */
function listener() {
  const received: string[] = [];
  const driver = scriptedRuntime(async ({ text, report }: TurnStage) => {
    received.push(text);
    await report({ kind: "message", messageId: `m${received.length}`, text: "done" });
    return { outcome: "completed" };
  });
  return { received, driver };
}

Deno.test({
  name: "a thumb and a reaction are reported once, with the next turn",
  ...SAFE,
  fn: async () => {
    const { received, driver } = listener();
    await using at = await startTeamchatPair(driver);
    assert.equal(await at.post(at.message("first")), 202);
    const room = at.kit.conversation("a:bea");
    await at.until(() => room.messages.length === 1);
    const replyToId = room.messages[0]?.id;
    const thumb = {
      actionName: "feedback",
      actionValue: { reaction: "dislike", feedback: '{"feedbackText":"too [short]\\nplease"}' },
    };
    const invoke = { type: "invoke", name: "message/submitAction", value: thumb, replyToId };
    assert.equal(await at.post(at.message("", invoke)), 200);
    const reaction = { type: "messageReaction", reactionsAdded: [{ type: "heart" }], replyToId };
    assert.equal(await at.post(at.message("", reaction)), 202);
    // Both use one connection: once this request is answered, the second reaction has arrived.
    await at.ask({ type: "owner_message", text: "by the way" });
    assert.equal(await at.post(at.message("second")), 202);
    await at.until(() => received.length === 2);
    const when = "your answer to the message of [0-9TZ:.-]+";
    const [feedback, reacted, ...rest] = (received[1] ?? "").split("\n\n");
    assert.match(
      feedback ?? "",
      new RegExp(`^\\[feedback: the owner marked ${when} as not helpful: "too short please"\\]$`),
    );
    assert.match(reacted ?? "", new RegExp(`^\\[reaction: the owner added heart on ${when}\\]$`));
    assert.deepEqual(rest, ["second"]);
    await at.until(() => room.messages.length === 3);
    await at.post(at.message("third"));
    await at.until(() => received.length === 3);
    assert.equal(received[2], "third");
  },
});

Deno.test({
  name: "a program of the agent writes to the owner and learns the outcome",
  ...SAFE,
  fn: async () => {
    const { received, driver } = listener();
    await using at = await startTeamchatPair(driver);
    const early = await at.ask({ type: "owner_message", text: "hello?" });
    assert.deepEqual([early.outcome, early.reason], [
      "blocked",
      "the owner has not written to the bot yet",
    ]);
    await at.post(at.message("first"));
    const room = at.kit.conversation("a:bea");
    await at.until(() => room.messages.length === 1);
    const sent = await at.ask({ type: "owner_message", text: "the build is green" });
    const shown = room.messages.at(-1);
    assert.deepEqual([sent.outcome, sent.ids], ["delivered", [shown?.id]]);
    assert.equal(shown?.text, "the build is green");
    at.kit.script({ kind: "message", effect: { answer: error(403, "MessageWritesBlocked", "") } });
    const blocked = await at.ask({ type: "owner_message", text: "and now?" });
    assert.deepEqual([blocked.outcome, blocked.reason], ["blocked", "MessageWritesBlocked"]);
    assert.equal((await at.ask({ type: "owner_message", text: "again" })).outcome, "blocked");
    assert.equal((await at.ask({ type: "owner_message", text: " " })).outcome, "failed");
    assert.equal(room.messages.length, 2);
    assert.deepEqual(received, ["first"]);
    assert.equal(at.message("").channelId, "msteams");
    assert.ok(BEA_OWNER.endsWith("be"));
  },
});

Deno.test({
  name: "a file of the owner's is on the agent's disk when its turn is read",
  ...SAFE,
  fn: async () => {
    const { received, driver } = listener();
    await using at = await startTeamchatPair(driver, { TEAMS_FILE_HOSTS: FILE_HOST });
    const bytes = new Uint8Array(1_000_000).map((_, n) => n % 251);
    const content = { downloadUrl: at.kit.files.keep(bytes, "application/pdf") };
    const missing = { downloadUrl: "https://evil.test/x" };
    const attachments = [
      { contentType: FILE_INFO, name: "the report.pdf", content },
      { contentType: FILE_INFO, name: "other.txt", content: missing },
    ];
    await at.post(at.message("read this", { attachments }));
    await at.until(() => received.length === 1);
    const [text, first, second] = (received[0] ?? "").split("\n");
    assert.equal(text, "read this");
    const path = /^\[attachment: the report.pdf, 1000000 bytes, application\/pdf: (.*)\]$/
      .exec(first ?? "")?.[1] ?? "";
    assert.ok(path.startsWith(`${at.home}/.fleetctl/dial/files/`), String(first));
    assert.deepEqual(await Deno.readFile(path), bytes);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    assert.match(second ?? "", /^\[attachment: other.txt is not here: .*TEAMS_FILE_HOSTS\]$/);
    assert.deepEqual(at.kit.violations(), []);
  },
});

Deno.test({
  name: "the next turn reports the owner's answer about a file that the agent offered",
  ...SAFE,
  fn: async () => {
    const { received, driver } = listener();
    await using at = await startTeamchatPair(driver, { TEAMS_FILE_HOSTS: FILE_HOST });
    await at.post(at.message("first"));
    const room = at.kit.conversation("a:bea");
    await at.until(() => room.messages.length === 1);
    const bytes = new Uint8Array(900_000).map((_, n) => n % 13);
    await Deno.writeFile(`${at.home}/.fleetctl/dial/send/report.pdf`, bytes);
    const offer = (name: string) => at.ask({ type: "owner_file", name, description: "It" });
    for (const name of ["absent.pdf", "../key.json", "..", "a/b"]) {
      assert.equal((await offer(name)).code, "file-unfit", name);
    }
    await Deno.mkdir(`${at.home}/.fleetctl/dial/send/folder`);
    assert.equal((await offer("folder")).code, "file-unfit");
    assert.equal((await offer("report.pdf")).outcome, "delivered");
    const [card] = room.messages.at(-1)?.body.attachments as [{ content: Card }];
    const { uploadUrl, session } = at.kit.files.openUpload(bytes.length);
    const uploadInfo = { uploadUrl, contentUrl: uploadUrl, uniqueId: "u", fileType: "pdf" };
    const { acceptContext: context } = card.content;
    const value = { type: "fileUpload", action: "accept", context, uploadInfo };
    await at.post(at.message("", { type: "invoke", name: "fileConsent/invoke", value }));
    await at.until(() => room.messages.length === 3);
    assert.deepEqual(session.bytes, bytes);
    // The outcome was sent before the card that shows it; an answer on the same connection follows
    // both.
    await at.ask({ type: "owner_message", text: " " });
    await at.post(at.message("second"));
    await at.until(() => received.length === 2);
    assert.equal(received[1], "[file: report.pdf was accepted by the owner]\n\nsecond");
    assert.deepEqual(at.kit.violations(), []);
  },
});

interface Card {
  readonly acceptContext: unknown;
}

Deno.test({
  name: "the model sees the picture that its owner sends",
  ...SAFE,
  fn: async () => {
    const seen: (readonly (readonly [string, string])[])[] = [];
    const driver = scriptedRuntime(async ({ images = [] }) => {
      seen.push(images.map(({ type, base64 }) => [type, base64] as const));
      return { outcome: "completed" };
    });
    await using at = await startTeamchatPair(driver, { TEAMS_FILE_HOSTS: FILE_HOST });
    const attachments = [
      { name: "photo.jpg", bytes: SAMPLES.jpeg },
      { name: "logo.svg", bytes: SAMPLES.svg },
    ].map(({ name, bytes }) => ({
      contentType: FILE_INFO,
      name,
      content: { downloadUrl: at.kit.files.keep(bytes, "application/octet-stream") },
    }));
    await at.post(at.message("look", { attachments }));
    await at.until(() => seen.length === 1);
    assert.deepEqual(seen, [[["image/jpeg", SAMPLES.jpeg.toBase64()]]]);
    assert.deepEqual(at.kit.violations(), []);
  },
});
