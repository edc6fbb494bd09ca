/**
 * Key rings through rotations: which key signs, which ones still verify, and which keys a ring
 * refuses.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { KeyName } from "core/names.ts";
import { nextRing } from "core/secrets/rotate.ts";
import { openSigner, parseKeyRing } from "core/crypto/signed_value.ts";

const KEY = "WEBVIEW_HMAC_KEY" as KeyName;
const strong = (letter: string) => letter.repeat(43);
const fresh = (kid: string) => ({ kid, key: strong(kid) });

async function signerOf(text: string) {
  const ring = parseKeyRing(text, KEY);
  assert.ok(ring.ok, text);
  return await openSigner(ring.value, "session");
}

Deno.test("nextRing() signs with the new key; signatures of the old key stay valid", async () => {
  let text = strong("a");
  const values: string[] = [];
  for (const kid of ["b", "c", "d"]) {
    const signer = await signerOf(text);
    const signed = await signer.sign({ principal: "ada", expiresAt: 2_000_000_000 });
    assert.ok(signed.ok);
    values.push(signed.value);
    const next = nextRing(KEY, { old: text, fresh: fresh(kid), isRevoked: false });
    assert.ok(next.ok);
    text = next.value;
    const verifier = await signerOf(text);
    const good = await Promise.all(values.map(async (each) => (await verifier.verify(each, 0)).ok));
    assert.deepEqual(good, values.map((_, at) => at === values.length - 1), `after ${kid}`);
  }
  assert.equal(text, `d:${strong("d")},c:${strong("c")}`);
});

Deno.test("nextRing() with revoke keeps the new key alone", async () => {
  const old = `b:${strong("b")},c:${strong("c")}`;
  const signed = await (await signerOf(old)).sign({ principal: "a", expiresAt: 2_000_000_000 });
  const next = nextRing(KEY, { old, fresh: fresh("d"), isRevoked: true });
  assert.deepEqual(next, { ok: true, value: `d:${strong("d")}` });
  const verified = await (await signerOf(`d:${strong("d")}`)).verify(
    signed.ok ? signed.value : "",
    0,
  );
  assert.deepEqual(verified, { ok: false, error: "signature" });
});

for (
  const [name, old, code] of [
    ["contains commas", "a,comma,in,a,key,that,stands,alone,and,is,long", "key-not-for-ring"],
    ["is too short", "s3cr3t", "key-ring-invalid"],
    ["names a key twice", `b:${strong("b")},b:${strong("c")}`, "key-ring-invalid"],
  ] as const
) {
  Deno.test(`nextRing() refuses to keep a key that ${name}, unless it is revoked`, () => {
    const kept = nextRing(KEY, { old, fresh: fresh("d"), isRevoked: false });
    assert.equal(kept.ok ? "" : kept.error.code, code);
    assert.deepEqual(kept.ok ? [] : kept.error.hints, ["fleetctl secret rotate hmac --revoke"]);
    assert.ok(!JSON.stringify(kept).includes(old));
    assert.ok(nextRing(KEY, { old, fresh: fresh("d"), isRevoked: true }).ok);
  });
}

Deno.test("nextRing() makes a first key where there is none", () => {
  assert.deepEqual(nextRing(KEY, { old: undefined, fresh: fresh("d"), isRevoked: false }), {
    ok: true,
    value: `d:${strong("d")}`,
  });
});
