/**
 * Parsing one line as a message: kinds, ambiguity, and the byte scanner against `JSON.parse`.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { envelopeKeys, scanEnvelope } from "units/mcp/envelope.ts";
import { findAmbiguity, parseLine, printDenied } from "units/mcp/message.ts";
import { refusal } from "core/errors.ts";

const encoder = new TextEncoder();

Deno.test("scanEnvelope() finds the same keys, id and method as JSON.parse", () => {
  const key = fc.constantFrom("id", "method", "params", "name", "x", "é", 'a"b', "\\");
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(key, tie("tree"), { maxKeys: 5 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, tree, { maxKeys: 6 }), fc.nat(4), (message, indent) => {
      const text = JSON.stringify(message, null, indent);
      const found = scanEnvelope(encoder.encode(text));
      assert.deepEqual(envelopeKeys(text), found.keys);
      const value = JSON.parse(text);
      const inner = value.params;
      const isObject = typeof inner === "object" && inner !== null && !Array.isArray(inner);
      assert.deepEqual(
        found.keys.filter((one) => one.depth === 1).map((one) => one.name).sort(),
        Object.keys(value).sort(),
      );
      assert.deepEqual(
        found.keys.filter((one) => one.depth === 2).map((one) => one.name).sort(),
        isObject ? Object.keys(inner).sort() : [],
      );
      const isScalar = typeof value.id === "number" || typeof value.id === "string";
      assert.equal(found.id, isScalar ? value.id : undefined);
      assert.equal(found.method, typeof value.method === "string" ? value.method : undefined);
    }),
    { numRuns: 500 },
  );
});

/**
 * Texts that `JSON.parse` accepts, with duplicate keys, escaped keys, and structure inside strings.
 */
const doubled = fc.letrec<{ readonly tree: string }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('"{"', '"}\\\\"', '"\\\\\\""', "1e3", "null", '",\\"params\\":{"', "[]", "{}"),
    fc.array(tie("tree"), { maxLength: 3 }).map((all) => `[${all.join(" , ")}]`),
    fc.array(
      fc.tuple(
        fc.constantFrom('"params"', '"p\\u0061rams"', '"name"', '"n\\\\"', '"id"', '"a\\""'),
        tie("tree"),
      ),
      { maxLength: 5 },
    ).map((all) => `{ ${all.map(([key, value]) => `${key} :${value}`).join(",\n")}}`),
  ),
})).tree;

Deno.test("envelopeKeys() agrees with the scanner about repeated and escaped keys", () => {
  fc.assert(
    fc.property(doubled.filter((text) => text.startsWith("{")), (text) => {
      JSON.parse(text);
      assert.deepEqual(envelopeKeys(text), scanEnvelope(encoder.encode(text)).keys, text);
    }),
    { numRuns: 3_000 },
  );
});

Deno.test("findAmbiguity() refuses a key that is padded past what is kept", () => {
  const line = (key: string) => `{"id":1,"method":"tools/call","params":{"name":"a","${key}":"b"}}`;
  assert.match(findAmbiguity(line(` name${" ".repeat(500)}`)) ?? "", /has a non-standard spelling/);
  assert.match(findAmbiguity(line(`name${" ".repeat(5_000)}`)) ?? "", /longer ones/);
  assert.equal(findAmbiguity(line("other")), undefined);
});

Deno.test("parseLine() distinguishes messages", () => {
  for (
    const [text, kind] of [
      ['{"jsonrpc":"2.0","id":1,"method":"ping"}', "request"],
      ['{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', "request"],
      ['{"jsonrpc":"2.0","method":"x"}', "notification"],
      ['{"jsonrpc":"2.0","id":0,"result":{}}', "response"],
      ['{"jsonrpc":"2.0","id":0,"error":{}}', "response"],
      ['{"jsonrpc":"2.0","id":null,"method":"ping"}', "bad"],
      ['{"jsonrpc":"2.0","id":{},"method":"ping"}', "bad"],
      ['{"jsonrpc":"2.0","id":1,"method":5}', "bad"],
      ['{"jsonrpc":"2.0","id":1,"method":"x","params":[1]}', "bad"],
      ['{"jsonrpc":"2.0","result":{}}', "bad"],
      ["[]", "bad"],
      ["null", "bad"],
      ["tru", "bad"],
    ] as const
  ) {
    assert.equal(parseLine(encoder.encode(`${text}\n`))?.message.kind, kind, text);
  }
  assert.equal(parseLine(encoder.encode("  \r\n")), undefined);
});

Deno.test("parseLine() returns the exact bytes of an ordinary message", () => {
  const bytes = encoder.encode(
    '{ "id": 12345678901234567890, "method":"x", "params":{"n":1e400}}\n',
  );
  assert.equal(parseLine(bytes)?.bytes, bytes);
});

Deno.test("findAmbiguity() finds nothing in ordinary messages", () => {
  fc.assert(fc.property(fc.jsonValue(), (args) => {
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "look", arguments: args, _meta: { name: 1, NAME: 2 } },
    };
    assert.equal(findAmbiguity(JSON.stringify(message)), undefined);
  }));
});

Deno.test("printDenied() answers in the shape of the request's revision", () => {
  const reason = refusal("tool-blocked", "Cannot call it");
  const read = (params: Record<string, unknown>) =>
    JSON.parse(new TextDecoder().decode(printDenied({ id: 1, params }, reason))).result;
  assert.equal("resultType" in read({ name: "x" }), false);
  const stateless = { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } };
  assert.equal(read(stateless).resultType, "complete");
});
