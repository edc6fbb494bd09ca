/**
 * The client side of the daemon's socket, against daemons that close too early or send garbage.
 *
 * @module
 */

import assert from "node:assert/strict";
import { connectDaemon, forward } from "core/verbs/daemon_client.ts";
import type { ByteStream } from "core/ports/sockets.ts";

/** Starts a daemon that answers with these bytes and closes; `sent` is what it received. */
function daemonThatSays(...parts: readonly string[]) {
  let sent = "";
  let isClosed = false;
  const stream: ByteStream = {
    readable: ReadableStream.from(parts.map((part) => new TextEncoder().encode(part))),
    writable: new WritableStream({
      write: (chunk: Uint8Array) => void (sent += new TextDecoder().decode(chunk)),
    }),
    close: () => void (isClosed = true),
  };
  return { stream, sent: () => sent, isClosed: () => isClosed };
}

async function ask(...parts: readonly string[]) {
  const daemon = daemonThatSays(...parts);
  let out = "";
  let err = "";
  const code = await forward(daemon.stream, { argv: ["status"] }, {
    out: async (text) => void (out += text),
    err: async (text) => void (err += text),
  });
  assert.equal(daemon.sent(), '{"argv":["status"]}\n');
  assert.ok(daemon.isClosed());
  return { code, out, err };
}

Deno.test("forward() passes output on in order and returns the exit code", async () => {
  const answer = await ask(
    '{"type":"out","text":"a"}\n{"type":"err","te',
    'xt":"b"}\n{"type":"out","text":"c\\n"}\n{"type":"exit","code":3}\n',
  );
  assert.deepEqual(answer, { code: { ok: true, value: 3 }, out: "ac\n", err: "b" });
});

Deno.test("forward() sends the input of a verb that serves its client", async () => {
  const closed = Promise.withResolvers<void>();
  let sent = "";
  // This daemon answers once its client has closed its side.
  const readable = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await closed.promise;
      controller.enqueue(new TextEncoder().encode('{"type":"exit","code":0}\n'));
      controller.close();
    },
  }, { highWaterMark: 0 });
  const writable = new WritableStream<Uint8Array>({
    write: (chunk) => void (sent += new TextDecoder().decode(chunk)),
    close: () => closed.resolve(),
  });
  const quiet = { out: async () => {}, err: async () => {} };
  const input = new Blob(["one\ntwo\n"]).stream();
  const stream = { readable, writable, close: () => {} };
  const code = await forward(stream, { argv: ["acp", "ada"] }, quiet, input);
  assert.deepEqual(code, { ok: true, value: 0 });
  assert.equal(sent, '{"argv":["acp","ada"]}\none\ntwo\n');
});

Deno.test("forward() stops reading its input when the verb ends", async () => {
  const cancelled = Promise.withResolvers<void>();
  const input = new ReadableStream<Uint8Array>({ cancel: () => cancelled.resolve() });
  const daemon = daemonThatSays('{"type":"exit","code":0}\n');
  const quiet = { out: async () => {}, err: async () => {} };
  await forward(daemon.stream, { argv: ["acp", "ada"] }, quiet, input);
  await cancelled.promise;
});

Deno.test("forward() returns the daemon's refusal as its own", async () => {
  const error = { code: "x", kind: "denied", message: "Cannot", details: [], hints: ["h"] };
  const answer = await ask(`${JSON.stringify({ type: "refused", error })}\n`);
  assert.deepEqual(answer.code, { ok: false, error });
});

for (
  const [name, parts] of [
    ["closes at once", []],
    ["closes after some output", ['{"type":"out","text":"a"}\n']],
    ["sends frames that cannot be parsed", ["hello\n"]],
    ["sends a frame it does not know", ['{"type":"what"}\n']],
  ] as const
) {
  Deno.test(`forward() reports a lost daemon when it ${name}`, async () => {
    const { code } = await ask(...parts);
    assert.ok(!code.ok);
    assert.equal(code.error.code, "daemon-lost");
    assert.deepEqual(code.error.hints[0], "fleetctl status");
  });
}

Deno.test("connectDaemon() returns undefined when no daemon answers", async () => {
  for (const thrown of [new Deno.errors.NotFound(), new Deno.errors.ConnectionRefused()]) {
    const refuse = { connectUnix: () => Promise.reject(thrown) };
    assert.equal(await connectDaemon(refuse, "/nowhere"), undefined);
  }
});

Deno.test("connectDaemon() does not report a missing right as a missing daemon", async () => {
  const refuse = { connectUnix: () => Promise.reject(new Deno.errors.NotCapable("write")) };
  await assert.rejects(connectDaemon(refuse, "/nowhere"), Deno.errors.NotCapable);
});
