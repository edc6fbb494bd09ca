/**
 * Only its recovery key opens a sealed copy. A copy that names a path outside of a fleet is refused
 * as a whole: anyone who knows the public key can create one.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { HostName } from "core/names.ts";
import { seal } from "core/secrets/envelope.ts";
import { freshHostKey } from "core/secrets/host_key.ts";
import { isCopiedPath, openCopy, sealCopy } from "core/secrets/sealed_copy.ts";

const FILES = [
  { path: "var/lib/fleetctl/repo/agents.d/ada.yaml", text: "name: ada\n" },
  { path: "etc/fleetctl/roles.yaml", text: "workdir: /srv\n" },
];
const COPY = { host: "atlas" as HostName, made: 1, files: FILES };

Deno.test("openCopy() returns the sealed content, to the recovery key only", async () => {
  const [recovery, other] = [await freshHostKey(), await freshHostKey()];
  const sealed = await sealCopy(COPY, [recovery.recipient]);
  assert.doesNotMatch(sealed, /[{"_]/, "base64 has none of the characters of a record");
  const opened = await openCopy(sealed, recovery.identities);
  assert.deepEqual(opened.ok && opened.value, COPY);
  const refused = await openCopy(sealed, other.identities);
  assert.equal(!refused.ok && refused.error.code, "sealed-copy-unreadable");
});

Deno.test("openCopy() refuses other paths, duplicate files and malformed content", async () => {
  const recovery = await freshHostKey();
  const forged = (path: string) => ({ version: 1, ...COPY, files: [{ path, text: "x" }] });
  const rows: readonly unknown[] = [
    forged("etc/passwd"),
    forged("var/lib/fleetctl/repo/agents.d/../../../../etc/passwd.yaml"),
    forged("/etc/fleetctl/roles.yaml"),
    forged("etc/fleetctl/host.key"),
    forged("var/lib/fleetctl/repo/.git/config"),
    { version: 1, ...COPY, files: [FILES[0], FILES[0]] },
    { version: 2, ...COPY },
    { version: 1, ...COPY, host: "../x" },
    { version: 1, ...COPY, files: [null] },
    null,
    "text",
  ];
  for (const row of rows) {
    const sealed = await seal(JSON.stringify(row), [recovery.recipient]);
    const opened = await openCopy(sealed, recovery.identities);
    assert.equal(!opened.ok && opened.error.code, "sealed-copy-unreadable", JSON.stringify(row));
  }
});

Deno.test("isCopiedPath() accepts every file of a ledger and of an operator", () => {
  const taken = [
    "var/lib/fleetctl/repo/recipients",
    "var/lib/fleetctl/repo/secrets.age",
    "var/lib/fleetctl/repo/hosts.d/atlas.yaml",
    "var/lib/fleetctl/repo/catalog/git/mcp.yaml",
    "var/lib/fleetctl/repo/catalog/git/previous/deno.lock",
    "etc/fleetctl/host.yaml",
    "etc/fleetctl/defaults.yaml",
    "etc/fleetctl/prices.yaml",
    "etc/fleetctl/teams-cloud.yaml",
    "etc/fleetctl/runtimes.d/own.yaml",
  ];
  assert.deepEqual(taken.filter((path) => !isCopiedPath(path)), []);
});
