/** Tests of dial keys and their proofs. @module */

import assert from "node:assert/strict";
import { dialProofText } from "core/dial/frames.ts";
import {
  generateDialKey,
  isPublicKey,
  parseDialKey,
  signProof,
  verifyProof,
} from "core/dial/proof.ts";

const of = { nonce: "n1", agent: "ada", userEmail: "a@b.c", host: "atlas", gateway: "castor:8735" };

Deno.test("generateDialKey() makes no key that looks like an option", async () => {
  const keys = await Promise.all(Array.from({ length: 600 }, () => generateDialKey()));
  assert.deepEqual(keys.filter(({ key }) => key.publicKey.startsWith("-")), []);
});

Deno.test("verifyProof() accepts the key's own signature of exactly this text", async () => {
  const { key } = await generateDialKey();
  const proof = await signProof(key, dialProofText(of));
  assert.equal(await verifyProof(key.publicKey, dialProofText(of), proof), true);
});

for (const field of ["nonce", "agent", "userEmail", "host", "gateway"] as const) {
  Deno.test(`verifyProof() refuses a proof made for another ${field}`, async () => {
    const { key } = await generateDialKey();
    const proof = await signProof(key, dialProofText(of));
    const other = dialProofText({ ...of, [field]: "x" });
    assert.equal(await verifyProof(key.publicKey, other, proof), false);
  });
}

Deno.test("verifyProof() refuses another key, garbage and short signatures", async () => {
  const [one, two] = [await generateDialKey(), await generateDialKey()];
  const text = dialProofText(of);
  const proof = await signProof(one.key, text);
  assert.equal(await verifyProof(two.key.publicKey, text, proof), false);
  assert.equal(await verifyProof(one.key.publicKey, text, ""), false);
  assert.equal(await verifyProof(one.key.publicKey, text, "!!!"), false);
  assert.equal(await verifyProof("AAAA", text, proof), false);
});

Deno.test("parseDialKey() reads the output of generateDialKey()", async () => {
  const { key, stored } = await generateDialKey();
  const read = await parseDialKey(stored);
  assert.ok(read.ok);
  const proof = await signProof(read.value, "text");
  assert.equal(await verifyProof(key.publicKey, "text", proof), true);
  assert.ok(isPublicKey(key.publicKey));
});

for (const stored of ["", "{}", '{"public":"AA","pkcs8":"AA"}', '{"public":1,"pkcs8":2}']) {
  Deno.test(`parseDialKey() refuses ${JSON.stringify(stored)}`, async () => {
    const read = await parseDialKey(stored);
    assert.equal(read.ok ? "" : read.error.code, "dial-key-unreadable");
  });
}
