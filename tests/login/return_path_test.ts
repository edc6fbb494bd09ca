/**
 * Return paths: a corpus of known open-redirect attacks, and a property test of how browsers
 * resolve the result.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { loginPathFor, safeReturnPath } from "login/return_path.ts";

const GOOD = [
  "/",
  "/agents/ada",
  "/agents/ada?tab=1&x=%2F%2Fa",
  "/a#b",
  "/caf%C3%A9",
  "/a.b/c-d_e~f",
  "/apiary",
  "/authors",
];
for (const path of GOOD) {
  Deno.test(`safeReturnPath() leads to ${path}`, () => assert.equal(safeReturnPath(path), path));
}

const BAD = [
  "",
  "agents",
  "//evil.example",
  "///evil.example",
  "////evil.example",
  "/\\evil.example",
  "\\/evil.example",
  "\\\\evil.example",
  "/\\/evil.example",
  "/\t/evil.example",
  "/\n/evil.example",
  "/\r/evil.example",
  "/\v/evil.example",
  "/\0/evil.example",
  " //evil.example",
  "/ /evil.example",
  "/%09/evil.example",
  "/%0a/evil.example",
  "/%0d%0aset-cookie:a=b",
  "/%00",
  "/%2f%2fevil.example",
  "/%2F/evil.example",
  "/%5cevil.example",
  "/%252f%252fevil.example",
  "/..//evil.example",
  "/.//evil.example",
  "/a/..//evil.example",
  "/a//b",
  "https://evil.example",
  "https:evil.example",
  "https:/evil.example",
  "http:\\\\evil.example",
  "//evil.example%00.good",
  "//good@evil.example",
  "//evil.example#.good",
  "javascript:alert(1)",
  "JaVaScRiPt:alert(1)",
  "data:text/html,x",
  "/\u2028/evil",
  "/\u00a0/evil",
  "\ufeff//evil.example",
  "//[::1]",
  "//ⓔvil.example",
  "/\ud800",
  "/auth/logout",
  "/auth",
  "/AUTH/login",
  "/x/../auth/logout",
  "/api/turns",
  "/events",
  "/terminal/x",
  "/browser/x",
  "/_internal/x",
  `/${"a".repeat(2048)}`,
];
for (const path of BAD) {
  Deno.test(`safeReturnPath() does not lead to ${JSON.stringify(path.slice(0, 40))}`, () => {
    assert.equal(safeReturnPath(path), "/");
  });
}

Deno.test("safeReturnPath() never leaves the origin, whatever the input", () => {
  const piece = fc.oneof(
    fc.constantFrom("/", "\\", "//", "..", ".", "@", ":", "%2f", "%5c", "\t", "\n", "\0", "#", "?"),
    fc.constantFrom("evil.example", "https:", "javascript:", "[::1]", "\u2028", "%09", "。"),
    fc.string({ unit: "binary", maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const path = safeReturnPath(pieces.join(""));
      const landed = new URL(path, "https://good.example/auth/login");
      assert.equal(landed.origin, "https://good.example");
      assert.equal(landed.username, "");
      assert.ok(path.startsWith("/") && !/^\/[\\/]/.test(path));
      assert.equal(safeReturnPath(path), path, "it is a fixed point");
      new Headers({ location: path });
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("loginPathFor() keeps a safe path and drops any other", () => {
  assert.equal(loginPathFor("/a?b=c&d"), "/auth/login?next=%2Fa%3Fb%3Dc%26d");
  assert.equal(loginPathFor("//evil.example"), "/auth/login");
});
