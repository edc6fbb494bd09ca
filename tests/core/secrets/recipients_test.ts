/**
 * The recipients file and the decisions that depend on it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createIdentity, isRecipient, recipientOf, seal, unseal } from "core/secrets/envelope.ts";
import {
  addRecipient,
  decideReaders,
  parseRecipients,
  planRewrap,
} from "core/secrets/recipients.ts";

const FILE = "/var/lib/fleetctl/repo/recipients";

async function make(count: number): Promise<{ identity: string; recipient: string }[]> {
  return await Promise.all(Array.from({ length: count }, async () => {
    const identity = await createIdentity();
    return { identity, recipient: await recipientOf(identity) ?? "" };
  }));
}

Deno.test("parseRecipients() reads lines and labels, and drops duplicates", async () => {
  const [one, two] = await make(2);
  assert(one && two);
  const text = `# ours\n\n# host atlas\n${one.recipient}\n  ${two.recipient}  \n${one.recipient}\n`;
  assert.deepEqual(parseRecipients(text, FILE), {
    ok: true,
    value: [
      { recipient: one.recipient, label: "host atlas" },
      { recipient: two.recipient, label: "" },
    ],
  });
  assert.deepEqual(parseRecipients(undefined, FILE), { ok: true, value: [] });
});

Deno.test("parseRecipients() names each bad line and never shows it", async () => {
  const [one] = await make(1);
  assert(one);
  const text = `age1nope\n${one.recipient}\n${one.identity}\nssh-ed25519 AAAA\n`;
  const parsed = parseRecipients(text, FILE);
  assert(!parsed.ok);
  assert.equal(parsed.error.code, "recipients-invalid");
  assert.deepEqual(
    parsed.error.details,
    [1, 3, 4].map((line) => `${FILE}:${line}: must be an age recipient, age1…`),
  );
});

Deno.test("addRecipient() keeps comments and adds once", async () => {
  const [one, two] = await make(2);
  assert(one && two);
  const first = addRecipient(undefined, { recipient: one.recipient, label: "host atlas" });
  assert.equal(first, `# host atlas\n${one.recipient}\n`);
  assert.equal(addRecipient(first, { recipient: one.recipient, label: "again" }), first);
  assert.equal(
    addRecipient(first.trimEnd(), { recipient: two.recipient, label: "recovery" }),
    `${first}# recovery\n${two.recipient}\n`,
  );
});

Deno.test("decideReaders() never adds a reader and never drops this host", () => {
  const listed = ["b", "c", "own"].map((recipient) => ({ recipient, label: "" }));
  assert.deepEqual(decideReaders(["a", "b", "own"], listed, ["own"]), {
    ok: true,
    value: ["b", "own"],
  });
  for (const [recorded, own] of [[["a", "b"], "own"], [["a", "own2"], "own2"]] as const) {
    const refused = decideReaders(recorded, listed, [own]);
    assert.equal(refused.ok ? "" : refused.error.code, "recipient-missing");
  }
  assert.deepEqual(planRewrap(["a", "b", "own"], listed), { added: ["c"], removed: ["a"] });
});

Deno.test("a sealed text can be opened by each of its recipients and by no other key", async () => {
  const [one, two, other] = await make(3);
  assert(one && two && other);
  const sealed = await seal("secret\n", [one.recipient, two.recipient]);
  for (const { identity } of [one, two]) {
    const opened = await unseal(sealed, [other.identity, identity]);
    assert.equal(opened.ok && opened.value.trimEnd(), "secret");
  }
  assert.deepEqual(await unseal(sealed, [other.identity]), {
    ok: false,
    error: { reason: "foreign" },
  });
  assert(!sealed.includes("secret"));
  assert.notEqual(sealed, await seal("secret\n", [one.recipient, two.recipient]));
});

Deno.test("isRecipient() and recipientOf() refuse everything else", async () => {
  for (const text of ["", "age1", "AGE-SECRET-KEY-1", "age1pq1", "x".repeat(62)]) {
    assert(!isRecipient(text), text);
    assert.equal(await recipientOf(text), undefined);
  }
});
