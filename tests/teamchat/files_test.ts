/**
 * Files in both directions, at the gateway: allowed download and upload hosts, refused files, whose
 * consent counts, and what is reported to the agent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FILE_INFO } from "core/teamchat/file_refs.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { FILE_HOST } from "tests/teamchat/connector/file_service.ts";
import type { AnyFrame } from "tests/support/gateway_fixture.ts";
import { teamchatTest, type TestAgent, type TestTeamchat } from "tests/teamchat/fixture.ts";

function test(name: string, fn: (at: TestTeamchat) => Promise<void>): void {
  teamchatTest(name, fn, { env: { TEAMS_FILE_HOSTS: FILE_HOST } });
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);

function attached(downloadUrl: unknown, name: unknown = "report.pdf") {
  return { contentType: FILE_INFO, name, content: { downloadUrl, fileType: "pdf", uniqueId: "1" } };
}

/** An agent that accepts files; returns the files that arrived before the turn, and the turn. */
async function receive(at: TestTeamchat, agent: TestAgent) {
  const files = new Map<number, number[]>();
  let turn: AnyFrame | undefined;
  void agent.next("turn").then((frame) => turn = frame);
  const seen = new Set<AnyFrame>();
  await at.until(() => {
    for (const frame of agent.frames) {
      if (frame.type !== "file" || seen.has(frame)) continue;
      seen.add(frame);
      const { n, turn_id, offset } = frame as unknown as { n: number; turn_id: string } & {
        offset: number;
      };
      const held = offset === 0 ? [] : files.get(n) ?? [];
      assert.equal(offset, held.length);
      for (const byte of Uint8Array.fromBase64(String(frame.data))) held.push(byte);
      files.set(n, held);
      agent.send({ type: "file_taken", turn_id, n, next: held.length });
    }
    return turn !== undefined;
  });
  return { turn: turn ?? { type: "" }, files };
}

const CAPABLE = { capabilities: ["turns", "files"] };

test("an agent gets the file of a message before its turn", async (at) => {
  const agent = await at.agent("bea", CAPABLE);
  const bytes = new Uint8Array(FILE_LIMITS.fileChunkBytes * 2 + 5).map((_, n) => n % 251);
  const url = at.kit.files.keep(bytes, "application/pdf");
  const posted = await at.post(at.message("see", { attachments: [attached(url)] }));
  assert.equal(posted.status, 202);
  const { turn, files } = await receive(at, agent);
  assert.equal(turn.text, "see");
  assert.deepEqual(turn.files, [
    { n: 1, name: "report.pdf", size: bytes.length, content_type: "application/pdf" },
  ]);
  assert.deepEqual(new Uint8Array(files.get(1) ?? []), bytes);
  assert.deepEqual(at.kit.violations(), []);
  assert.doesNotMatch(JSON.stringify(at.host.log.lines), /secret-right|tempauth/);
});

test("a file alone is a turn, and an image of the text is fetched with the token", async (at) => {
  const agent = await at.agent("bea", CAPABLE);
  at.kit.files.keepInline("/teams/v3/attachments/a1/views/original", PNG, "image/png");
  const contentUrl = `${at.kit.serviceUrl}v3/attachments/a1/views/original`;
  const text = { contentType: "text/html", content: "<p></p>" };
  const attachments = [{ contentType: "image/*", contentUrl }, text];
  await at.post(at.message("", { text: undefined, attachments }));
  const { turn, files } = await receive(at, agent);
  assert.deepEqual(turn.files, [{ n: 1, name: "image-1", size: 11, content_type: "image/png" }]);
  assert.deepEqual(files.get(1), [...PNG]);
});

/**
 * Files that are listed for the agent but not delivered. No other address is requested, and no
 * token sent.
 */
