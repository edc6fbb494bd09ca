/**
 * Signed root execution: a grant is valid for one request, one caller and half a minute.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { parseEnvelope, printEnvelope } from "core/verbs/exec_envelope.ts";
import {
  checkGrant,
  type Grant,
  GRANT_SECONDS,
  type GrantSubject,
  signGrant,
} from "core/verbs/grant.ts";
import { readGrantKey } from "core/verbs/grant_key.ts";
import { ADMIN, AGENT, OPERATOR } from "tests/core/verbs/callers.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const KEY = "k".repeat(43);
const NOW = 1_700_000_000_000;
const SUBJECT: GrantSubject = {
  request: { argv: ["mcp", "add", "--", "git", "ada"], stdin: "s" },
  caller: AGENT,
};
const GRANT = await signGrant(KEY, SUBJECT, { now: NOW, nonce: new Uint8Array(16).fill(7) });

async function codeOf(
  subject: GrantSubject,
  grant: Grant = GRANT,
  at: { readonly key?: string; readonly now?: number } = {},
): Promise<string> {
  const got = await checkGrant(at.key ?? KEY, subject, grant, at.now ?? NOW + 1000);
  return got.ok ? "ok" : got.error.code;
}

Deno.test("checkGrant() accepts the request it was made for", async () => {
  assert.equal(await codeOf(SUBJECT), "ok");
});

const { request, caller } = SUBJECT;
const CHANGED: readonly [name: string, subject: GrantSubject][] = [
  ["another argument", {
    caller,
    request: { ...request, argv: ["mcp", "add", "--", "git", "bea"] },
  }],
  ["arguments that are joined differently", {
    caller,
    request: { ...request, argv: ["mcp", "add", "--", "git ada"] },
  }],
  ["another value on stdin", { caller, request: { ...request, stdin: "t" } }],
  ["an as that was added", { caller, request: { ...request, as: "ada" } }],
  ["another caller", { request, caller: ADMIN }],
  ["the operator", { request, caller: OPERATOR }],
  ["the gateway", { request, caller: { kind: "gateway", uid: 0 } }],
  ["another uid", { request, caller: { ...AGENT, uid: 1 } }],
];

for (const [name, subject] of CHANGED) {
  Deno.test(`checkGrant() refuses ${name}`, async () => {
    assert.equal(await codeOf(subject), "grant-invalid");
  });
}

Deno.test("checkGrant() refuses another key, a changed signature and no signature", async () => {
  assert.equal(await codeOf(SUBJECT, GRANT, { key: "x".repeat(43) }), "grant-invalid");
  const flipped = (GRANT.mac[0] === "0" ? "1" : "0") + GRANT.mac.slice(1);
  assert.equal(await codeOf(SUBJECT, { ...GRANT, mac: flipped }), "grant-invalid");
  for (const mac of ["", "zz", GRANT.mac.slice(2)]) {
    assert.equal(await codeOf(SUBJECT, { ...GRANT, mac }), "grant-invalid");
  }
});

Deno.test("checkGrant() refuses a grant with another nonce or expiry", async () => {
  assert.equal(await codeOf(SUBJECT, { ...GRANT, nonce: "00" }), "grant-invalid");
  assert.equal(await codeOf(SUBJECT, { ...GRANT, expiresAt: NOW + 1e9 }), "grant-invalid");
});

Deno.test("checkGrant() refuses a grant that has expired or is not valid yet", async () => {
  const end = NOW + GRANT_SECONDS * 1000;
  assert.equal(await codeOf(SUBJECT, GRANT, { now: end }), "ok");
  assert.equal(await codeOf(SUBJECT, GRANT, { now: end + 1 }), "grant-invalid");
  // A clock that was set back must not extend the life of a grant.
  assert.equal(await codeOf(SUBJECT, GRANT, { now: NOW - 60_000 }), "grant-invalid");
});

Deno.test("parseEnvelope() reads the output of printEnvelope(), on one line", () => {
  const envelope = { ...SUBJECT, grant: GRANT };
  const text = printEnvelope(envelope);
  assert.equal(text.indexOf("\n"), text.length - 1);
  assert.deepEqual(parseEnvelope(text), { ok: true, value: envelope });
});

for (
  const text of [
    "",
    "{}",
    '{"request":"{}","caller":{},"grant":{}}',
    JSON.stringify({
      request: '{"argv":["status"]}',
      caller: { kind: "other", uid: 1 },
      grant: GRANT,
    }),
    JSON.stringify({
      request: '{"argv":["status"]}',
      caller: { kind: "agent", uid: 1, agent: "root" },
      grant: GRANT,
    }),
  ]
) {
  Deno.test(`parseEnvelope() refuses ${text.slice(0, 60)}`, () => {
    assert.equal(parseEnvelope(text).ok, false);
  });
}

const paths = pathsUnder("/");
const KEY_FILES: readonly [
  name: string,
  text: string | undefined,
  mode: number,
  uid: number,
  want: string,
][] = [
  ["a usable file", `FLEETCTL_HOST_OP_GRANT_SECRET=${KEY}\n`, 0o600, 0, "ok"],
  ["no file", undefined, 0o600, 0, "no such file"],
  ["a file others can read", `FLEETCTL_HOST_OP_GRANT_SECRET=${KEY}\n`, 0o640, 0, "must be 0600"],
  [
    "another user's file",
    `FLEETCTL_HOST_OP_GRANT_SECRET=${KEY}\n`,
    0o600,
    1000,
    "must belong to 0",
  ],
  ["a short key", "FLEETCTL_HOST_OP_GRANT_SECRET=abc\n", 0o600, 0, "fewer than 32"],
  ["a file without the key", "X=1\n", 0o600, 0, "fewer than 32"],
];

for (const [name, text, mode, uid, want] of KEY_FILES) {
  Deno.test(`readGrantKey() answers ${want} for ${name}`, async () => {
    const files = memoryFiles();
    await files.ensureDir(paths.etc);
    if (text !== undefined) await files.write(paths.hostOpKeys, text, { mode, uid });
    const got = await readGrantKey(files, paths, 0);
    if (got.ok) return assert.equal(want, "ok");
    assert.equal(got.error.code, "grant-key-unusable");
    assert.ok(got.error.message.includes(want), got.error.message);
    assert.ok(!got.error.message.includes(KEY));
  });
}
