/**
 * Modified session tokens: every bit, every length of the signature, every other encoding of the
 * same bytes. No variant is a valid session or causes an error, and the cockpit sees nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createLoginRig, type LoginRig, OWN_SCRIPT } from "tests/support/login_fixture.ts";

const URL_SAFE = { alphabet: "base64url", omitPadding: true } as const;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Returns a good token, split into its two parts. */
async function goodToken(rig: LoginRig): Promise<{ body: string; mac: string }> {
  const [body = "", mac = ""] = (await rig.session()).slice("wv_session=".length).split(".");
  return { body, mac };
}

async function refuses(rig: LoginRig, token: string, why: string): Promise<void> {
  const cookie = `wv_session=${token}`;
  const answer = await rig.ask("/api/x", { headers: { ...OWN_SCRIPT, cookie } });
  await answer.body?.cancel();
  assert.equal(answer.status, 401, why);
  assert.equal(rig.seen.length, 0, `${why}: the cockpit saw nothing`);
}

function flipped(text: string, bit: number): string {
  const bytes = Uint8Array.fromBase64(text, URL_SAFE);
  const at = bit >> 3;
  bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
  return bytes.toBase64(URL_SAFE);
}

Deno.test("a token with any one bit flipped is not a session", async () => {
  const rig = await createLoginRig();
  const { body, mac } = await goodToken(rig);
  const bitsOf = (text: string) => Uint8Array.fromBase64(text, URL_SAFE).length * 8;
  for (let bit = 0; bit < bitsOf(body); bit++) {
    await refuses(rig, `${flipped(body, bit)}.${mac}`, `bit ${bit} of the fields`);
  }
  for (let bit = 0; bit < bitsOf(mac); bit++) {
    await refuses(rig, `${body}.${flipped(mac, bit)}`, `bit ${bit} of the signature`);
  }
});

Deno.test("a token whose signature is absent or has another length is not a session", async () => {
  const rig = await createLoginRig();
  const { body, mac } = await goodToken(rig);
  const bytes = Uint8Array.fromBase64(mac, URL_SAFE);
  for (let length = 0; length < bytes.length; length++) {
    await refuses(rig, `${body}.${bytes.slice(0, length).toBase64(URL_SAFE)}`, `${length} bytes`);
  }
  for (const more of [1, 32, 64]) {
    const long = new Uint8Array(bytes.length + more);
    long.set(bytes);
    await refuses(rig, `${body}.${long.toBase64(URL_SAFE)}`, `${bytes.length + more} bytes`);
  }
  const shapes = ["", ".", "..", body, `${body}.`, `.${mac}`, `${body}.${mac}.`, `.${body}.${mac}`];
  for (const shape of [...shapes, `${body}.${mac}.${mac}`, `${body}..${mac}`, `${mac}.${body}`]) {
    await refuses(rig, shape, JSON.stringify(shape));
  }
});

Deno.test("a token in another encoding of the same bytes is not a session", async () => {
  const rig = await createLoginRig();
  const { body, mac } = await goodToken(rig);
  const plain = (text: string) =>
    Uint8Array.fromBase64(text, URL_SAFE).toBase64({ omitPadding: true });
  const padded = (text: string) =>
    Uint8Array.fromBase64(text, URL_SAFE).toBase64({ alphabet: "base64url" });
  const other: [string, string][] = [
    ["padding", `${padded(body)}.${padded(mac)}`],
    ["padding of the signature alone", `${body}.${padded(mac)}`],
    ["a space within", `${body.slice(0, 4)} ${body.slice(4)}.${mac}`],
    ["an escape", `${body}%2E${mac}`],
    ["an escaped padding", `${body}.${mac}%3D`],
    ["a line break", `${body.slice(0, 4)}\t${body.slice(4)}.${mac}`],
  ];
  const standard = `${plain(body)}.${plain(mac)}`;
  if (standard !== `${body}.${mac}`) other.push(["the other alphabet", standard]);
  for (const part of [body, mac]) {
    // The last letter has spare bits, which must be zero.
    const last = LETTERS.indexOf(part.at(-1) ?? "");
    const spare = [0, 0, 4, 2][part.length % 4] ?? 0;
    for (let bits = 1; bits < 1 << spare; bits++) {
      const turned = part.slice(0, -1) + LETTERS[last | bits];
      other.push([`spare bits ${bits}`, part === body ? `${turned}.${mac}` : `${body}.${turned}`]);
    }
  }
  for (const [why, token] of other) await refuses(rig, token, why);
});
