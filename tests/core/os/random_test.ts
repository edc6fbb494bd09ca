/**
 * @module
 */

import assert from "node:assert/strict";
import type { Random } from "core/ports/random.ts";
import { systemRandom } from "core/os/random.ts";
import { seededRandom } from "tests/fakes/random.ts";

const SUBJECTS: readonly (readonly [name: string, open: () => Random])[] = [
  ["systemRandom", systemRandom],
  ["seededRandom", () => seededRandom(7)],
];

for (const [name, open] of SUBJECTS) {
  Deno.test(`${name}() returns the requested number of bytes, also above one call's limit`, () => {
    for (const length of [0, 1, 32, 65_536, 65_537, 200_000]) {
      const bytes = open().bytes(length);
      assert.equal(bytes.length, length);
      if (length >= 65_537) assert.ok(bytes.subarray(length - 64).some((byte) => byte !== 0));
    }
  });

  Deno.test(`${name}() returns version 4 UUIDs and fractions below 1`, () => {
    const random = open();
    const seen = new Set<string>();
    for (let round = 0; round < 200; round++) {
      const uuid = random.uuid();
      assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      seen.add(uuid);
      const fraction = random.fraction();
      assert.ok(fraction >= 0 && fraction < 1);
    }
    assert.equal(seen.size, 200);
  });
}

Deno.test("seededRandom() repeats itself for the same seed only", () => {
  assert.equal(seededRandom(1).uuid(), seededRandom(1).uuid());
  assert.notEqual(seededRandom(1).uuid(), seededRandom(2).uuid());
});
