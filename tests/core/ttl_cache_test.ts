/**
 * The TTL cache: limited in size, and no value outlives its time.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createTtlCache } from "core/ttl_cache.ts";

Deno.test("createTtlCache() keeps a value until it expires", () => {
  const recent = createTtlCache<number>(2);
  recent.keep("a", 1, 100);
  assert.deepEqual([recent.get("a", 99), recent.get("a", 100), recent.get("b", 0)], [
    1,
    undefined,
    undefined,
  ]);
});

Deno.test("clear() forgets every value, and new ones are kept as before", () => {
  const recent = createTtlCache<number>(2);
  for (const key of ["a", "b"]) recent.keep(key, 1, 100);
  recent.clear();
  recent.keep("c", 1, 100);
  assert.deepEqual(["a", "b", "c"].map((key) => recent.get(key, 0)), [undefined, undefined, 1]);
});

Deno.test("createTtlCache() evicts the oldest entry; storing a key again renews it", () => {
  const recent = createTtlCache<number>(2);
  for (const key of ["a", "b", "a", "c"]) recent.keep(key, 1, 100);
  assert.deepEqual(["a", "b", "c"].map((key) => recent.get(key, 0)), [1, undefined, 1]);
});
