/** Tests of lines of JSON. @module */

import assert from "node:assert/strict";
import { parseJsonLine } from "core/text/json_lines.ts";

Deno.test("parseJsonLine() accepts objects only", () => {
  assert.deepEqual(parseJsonLine('{"a":1}'), { a: 1 });
  for (const line of ["", "[]", "1", "null", "{", "text"]) {
    assert.equal(parseJsonLine(line), undefined);
  }
});