const ABSENT: readonly (readonly [string, (at: TestTeamchat) => unknown, RegExp])[] = [
  ["another host", () => attached("https://evil.test/x"), /not in TEAMS_FILE_HOSTS/],
  ["a look-alike behind the host", () => attached(`https://${FILE_HOST}.evil.test/x`), /not in/],
  ["a host below the host", () => attached(`https://a.${FILE_HOST}/x`), /not in TEAMS_FILE_HOSTS/],
  [
    "a URL with a user name",
    () => attached(`https://${FILE_HOST}@evil.test/`),
    /its URL is invalid/,
  ],
  ["a final dot", () => attached(`https://${FILE_HOST}./x`), /not in TEAMS_FILE_HOSTS/],
  ["plain http", () => attached(`http://${FILE_HOST}/x`), /not in TEAMS_FILE_HOSTS/],
  ["another port", () => attached(`https://${FILE_HOST}:444/x`), /not in TEAMS_FILE_HOSTS/],
  ["a loopback address", () => attached("https://127.0.0.1/x"), /not in TEAMS_FILE_HOSTS/],
  ["a backslash", () => attached(`https://${FILE_HOST}\\@evil.test/`), /its URL is invalid/],
  ["text that is not a URL", () => attached("x"), /its URL is invalid/],
  ["the connector as a file's host", (at) => attached(`${at.kit.serviceUrl}v3/x`), /not in/],
  [
    "a redirect",
    (at) => attached(at.kit.files.answer(() => Response.redirect("https://evil.test/"))),
    /redirects to another address/,
  ],
  ["a URL that has expired", (at) => {
    const url = at.kit.files.keep(bytesOf("x"));
    at.kit.files.forget();
    return attached(url);
  }, /no longer valid/],
  [
    "a failing host",
    (at) => attached(at.kit.files.answer(() => new Response(null, { status: 500 }))),
    /answered 500/,
  ],
  ["an empty file", (at) => attached(at.kit.files.keep(new Uint8Array())), /is empty/],
  [
    "a length over the bound",
    (at) =>
      attached(
        at.kit.files.answer(() =>
          new Response("x", { headers: { "content-length": "99999999999" } })
        ),
      ),
    /larger than 20 MiB/,
  ],
  [
    "bytes over the bound",
    (at) => attached(at.kit.files.answer(() => new Response(endless()))),
    /larger than 20 MiB/,
  ],
  [
    "a page instead of the file",
    (at) =>
      attached(at.kit.files.keep(bytesOf("<html>sign in</html>"), "text/html; charset=utf-8")),
    /a web page was received instead/,
  ],
  [
    "a body that breaks off",
    (at) => attached(at.kit.files.answer(() => new Response(broken()))),
    /was not completely received/,
  ],
  ["an image on another host", () => ({
    contentType: "image/png",
    contentUrl: "https://evil.test/v3/attachments/1/views/original",
  }), /not in TEAMS_FILE_HOSTS/],
  ["an image at another path of the connector", (at) => ({
    contentType: "image/png",
    contentUrl: `${at.kit.serviceUrl}v3/conversations/a/members`,
  }), /not in TEAMS_FILE_HOSTS/],
  ["an image whose path leaves its folder", (at) => ({
    contentType: "image/png",
    contentUrl: `${at.kit.serviceUrl}v3/attachments/%2e%2e/conversations`,
  }), /not in TEAMS_FILE_HOSTS/],
  ["an image that is not an image", (at) => {
    at.kit.files.keepInline("/teams/v3/attachments/b", bytesOf("<svg/>"), "image/svg+xml");
    return { contentType: "image/*", contentUrl: `${at.kit.serviceUrl}v3/attachments/b` };
  }, /does not match the declared image type/],
  ["an image of another type than it says", (at) => {
    at.kit.files.keepInline("/teams/v3/attachments/c", PNG, "image/jpeg");
    return { contentType: "image/*", contentUrl: `${at.kit.serviceUrl}v3/attachments/c` };
  }, /does not match the declared image type/],
];

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1 << 20)) });
}

function broken(): ReadableStream<Uint8Array> {
  let begun = false;
  return new ReadableStream({
    pull: (controller) => {
      if (begun) return controller.error(new TypeError("cut"));
      begun = true;
      controller.enqueue(new Uint8Array(10));
    },
  });
}

for (const [name, attachment, why] of ABSENT) {
  test(`a file is not fetched, and its turn says why: ${name}`, async (at) => {
    const agent = await at.agent("bea", CAPABLE);
    await at.post(at.message("see", { attachments: [attachment(at)] }));
    const { turn, files } = await receive(at, agent);
    assert.equal(files.size, 0);
    const [{ fault }] = turn.files as [{ fault: string }];
    assert.match(fault, why);
    assert.equal(turn.text, "see");
    assert.deepEqual(at.kit.violations(), []);
  });
}

test("names leave no folder; more than ten files and a group's files are named", async (at) => {
  const agent = await at.agent("bea", CAPABLE);
  const names = ["../../etc/passwd", ".bashrc", "a\u202efdp.exe", "", "CON\n.txt", "x".repeat(400)];
  const attachments = Array.from(
    { length: 12 },
    (_, n) => attached(at.kit.files.keep(bytesOf("x"), "text/plain"), names[n] ?? `${n}.txt`),
  );
  await at.post(at.message("many", { attachments }));
  const { turn } = await receive(at, agent);
  const told = (turn.files as { name: string }[]).map((file) => file.name);
  assert.equal(told.length, 10);
  assert.deepEqual(told.slice(0, 5), [
    "_.._etc_passwd",
    "bashrc",
    "a_fdp.exe",
    "file-4",
    "CON_.txt",
  ]);
  assert.ok(told.every((each) => /^[^/\\.][^/\\]*$/.test(each) && each.length <= 120));
  assert.match(String(turn.text), /many\n\[attachment: 10.txt\]\n\[attachment: 11.txt\]/);
});

test("an agent that accepts no files gets their names", async (at) => {
  const agent = await at.agent();
  await at.post(at.message("see", { attachments: [attached(at.kit.files.keep(bytesOf("x")))] }));
  const { turn } = await receive(at, agent);
  assert.match(JSON.stringify(turn.files), /report.pdf.*too old/);
});

test("files wait with their turn for an offline agent, across a restart", async (at) => {
  const url = at.kit.files.keep(bytesOf("kept"), "text/plain");
  await at.post(at.message("see", { attachments: [attached(url, "a.txt")] }));
  await at.until(() => at.kit.files.requests.length === 1);
  at.kit.files.forget();
  const again = await at.restart();
  try {
    const agent = await again.agent("bea", CAPABLE);
    const { turn, files } = await receive(again, agent);
    assert.deepEqual(files.get(1), [...bytesOf("kept")]);
    agent.send({ type: "turn_accepted", turn_id: turn.turn_id });
    const folder = "/r/var/lib/fleetctl/teamchat/files/in";
    const isGone = async () => (await at.host.files.list(folder)).length === 0;
    let gone = false;
    await again.until(() => {
      void isGone().then((is) => gone = is);
      return gone;
    });
  } finally {
    await again.withoutClock(again.teamchat.close());
  }
});
