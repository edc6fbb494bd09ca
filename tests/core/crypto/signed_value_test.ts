/**
 * Signed values: vectors made with an independent implementation, and every kind of refusal.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import assert from "node:assert/strict";
import { createHmac, hkdfSync } from "node:crypto";
import fc from "fast-check";
import {
  fromBase64Url,
  type KeyRing,
  openSigner,
  parseKeyRing,
  type SignedFault,
  toBase64Url,
} from "core/crypto/signed_value.ts";

const NOW_MS = 1_700_000_000_000;
const KEY = "0123456789abcdef0123456789abcdef";

function ring(text: string): KeyRing {
  const parsed = parseKeyRing(text, "WEBVIEW_HMAC_KEY");
  assert(parsed.ok, parsed.ok ? "" : parsed.error.message);
  return parsed.value;
}

/** An independent implementation of the format, with node's crypto. */
function made(key: string, purpose: string, payload: string | Uint8Array): string {
  const derived = hkdfSync("sha256", key, "", `fleetctl/signed-value/1/${purpose}`, 32);
  const bytes = Buffer.from(payload as string);
  const mac = createHmac("sha256", Buffer.from(derived)).update(bytes).digest("base64url");
  return `${bytes.toString("base64url")}.${mac}`;
}

Deno.test("sign() makes the documented format", async () => {
  const signer = await openSigner(ring(KEY), "session");
  const value = await signer.sign({
    expiresAt: 1_700_000_100,
    principal: "mia@example.org",
    id: "s1",
  });
  assert(value.ok);
  assert.equal(value.value, made(KEY, "session", "session|1700000100|mia@example.org|s1"));
  assert.equal(
    value.value,
    "c2Vzc2lvbnwxNzAwMDAwMTAwfG1pYUBleGFtcGxlLm9yZ3xzMQ." +
      "8HTnzDbvNAHi3wkQs316jHS3I4cTIghVCWfIH-vIBR0",
  );
});

Deno.test("verify() reads back three and four fields", async () => {
  const signer = await openSigner(ring(KEY), "csrf");
  for (const id of [undefined, "", "s-1"]) {
    const fields = { expiresAt: 1_700_000_100, principal: "mia@example.org" };
    const given = id === undefined ? fields : { ...fields, id };
    const value = await signer.sign(given);
    assert(value.ok);
    const read = await signer.verify(value.value, NOW_MS);
    assert.deepEqual(read, { ok: true, value: { purpose: "csrf", ...given, isOldKey: false } });
  }
});

const good = "session|1700000100|mia@example.org|s1";
const REFUSED: readonly { name: string; value: string; want: SignedFault }[] = [
  { name: "empty text", value: "", want: "malformed" },
  { name: "no dot", value: "abc", want: "malformed" },
  { name: "two dots", value: `${made(KEY, "session", good)}.x`, want: "malformed" },
  { name: "padding", value: made(KEY, "session", good).replace(".", "=."), want: "malformed" },
  {
    name: "another spelling of the same bytes",
    value: made(KEY, "session", `${good}1`).replace(
      /(.)\./,
      (_, last) => `${String.fromCharCode(last.charCodeAt(0) + 1)}.`,
    ),
    want: "malformed",
  },
  { name: "a short mac", value: made(KEY, "session", good).slice(0, -4), want: "malformed" },
  { name: "too long", value: `${"A".repeat(4096)}.AAAA`, want: "malformed" },
  { name: "another key", value: made("f".repeat(32), "session", good), want: "signature" },
  { name: "another purpose's key", value: made(KEY, "csrf", good), want: "signature" },
  {
    name: "a changed payload",
    value: made(KEY, "session", good).replace(/^c/, "d"),
    want: "signature",
  },
  {
    name: "another purpose inside",
    value: made(KEY, "session", "csrf|1700000100|mia@example.org"),
    want: "purpose",
  },
  {
    name: "a purpose that only begins with the same letters",
    value: made(KEY, "session", "sessions|1700000100|mia@example.org"),
    want: "purpose",
  },
  {
    name: "the second of its expiry",
    value: made(KEY, "session", "session|1700000000|mia@example.org"),
    want: "expired",
  },
  {
    name: "an empty principal",
    value: made(KEY, "session", "session|1700000100|"),
    want: "principal",
  },
  {
    name: "a blank principal",
    value: made(KEY, "session", "session|1700000100| |s"),
    want: "principal",
  },
  { name: "two fields", value: made(KEY, "session", "session|1700000100"), want: "malformed" },
  { name: "five fields", value: made(KEY, "session", `${good}|x`), want: "malformed" },
  { name: "a signed expiry", value: made(KEY, "session", "session|-1|m@x.org"), want: "malformed" },
  {
    name: "a hex expiry",
    value: made(KEY, "session", "session|0xffffffff|m@x.org"),
    want: "malformed",
  },
  {
    name: "bytes that are not text",
    value: made(KEY, "session", new Uint8Array([0xff, 0xfe, 0x7c])),
    want: "malformed",
  },
];

for (const row of REFUSED) {
  Deno.test(`verify() refuses ${row.name}`, async () => {
    const signer = await openSigner(ring(KEY), "session");
    assert.deepEqual(await signer.verify(row.value, NOW_MS), { ok: false, error: row.want });
  });
}

