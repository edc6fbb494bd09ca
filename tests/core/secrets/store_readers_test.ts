/**
 * Who can open the secret store: a second host, a removed host, the recovery key.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createIdentity, recipientOf, unseal } from "core/secrets/envelope.ts";
import { createHostKey } from "core/secrets/host_key.ts";
import { initSecrets } from "core/secrets/init.ts";
import { addRecipient } from "core/secrets/recipients.ts";
import { openSecrets, rewrapSecrets } from "core/secrets/store.ts";
import { parseStore } from "core/secrets/shards.ts";
import { AUTHOR, INIT, key, reopened, storeTest } from "tests/core/secrets/store_scene.ts";

storeTest("a second host reads the store only after a re-wrap by the first", async (bench) => {
  const { host, paths, store } = bench;
  assert((await store.set({ key: key("TOKEN") }, "t", AUTHOR)).ok);
  const firstKey = await Deno.readTextFile(paths.hostKey);
  // The second host shares the ledger and has its own key.
  await Deno.remove(paths.hostKey);
  const { recipient } = await createHostKey(host.files, paths, host.clock.now());
  const listed = await Deno.readTextFile(paths.recipientsFile);
  const line = { recipient, label: "host boreas" };
  await Deno.writeTextFile(paths.recipientsFile, addRecipient(listed, line));
  const secondKey = await Deno.readTextFile(paths.hostKey);
  const early = await openSecrets(host, paths);
  assert.equal(early.ok ? "" : early.error.code, "store-unreadable");
  const byStranger = await rewrapSecrets(host, paths, AUTHOR);
  assert.equal(byStranger.ok ? "" : byStranger.error.code, "store-unreadable");
  // An ordinary write of the first host adds no reader.
  await Deno.writeTextFile(paths.hostKey, firstKey);
  assert((await (await reopened(bench)).set({ key: key("TOKEN") }, "t2", AUTHOR)).ok);
  await Deno.writeTextFile(paths.hostKey, secondKey);
  assert(!(await openSecrets(host, paths)).ok);
  // A re-wrap adds one, the first time.
  await Deno.writeTextFile(paths.hostKey, firstKey);
  const plan = await rewrapSecrets(host, paths, AUTHOR);
  assert(plan.ok);
  assert.deepEqual([plan.value.added.length, plan.value.removed.length], [1, 0]);
  const again = await rewrapSecrets(host, paths, AUTHOR);
  assert.deepEqual(again, { ok: true, value: { added: [], removed: [] } });
  await Deno.writeTextFile(paths.hostKey, secondKey);
  assert.equal((await reopened(bench)).get({ key: key("TOKEN") }), "t2");
  // The next write drops a reader whose line was removed.
  const list = await Deno.readTextFile(paths.recipientsFile);
  const firstLine = /# public key: (age1\S+)/.exec(firstKey)?.[1] ?? "";
  await Deno.writeTextFile(paths.recipientsFile, list.replace(`${firstLine}\n`, ""));
  assert((await (await reopened(bench)).set({ key: key("TOKEN") }, "t3", AUTHOR)).ok);
  await Deno.writeTextFile(paths.hostKey, firstKey);
  assert(!(await openSecrets(host, paths)).ok);
});

storeTest("a host whose line in recipients is missing does not lock itself out", async (bench) => {
  const { paths, store } = bench;
  const list = await Deno.readTextFile(paths.recipientsFile);
  await Deno.writeTextFile(paths.recipientsFile, "# nobody\n");
  const before = await Deno.readTextFile(paths.secretsFile);
  const results = [
    await store.set({ key: key("TOKEN") }, "t", AUTHOR),
    await rewrapSecrets(bench.host, paths, AUTHOR),
  ];
  for (const result of results) {
    assert.equal(result.ok ? "" : result.error.code, "recipient-missing");
  }
  await Deno.writeTextFile(paths.recipientsFile, `${list}hunter2\n`);
  const invalid = await store.set({ key: key("TOKEN") }, "t", AUTHOR);
  assert.deepEqual(invalid.ok ? [] : [invalid.error.code, ...invalid.error.details], [
    "recipients-invalid",
    `${paths.recipientsFile}:3: must be an age recipient, age1…`,
  ]);
  assert.equal(await Deno.readTextFile(paths.secretsFile), before);
});

storeTest("a recovery key opens the store without any host", async ({ host, paths }) => {
  const recovery = await createIdentity();
  const recoveryRecipient = await recipientOf(recovery) ?? "";
  assert((await initSecrets(host, paths, { ...INIT, recoveryRecipient })).ok);
  const text = await unseal(await Deno.readTextFile(paths.secretsFile), [recovery]);
  assert(text.ok);
  const store = parseStore(text.value);
  assert(store.ok && store.value.shards.shared.has(key("WEBVIEW_HMAC_KEY")));
  assert.match(await Deno.readTextFile(paths.recipientsFile), /\n# recovery\nage1/);
  const bad = await initSecrets(host, paths, { ...INIT, recoveryRecipient: "age1nope" });
  assert.equal(bad.ok ? "" : bad.error.code, "recipient-invalid");
});
