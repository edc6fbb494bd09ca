/** Tests of optional fields. @module */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";

Deno.test("defined() drops the keys that are undefined, and no other", () => {
  const fields = { a: undefined, b: null, c: 0, d: "", e: false, f: [] };
  assert.deepEqual(Object.keys(defined(fields)), ["b", "c", "d", "e", "f"]);
  assert.deepEqual(defined(fields), { b: null, c: 0, d: "", e: false, f: [] });
});

Deno.test("defined() fits an object whose optional fields are never undefined", () => {
  const reasonOf = (has: boolean): string | undefined => has ? "late" : undefined;
  const made = (has: boolean): { readonly id: number; readonly reason?: string } => ({
    id: 1,
    ...defined({ reason: reasonOf(has) }),
  });
  assert.deepEqual(made(true), { id: 1, reason: "late" });
  assert.ok(!("reason" in made(false)));
});