Deno.test("verify() accepts each key of a ring and sign() uses the first", async () => {
  const old = "old-key-old-key-old-key";
  const next = "new-key-new-key-new-key";
  const both = await openSigner(ring(`n:${next},o:${old}`), "session");
  for (const [key, isOldKey] of [[old, true], [next, false]] as const) {
    const read = await both.verify(made(key, "session", good), NOW_MS);
    assert(read.ok);
    assert.equal(read.value.isOldKey, isOldKey);
  }
  const value = await both.sign({
    expiresAt: 1_700_000_100,
    principal: "mia@example.org",
    id: "s1",
  });
  assert(value.ok);
  assert.equal(value.value, made(next, "session", good));
  const revoked = await openSigner(ring(`n:${next}`), "session");
  assert.deepEqual(await revoked.verify(made(old, "session", good), NOW_MS), {
    ok: false,
    error: "signature",
  });
});

const UNSIGNABLE: readonly { name: string; principal: string; id?: string; expiresAt?: number }[] =
  [
    { name: "an empty principal", principal: " " },
    { name: "a separator in the principal", principal: "a|b@example.org" },
    { name: "a newline in the principal", principal: "a\nb" },
    { name: "a separator in the id", principal: "a", id: "x|y" },
    { name: "a fraction of a second", principal: "a", expiresAt: 1.5 },
    { name: "an expiry of zero", principal: "a", expiresAt: 0 },
    { name: "a very long principal", principal: "a".repeat(4000) },
  ];

for (const row of UNSIGNABLE) {
  Deno.test(`sign() refuses ${row.name}`, async () => {
    const signer = await openSigner(ring(KEY), "session");
    const value = await signer.sign({ expiresAt: 1_700_000_100, ...row });
    assert.equal(value.ok ? "" : value.error.code, "value-unsignable");
  });
}

const RINGS: readonly { given: string; want: readonly string[] | string }[] = [
  { given: KEY, want: [""] },
  { given: `a:${KEY}`, want: ["a"] },
  { given: `a:${KEY},b:${KEY}x`, want: ["a", "b"] },
  { given: `${KEY},not a ring: it is one key`, want: [""] },
  { given: `a:${KEY}:with:colons`, want: ["a"] },
  { given: "", want: "Cannot read K: the key is shorter than 16 characters" },
  { given: "short", want: "Cannot read K: the key is shorter than 16 characters" },
  { given: `a:${KEY},b:x`, want: "Cannot read K: key 2 of 2 is shorter than 16 characters" },
  { given: `a:${KEY},a:${KEY}`, want: "Cannot read K: key 2 of 2 has the same name as another" },
  {
    given: Array.from({ length: 9 }, (_, index) => `k${index}:${KEY}`).join(","),
    want: "Cannot read K: it contains 9 keys, must be at most 8",
  },
];

for (const row of RINGS) {
  Deno.test(`parseKeyRing() of ${JSON.stringify(row.given.slice(0, 40))}`, () => {
    const parsed = parseKeyRing(row.given, "K");
    if (typeof row.want === "string") {
      assert.equal(parsed.ok ? "" : parsed.error.message, row.want);
      assert.equal(parsed.ok ? "" : parsed.error.code, "key-ring-invalid");
    } else assert.deepEqual(parsed.ok ? parsed.value.map((key) => key.kid) : [], row.want);
  });
}

Deno.test("fromBase64Url() reads the output of toBase64Url(), and no other encoding", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
    const text = toBase64Url(bytes);
    assert.equal(text, Buffer.from(bytes).toString("base64url"));
    assert.deepEqual(fromBase64Url(text), Uint8Array.from(bytes));
  }));
  for (const bad of ["A", "AB=", "A+", "AB\n", "é"]) assert.equal(fromBase64Url(bad), undefined);
  assert.equal(fromBase64Url("AB"), undefined, "bits behind the last byte");
});

Deno.test("isEqualInConstantTime() is equality", () => {
  const text = fc.string({ maxLength: 6 });
  fc.assert(fc.property(text, text, (left, right) => {
    assert.equal(isEqualInConstantTime(left, right), left === right);
    assert(isEqualInConstantTime(left, left));
  }));
  assert(!isEqualInConstantTime("", "a"));
  assert(!isEqualInConstantTime("a", ""));
  assert(!isEqualInConstantTime("aa", "a"));
});

Deno.test("verify() accepts the output of sign() and nothing that differs from it", async () => {
  const signer = await openSigner(ring(KEY), "session");
  const principal = fc.stringMatching(/^[a-z@.]{1,40}$/);
  await fc.assert(fc.asyncProperty(principal, fc.nat(), fc.nat(), async (name, at, bit) => {
    const value = await signer.sign({ expiresAt: 1_700_000_100, principal: name });
    assert(value.ok);
    assert((await signer.verify(value.value, NOW_MS)).ok);
    const index = at % value.value.length;
    const other = "ABab01-_."[bit % 9] ?? "A";
    const changed = value.value.slice(0, index) + other + value.value.slice(index + 1);
    if (changed !== value.value) assert(!(await signer.verify(changed, NOW_MS)).ok);
  }));
});
