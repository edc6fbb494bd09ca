/**
 * Stored passwords: a hash fits its password alone, and a damaged one is refused.
 *
 * @module
 */

import assert from "node:assert/strict";
import { hashPassword, isHashed, isPasswordOf, parsePasswordHash } from "core/password.ts";

const SALT = new Uint8Array(16).fill(9);

Deno.test("isPasswordOf() knows the password that hashPassword() took, and no other", async () => {
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

Deno.test("hashPassword() gives the known answer of PBKDF2-HMAC-SHA256", async () => {
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
