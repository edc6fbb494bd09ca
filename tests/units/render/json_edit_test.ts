/**
 * Edits of JSON text: a value that is set is read back, and untouched text keeps its bytes.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { editJson, readJsonObject } from "units/render/json_edit.ts";

function edited(
  text: string | undefined,
  path: readonly string[],
  changes: Readonly<Record<string, unknown>>,
): string {
  const result = editJson(text, path, new Map(Object.entries(changes)));
  assert.ok(result.ok);
  return result.value;
}

const ROWS: readonly {
  readonly name: string;
  readonly given: string | undefined;
  readonly path: readonly string[];
  readonly changes: Readonly<Record<string, unknown>>;
  readonly want: string;
}[] = [
  {
    name: "there is no file",
    given: undefined,
    path: ["mcpServers"],
    changes: { git: { a: 1 } },
    want: '{\n  "mcpServers": {\n    "git": {\n      "a": 1\n    }\n  }\n}\n',
  },
  {
    name: "the object is missing in a deep path",
    given: '{"x": 1}',
    path: ["projects", "/home/ada", "mcpServers"],
    changes: { git: 1 },
    want:
      '{"x": 1,\n  "projects": {\n    "/home/ada": {\n      "mcpServers": {\n        "git": 1\n' +
      "      }\n    }\n  }}",
  },
  {
    name: "a member exists: only its value changes",
    given: '{ "mcpServers" : {"git":{"a":1} , "own": 1e400 } }',
    path: ["mcpServers"],
    changes: { git: 2 },
    want: '{ "mcpServers" : {"git":2 , "own": 1e400 } }',
  },
  {
    name: "a member is removed from the middle",
    given: '{"a": 1, "b": 12345678901234567890, "c": 3}',
    path: [],
    changes: { a: undefined },
    want: '{"b": 12345678901234567890, "c": 3}',
  },
  {
    name: "the last member is removed",
    given: '{\n  "a": 1,\n  "b": 2\n}\n',
    path: [],
    changes: { b: undefined },
    want: '{\n  "a": 1\n}\n',
  },
  {
    name: "the only member is removed",
    given: '{"mcpServers": { "a": 1 }}',
    path: ["mcpServers"],
    changes: { a: undefined },
    want: '{"mcpServers": {}}',
  },
  {
    name: "a key appears twice",
    given: '{"a": 1, "a": 2}',
    path: [],
    changes: { a: undefined },
    want: "{}",
  },
  {
    name: "the value is the same in another format",
    given: '{"a":{"b":[1,2]}}',
    path: [],
    changes: { a: { b: [1, 2] } },
    want: '{"a":{"b":[1,2]}}',
  },
  {
    name: "strings hold brackets, quotes and escapes",
    given: '{"x": "}\\"{,", "y": ["]", {"z": "\\\\"}], "a": 1}',
    path: [],
    changes: { a: 2 },
    want: '{"x": "}\\"{,", "y": ["]", {"z": "\\\\"}], "a": 2}',
  },
];
for (const row of ROWS) {
  Deno.test(`editJson() edits in place when ${row.name}`, () => {
    assert.equal(edited(row.given, row.path, row.changes), row.want);
  });
}

for (const text of ["{", "[1]", "null", '{"mcpServers": []}', '{"mcpServers": null}', '"x"']) {
  Deno.test(`editJson() refuses ${text}`, () => {
    const result = editJson(text, ["mcpServers"], new Map([["git", 1]]));
    assert.equal(result.ok ? "" : result.error.code, "json-invalid");
  });
}

const json = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { noNullPrototype: true });
const pad = fc.constantFrom(0, 2, "\t");

Deno.test("editJson() reads back what was set and keeps the rest, for any JSON object", () => {
  fc.assert(fc.property(json, pad, fc.string(), fc.jsonValue(), (value, space, key, entry) => {
    const normal = JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
    const clean = JSON.parse(JSON.stringify(entry)) as unknown;
    if (key === "__proto__") return;
    const text = JSON.stringify(normal, null, space);
    const changed = edited(text, [], { [key]: clean });
    assert.deepEqual(JSON.parse(changed), { ...normal, [key]: clean });
    assert.equal(edited(changed, [], { [key]: clean }), changed, "a second edit changes nothing");
    const { [key]: _, ...rest } = normal;
    assert.deepEqual(JSON.parse(edited(changed, [], { [key]: undefined })), rest);
    if (!(key in normal) && Object.keys(normal).length > 0) {
      assert.equal(edited(changed, [], { [key]: undefined }), text, "removal undoes addition");
    }
  }));
});

Deno.test("readJsonObject() returns nothing for an absent path and refuses another kind", () => {
  const none = readJsonObject('{"a": 1}', ["b", "c"]);
  assert.deepEqual(none.ok && none.value, {});
  assert.equal(readJsonObject('{"a": 1}', ["a"]).ok, false);
});
