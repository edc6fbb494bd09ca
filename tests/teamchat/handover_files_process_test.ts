/**
 * Files through receiver and sender, as processes under their permission sets, over real sockets.
 * An owner's attachment reaches the agent byte for byte. A file that the agent offers reaches the
 * address that the platform names after the consent. A kill between the card and the press loses
 * neither.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FILE_INFO } from "core/teamchat/file_refs.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import type { ServedKit } from "tests/teamchat/connector/kit.ts";
import { messageOf, type TestAgent } from "tests/teamchat/fixture.ts";
import { deliver } from "tests/teamchat/gateway_process.ts";
import { leave, pairTest, type ReceiverAndSender } from "tests/teamchat/receiver_and_sender.ts";

const CAPABLE = { capabilities: ["turns", "files"] };
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 9, 8, 7]);
const FILE = new TextEncoder().encode("the report of the year");

async function start(pair: ReceiverAndSender): Promise<TestAgent> {
  await pair.startReceiver();
  await pair.startSender();
  await pair.joined();
  return await pair.register(CAPABLE);
}

/** Receives the agent's next file completely. */
async function takeFile(agent: TestAgent): Promise<Uint8Array> {
  const bytes: number[] = [];
  for (;;) {
    const { turn_id, n, offset, size, data } = await agent.next("file");
    assert.equal(offset, bytes.length);
    for (const byte of Uint8Array.fromBase64(String(data))) bytes.push(byte);
    agent.send({ type: "file_taken", turn_id, n, next: bytes.length });
    if (bytes.length === size) return new Uint8Array(bytes);
  }
}

pairTest("files of a message reach the agent byte for byte", async (pair, served, files) => {
  const { kit } = served;
  const agent = await start(pair);
  const bytes = new Uint8Array(FILE_LIMITS.fileChunkBytes + 7).map((_, n) => n % 251);
  const downloadUrl = files.at(kit.files.keep(bytes, "application/pdf"));
  kit.files.keepInline("/teams/v3/attachments/a1/views/original", PNG, "image/png");
  const attachments = [
    { contentType: FILE_INFO, name: "report.pdf", content: { downloadUrl, fileType: "pdf" } },
    { contentType: "image/*", contentUrl: `${kit.serviceUrl}v3/attachments/a1/views/original` },
  ];
  const message = messageOf(kit, { text: "see", attachments });
  assert.equal(await deliver(pair.url, message, kit), 202);
  assert.deepEqual(await takeFile(agent), bytes);
  assert.deepEqual(await takeFile(agent), PNG);
  const turn = await agent.begin();
  assert.equal(turn.text, "see");
  agent.answer(turn.turnId, "seen");
  assert.equal((await agent.next("delivery")).outcome, "delivered");
  assert.deepEqual(kit.violations(), []);
  // The address of a file grants access to it: neither process logs it.
  const output = `${pair.sender?.log()}${pair.receiver?.log()}`;
  assert.doesNotMatch(output, /secret-right|tempauth/);
  await leave(agent);
});

interface Card {
  readonly contentType: string;
  readonly content: { readonly acceptContext: unknown };
}

function cardsOf({ kit }: ServedKit, kind: string): readonly Card[] {
  return kit.conversation("a:bea").messages
    .flatMap(({ body }) => (body.attachments ?? []) as Card[])
    .filter(({ contentType }) => contentType.endsWith(kind));
}

pairTest(
  "a file of the agent is uploaded after consent, with and without kills",
  async (pair, served, files) => {
    const { kit } = served;
    let agent = await start(pair);
    // The agent can offer a file only after the owner has written once.
    assert.equal(await deliver(pair.url, messageOf(kit, { text: "hi" }), kit), 202);
    const turn = await agent.begin();
    agent.answer(turn.turnId, "hi");
    await agent.next("delivery");
    for (const id of ["f1", "f2"]) {
      agent.send({
        type: "owner_file",
        id,
        name: "report.pdf",
        description: "The report",
        size: FILE.length,
        offset: 0,
        data: FILE.toBase64(),
      });
      assert.equal((await agent.next("owner_message_result")).outcome, "delivered");
      const context = cardsOf(served, "file.consent").at(-1)?.content.acceptContext;
      const { uploadUrl, session } = kit.files.openUpload(FILE.length);
      const press = messageOf(kit, {
        type: "invoke",
        name: "fileConsent/invoke",
        value: {
          type: "fileUpload",
          action: "accept",
          context,
          uploadInfo: {
            uploadUrl: files.at(uploadUrl),
            contentUrl: `${files.origin}/personal/report.pdf`,
            name: "report.pdf",
            uniqueId: "u1",
            fileType: "pdf",
          },
        },
      });
      if (id === "f2") {
        await pair.sender?.kill();
        // A press gets an answer only from a process that can act on it.
        assert.equal(await deliver(pair.url, press, kit), 503);
        await pair.receiver?.kill();
        await agent.closed;
        agent = await start(pair);
      }
      assert.equal(await deliver(pair.url, press, kit), 200);
      const event = await agent.next("owner_event");
      agent.send({ type: "owner_event_taken", id: event.id });
      assert.deepEqual(event.payload, { name: "report.pdf", result: "accepted" });
      assert.deepEqual(session.bytes, FILE);
      // A repeated press uploads nothing again.
      assert.equal(await deliver(pair.url, press, kit), 200);
    }
    assert.equal(kit.files.requests.filter((line) => line.startsWith("PUT ")).length, 2);
    assert.deepEqual(kit.violations(), []);
    await leave(agent);
  },
);
