/**
 * Every attack of the list has tests with the listed names, and a refused request that reached the
 * cockpit fails its test.
 *
 * @module
 */

import assert from "node:assert/strict";
import { ATTACK_ROWS } from "tests/login/attack_rows.ts";
import { createLoginRig, type LoginRig } from "tests/support/login_fixture.ts";
import { TREE } from "tests/support/module_graph.ts";

/** First and last number in each chapter. */
const CHAPTERS = { A: [1, 18], D: [39, 45], E: [46, 68], F: [69, 83], G: [84, 91], J: [104, 107] };

Deno.test("every attack and rule is listed exactly once", () => {
  const wanted = Object.entries(CHAPTERS).flatMap(([letter, [first = 0, last = 0]]) =>
    Array.from({ length: last - first + 1 }, (_, index) => `${letter}${first + index}`)
  ).concat(Array.from({ length: 17 }, (_, index) => `L${index + 1}`));
  const ids = ATTACK_ROWS.map(({ id }) => id);
  assert.deepEqual(wanted.filter((id) => !ids.includes(id)), []);
  assert.equal(new Set(ids).size, ids.length);
});

Deno.test("each attack has tests, or names the component that handles it", async () => {
  const missing: string[] = [];
  for (const { id, attack, proofs, apart } of ATTACK_ROWS) {
    if (apart === undefined && proofs.length === 0) missing.push(`${id} ${attack}: no test`);
    for (const [file, ...words] of proofs) {
      const text = await Deno.readTextFile(TREE + file).catch(() => "");
      for (const word of words) {
        if (!text.includes(word)) missing.push(`${id} ${attack}: ${file} has no "${word}"`);
      }
      if (words.length === 0) missing.push(`${id}: ${file} without a test`);
    }
  }
  assert.deepEqual(missing, []);
});

Deno.test("a refused request that reached the cockpit fails its test", async () => {
  const rig: LoginRig = await createLoginRig({
    cockpit: (request) => {
      const given = new Promise<Response>((_, reject) =>
        request.signal.addEventListener("abort", () => reject(request.signal.reason))
      );
      // The session ends while the cockpit has the request: a 401, although the request was
      // accepted.
      rig.leases.abortAll();
      return given;
    },
  });
  const cookie = await rig.session();
  await assert.rejects(
    rig.ask("/api/x", { headers: { cookie } }),
    /refused with 401, and the cockpit saw it/,
  );
});
