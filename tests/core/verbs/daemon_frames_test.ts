/**
 * The daemon's wire format: what a request may contain, and frames that decode to the original.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { defined } from "core/defined.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import {
  type DaemonFrame,
  frameLine,
  parseDaemonFrame,
  parseVerbRequest,
  requestText,
} from "core/verbs/daemon_frames.ts";

function parse(value: unknown) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return parseVerbRequest(new TextEncoder().encode(text));
}

const long = "x".repeat(DAEMON_LIMITS.argumentLengthMax + 1);
const BAD: readonly [name: string, value: unknown, says: RegExp][] = [
  ["no JSON", "mcp wired", /not JSON in UTF-8/],
  ["a list", ["mcp"], /not a JSON object/],
  ["no argv", {}, /argv must be a list/],
  ["an empty argv", { argv: [] }, /argv must be a list/],
  ["argv of numbers", { argv: ["mcp", 1] }, /argv item 1 is not text/],
  ["a leading option", { argv: ["--as", "ada", "status"] }, /must start with a verb/],
  ["a NUL", { argv: ["mcp", "a\0b"] }, /argv item 1 contains a control character/],
  ["a newline", { argv: ["mcp", "a\nb"] }, /argv item 1 contains a control character/],
  ["an escape", { argv: ["mcp\x1b[2J"] }, /argv item 0 contains a control character/],
  ["a lone surrogate", '{"argv":["mcp","\\ud800"]}', /argv item 1 is not well-formed/],
  ["too many items", { argv: Array(10_000).fill("x") }, /10000 items, must have at most 256/],
  ["a long item", { argv: ["mcp", long] }, /argv item 1 is longer/],
  ["an invalid as", { argv: ["status"], as: 4 }, /as is not text/],
  ["a newline in the field as", { argv: ["status"], as: "a\n" }, /as contains a control character/],
  ["an invalid stdin", { argv: ["status"], stdin: {} }, /stdin is not text/],
  [
    "an invalid tty",
    { argv: ["status"], tty: { columns: -1, color: true, live: true } },
    /tty must be/,
  ],
  [
    "an escape in the tree",
    { argv: ["status"], tty: { columns: 1, color: true, live: true, tree: "/a\x1b" } },
    /tree of tty contains a control character/,
  ],
  ["an unknown field in tty", {
    argv: ["status"],
    tty: { columns: 1, color: true, live: true, x: 1 },
  }, /tty/],
  ["an unknown field", { argv: ["status"], uid: 0 }, /a field that is not known/],
];

for (const [name, value, says] of BAD) {
  Deno.test(`parseVerbRequest() refuses ${name}`, () => {
    const got = parse(value);
    assert.ok(!got.ok);
    assert.equal(got.error.code, "request-invalid");
    assert.match(got.error.message, says);
  });
}

Deno.test("parseVerbRequest() refuses bytes that are not UTF-8", () => {
  const bytes = new TextEncoder().encode('{"argv":["status","x"]}');
  bytes[19] = 0xff;
  assert.ok(!parseVerbRequest(bytes).ok);
});

Deno.test("parseVerbRequest() refuses a line past the limit", () => {
  assert.ok(!parseVerbRequest(new Uint8Array(DAEMON_LIMITS.requestBytesMax + 1)).ok);
});

Deno.test("parseVerbRequest() accepts lines in stdin, because it is data", () => {
  const got = parse({ argv: ["secret", "set", "K"], stdin: "a\nb\0c" });
  assert.ok(got.ok);
  assert.equal(got.value.stdin, "a\nb\0c");
});

Deno.test("parseVerbRequest() reads the output of requestText() for any words", () => {
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }).filter((text) =>
    // deno-lint-ignore no-control-regex -- requests contain no control characters
    !/[\u0000-\u001f\u007f]/.test(text) && !text.startsWith("-") && text.isWellFormed()
  );
  fc.assert(fc.property(
    fc.array(word, { minLength: 1, maxLength: 5 }),
    fc.option(word, { nil: undefined }),
    fc.option(word, { nil: undefined }),
    (argv, as, stdin) => {
      const request = {
        argv,
        ...defined({ as, stdin }),
        tty: { columns: 80, color: true, live: false, tree: "/src" },
      };
      assert.deepEqual(parse(requestText(request)), { ok: true, value: request });
    },
  ));
});

const FRAMES: readonly DaemonFrame[] = [
  { type: "out", text: "a\nb\u2028" },
  { type: "err", text: "" },
  { type: "exit", code: 4 },
  {
    type: "refused",
    error: { code: "x", kind: "denied", message: "Cannot", details: ["d"], hints: ["h"] },
  },
];

for (const frame of FRAMES) {
  Deno.test(`frameLine() of ${frame.type} is one line that reads back`, () => {
    const line = frameLine(frame);
    assert.equal(line.indexOf("\n"), line.length - 1);
    assert.deepEqual(parseDaemonFrame(line), frame);
  });
}

for (const line of ["", "{", "[]", '{"type":"exit"}', '{"type":"refused","error":{}}', "null"]) {
  Deno.test(`parseDaemonFrame() does not accept ${JSON.stringify(line)}`, () => {
    assert.equal(parseDaemonFrame(line), undefined);
  });
}
