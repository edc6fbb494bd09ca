/**
 * `WEBVIEW_BASIC_USERS`: the comma rule, hashes, and faults that never repeat a password.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { parseBasicUsers, printBasicUsers } from "core/login/basic_users.ts";
import { hashPassword, isHashed } from "core/login/password.ts";

function parsed(text: string): Readonly<Record<string, string>> {
  const users = parseBasicUsers(text);
  assert.ok(users.ok, users.ok ? "" : users.error.join("; "));
  return Object.fromEntries(users.value.map(({ name, stored }) => [name, stored]));
}

const ROWS: readonly [string, Readonly<Record<string, string>>][] = [
  ["a:b", { a: "b" }],
  ["a:b,c:d", { a: "b", c: "d" }],
  ["a:b,c", { a: "b,c" }],
  ["a:b,c,d:e,f", { a: "b,c", d: "e,f" }],
  ["a:b:c", { a: "b:c" }],
  ["a: b ", { a: " b " }],
  ["a:b,", { a: "b," }],
  ["a:,b", { a: ",b" }],
  [" Mia@Example.ORG :x, bob:y", { "mia@example.org": "x", bob: "y" }],
];
for (const [text, wanted] of ROWS) {
  Deno.test(`parseBasicUsers() reads ${JSON.stringify(text)}`, () => {
    assert.deepEqual(parsed(text), wanted);
  });
}

Deno.test("parseBasicUsers() accepts hashed entries beside plain ones", async () => {
  const hash = await hashPassword("secret", new Uint8Array(16), 1_000);
  const users = parseBasicUsers(`a:${hash},b:plain`);
  assert.ok(users.ok);
  assert.deepEqual(users.value.map(({ credential }) => credential.kind), ["hash", "plain"]);
});

const FAULTS: readonly [string, RegExp][] = [
  ["", /no entries/],
  ["  ", /no entries/],
  ["sesame", /^entry 1 of 1 has no colon/],
  ["a:", /^entry 1 of 1 has an empty password/],
  ["a:b,c:", /^entry 2 of 2 has an empty password/],
  [":sesame", /empty name/],
  ["a:sesame,A:sesame", /^entry 2 of 2 has the same name as another/],
  ["a b:sesame", /special character/],
  ["a|b:sesame", /special character/],
  ["é:sesame", /special character/],
  ["a\nb:sesame", /special character/],
  [`${"a".repeat(255)}:sesame`, /name that is too long/],
  [`a:${"sesame".repeat(200)}`, /password that is too long/],
  ["a:{md5}sesame", /scheme is not known/],
  ["a:$2$sesame", /scheme is not known/],
  ["a:{pbkdf2-sha256}sesame", /must have the form/],
  ["a:{pbkdf2-sha256}1$c2VzYW1l$sesame", /must have the form/],
  ["a:{pbkdf2-sha256}99999999$c2VzYW1lMDA$c2VzYW1l", /more than/],
];
for (const [text, wanted] of FAULTS) {
  Deno.test(`parseBasicUsers() refuses ${JSON.stringify(text.slice(0, 40))}`, () => {
    const users = parseBasicUsers(text);
    assert.ok(!users.ok);
    assert.match(users.error.join("; "), wanted);
    assert.ok(!/sesame|c2Vz/.test(users.error.join()), "a fault repeats no password");
  });
}

Deno.test("parseBasicUsers() reads the output of printBasicUsers()", () => {
  const name = fc.stringMatching(/^[a-z0-9@.+-]{1,20}$/);
  // A password may contain a comma that no colon follows. A text that looks like a hash must be
  // one.
  const stored = fc.string({ minLength: 1, maxLength: 30 })
    .filter((text) => !/,[^,]*:/.test(text) && !isHashed(text));
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.record({ name, stored }), { minLength: 1, selector: (one) => one.name }),
      (entries) => {
        assert.deepEqual(
          parsed(printBasicUsers(entries)),
          Object.fromEntries(entries.map((one) => [one.name, one.stored])),
        );
      },
    ),
  );
});

Deno.test("parseBasicUsers() never throws", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseBasicUsers(text)));
});
