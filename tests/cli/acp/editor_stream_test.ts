/**
 * Lines of an editor that are not messages: each is answered, and the connection continues.
 *
 * @module
 */

import assert from "node:assert/strict";
import { agent, methods, PROTOCOL_VERSION } from "@agentclientprotocol/sdk";
import { EDITOR_LINE_BYTES_MAX, editorStream } from "cli/acp/editor_stream.ts";

const PADDING = "x".repeat(EDITOR_LINE_BYTES_MAX);
const INITIALIZE =
  '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":1}}';

/** Sends chunks to an agent that knows only `initialize`; returns the answers as id and code. */
async function answersTo(
  chunks: readonly (string | Uint8Array<ArrayBuffer>)[],
  count: number,
): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  const done = Promise.withResolvers<void>();
  const input = new TransformStream<Uint8Array, Uint8Array>();
  const stream = editorStream(input.readable, (line) => {
    assert.ok(line.endsWith("\n") && line.indexOf("\n") === line.length - 1, line);
    const { id, error, result } = JSON.parse(line);
    answers.push([id, error?.code ?? result]);
    if (answers.length === count) done.resolve();
    return Promise.resolve();
  });
  const app = agent({ name: "test" }).onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
  }));
  const connection = app.connect(stream);
  const writer = input.writable.getWriter();
  for (const chunk of chunks) {
    await writer.write(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
  }
  await done.promise;
  await writer.close();
  await connection.closed;
  return answers;
}

const ROWS: readonly (readonly [string, string | Uint8Array<ArrayBuffer>, unknown])[] = [
  ["no JSON", "hello\n", [null, -32700]],
  ["no UTF-8", Uint8Array.of(0x7b, 0xff, 0x7d, 0x0a), [null, -32700]],
  ["a number", "5\n", [null, -32600]],
  ["null", "null\n", [null, -32600]],
  ["a batch", "[]\n", [null, -32600]],
  ["an object that is not a message", '{"a":1}\n', [null, -32600]],
  ["a long line", `"${PADDING}"\n`, [null, -32600]],
  [
    "a long request",
    `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":"${PADDING}"}\n`,
    [7, -32600],
  ],
  [
    "a long request of a library that prints the version last",
    `{"id":"p","method":"session/prompt","params":"${PADDING}","jsonrpc":"2.0"}\n`,
    ["p", -32600],
  ],
  [
    "a long answer, which no request waits for",
    `{"jsonrpc":"2.0","id":7,"result":"${PADDING}"}\n`,
    [null, -32600],
  ],
  ["a method before initialize", '{"jsonrpc":"2.0","id":1,"method":"x"}\n', [1, -32600]],
];
for (const [name, line, want] of ROWS) {
  Deno.test(`editorStream() answers ${name} and continues`, async () => {
    const answers = await answersTo([line, "\n \n", INITIALIZE, "\n"], 2);
    assert.deepEqual(answers, [want, ["i", { protocolVersion: 1 }]]);
  });
}

Deno.test("editorStream() answers a method that the agent does not have", async () => {
  const unknown = '{"jsonrpc":"2.0","id":2,"method":"session/fly"}\n';
  const answers = await answersTo([`${INITIALIZE}\n`, unknown], 2);
  assert.deepEqual(answers, [["i", { protocolVersion: 1 }], [2, -32601]]);
});

Deno.test("editorStream() reads a line in pieces", async () => {
  const pieces = [...`${INITIALIZE}\r\n`];
  assert.deepEqual(await answersTo(pieces, 1), [["i", { protocolVersion: 1 }]]);
});
