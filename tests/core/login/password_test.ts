/**
 * Stored passwords: a hash matches only its password, and a damaged hash is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  costOf,
  hashPassword,
  isHashed,
  isPasswordOf,
  parsePasswordHash,
} from "core/login/password.ts";

const SALT = new Uint8Array(16).fill(9);

Deno.test("isPasswordOf() accepts the password that was hashed, and no other", async () => {
  for (const password of ["a", "correct horse", "ä,:{}$", "x".repeat(1024), "a\0b"]) {
    const stored = await hashPassword(password, SALT, 1_000);
    assert.ok(isHashed(stored));
    const hash = parsePasswordHash(stored);
    assert.ok(hash.ok);
    assert.equal(await isPasswordOf(password, hash.value), true);
    for (const other of ["", `${password} `, password.slice(1), password.toUpperCase() + "x"]) {
      assert.equal(await isPasswordOf(other, hash.value), false);
    }
  }
});

Deno.test("hashPassword() matches the test vector of PBKDF2-HMAC-SHA256", async () => {
  const salt = new TextEncoder().encode("salt0000");
  assert.equal(
    await hashPassword("password", salt, 4_096),
    `{pbkdf2-sha256}4096$c2FsdDAwMDA$${await reference("password", salt, 4_096)}`,
  );
});

async function reference(password: string, salt: Uint8Array, iterations: number): Promise<string> {
  const { pbkdf2Sync } = await import("node:crypto");
  return pbkdf2Sync(password, salt, iterations, 32, "sha256").toString("base64url");
}

Deno.test("parsePasswordHash() refuses what is not exactly a hash", async () => {
  const good = await hashPassword("a", SALT, 1_000);
  const rows = [
    "",
    "plain",
    good.slice(0, -1),
    `${good}=`,
    `${good}A`,
    good.replace("sha256", "sha1"),
    good.replace("$", () => "$$"),
    good.replace("1000", "01000"),
    good.replace("1000", "999999999"),
    good.replace("1000", "1e6"),
  ];
  for (const row of rows) {
    const hash = parsePasswordHash(row);
    assert.equal(hash.ok ? "" : hash.error.code, "password-hash-invalid", row);
  }
});

/** Hashes that the reference programs produced. */
const KNOWN: readonly (readonly [string, string])[] = [
  [
    "password",
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
  ],
  ["U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"],
  [
    "pleaseletmein",
    "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT4" +
    "4+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw",
  ],
];
for (const [password, stored] of KNOWN) {
  Deno.test(`isPasswordOf() verifies ${stored.slice(0, 20)}`, async () => {
    assert.ok(isHashed(stored));
    const hash = parsePasswordHash(stored);
    assert.ok(hash.ok, stored);
    assert.equal(await isPasswordOf(password, hash.value), true);
    for (const other of ["", `${password} `]) {
      assert.equal(await isPasswordOf(other, hash.value), false, other);
    }
  });
}

Deno.test("isPasswordOf() accepts no password that bcrypt would truncate", async () => {
  const { bcrypt } = await import("hash-wasm");
  const long = "a".repeat(72);
  const hash = parsePasswordHash(
    await bcrypt({ password: long, salt: SALT, costFactor: 4, outputType: "encoded" }),
  );
  assert.ok(hash.ok);
  assert.equal(await isPasswordOf(long, hash.value), true);
  for (const other of [`${long}b`, "ä".repeat(37), "a".repeat(71), `${"a".repeat(71)}\0`]) {
    assert.equal(await isPasswordOf(other, hash.value), false);
  }
});

Deno.test("costOf() distinguishes hashes by cost", () => {
  const cost = (text: string) => {
    const hash = parsePasswordHash(text);
    assert.ok(hash.ok, text);
    return costOf(hash.value);
  };
  const [argon, bcrypt, scrypt] = KNOWN.map(([, stored]) => stored);
  assert.equal(new Set([argon, bcrypt, scrypt].map((one) => cost(one ?? ""))).size, 3);
  assert.notEqual(cost(argon ?? ""), cost((argon ?? "").replace("t=2", "t=3")));
});

Deno.test("parsePasswordHash() bounds the cost of a check", () => {
  const [argon = "", bcrypt = "", scrypt = ""] = KNOWN.map(([, stored]) => stored);
  const rows = [
    argon.replace("m=65536", "m=9999999"),
    argon.replace("t=2", "t=999"),
    argon.replace("p=1", "p=0"),
    argon.replace("v=19", "v=16"),
    argon.replace("argon2id", "argon2i"),
    argon.replace("c29tZXNhbHQ", "c29t"),
    `${argon}=`,
    bcrypt.replace("05", "31"),
    bcrypt.replace("05", "03"),
    bcrypt.slice(0, -1),
    bcrypt.replace("2a", "2x"),
    scrypt.replace("ln=14", "ln=30"),
    scrypt.replace("r=8", "r=999"),
  ];
  for (const row of rows) {
    const hash = parsePasswordHash(row);
    assert.equal(hash.ok ? "" : hash.error.code, "password-hash-invalid", row);
    assert.ok(isHashed(row), `${row} is not taken for a plain password`);
  }
});
