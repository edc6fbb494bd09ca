/**
 * A secret store that is damaged, deleted, or restored by hand: nothing overwrites it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { commitChange } from "core/ledger/repository.ts";
import type { Paths } from "core/paths.ts";
import { ok } from "core/result.ts";
import { createIdentity } from "core/secrets/envelope.ts";
import { initSecrets } from "core/secrets/init.ts";
import { openSecrets } from "core/secrets/store.ts";
import { AUTHOR, INIT, key, reopened, storeTest } from "tests/core/secrets/store_scene.ts";

const BROKEN: readonly {
  name: string;
  spoil: (paths: Paths) => Promise<void>;
  want: RegExp;
  hint: RegExp;
}[] = [
  {
    name: "the host key is gone",
    spoil: (paths) => Deno.remove(paths.hostKey),
    want: /^Cannot use the host key ".*\/etc\/fleetctl\/host\.key": it does not exist$/,
    hint: /^ls -l /,
  },
  {
    name: "the host key is another host's",
    spoil: async (paths) => Deno.writeTextFile(paths.hostKey, `${await createIdentity()}\n`),
    want:
      /^Cannot read the secret store ".*": the key ".*" of this host is not among its recipients; /,
    hint: /^fleetctl secret recover --key - < recovery\.key$/,
  },
  {
    name: "the host key is no key",
    spoil: (paths) => Deno.writeTextFile(paths.hostKey, "hunter2\n"),
    want: /^Cannot use the host key ".*": it is not a list of age identities$/,
    hint: /^ls -l /,
  },
  {
    name: "the store is cut short",
    spoil: async (paths) => {
      const text = await Deno.readTextFile(paths.secretsFile);
      await Deno.writeTextFile(paths.secretsFile, text.slice(0, text.length / 2));
    },
    want: /^Cannot read the secret store ".*": it is damaged \(.*\); nothing was changed$/,
    hint: /^git -C /,
  },
  {
    name: "one bit of the store flipped",
    spoil: async (paths) => {
      const text = await Deno.readTextFile(paths.secretsFile);
      const at = text.length - 120;
      const other = text[at] === "A" ? "B" : "A";
      await Deno.writeTextFile(paths.secretsFile, text.slice(0, at) + other + text.slice(at + 1));
    },
    want: /: it is damaged \(.*\); nothing was changed$/,
    hint: /^git -C /,
  },
  {
    name: "the store is empty",
    spoil: (paths) => Deno.writeTextFile(paths.secretsFile, ""),
    want: /: it is damaged \(.*\); nothing was changed$/,
    hint: /^git -C /,
  },
];

for (const row of BROKEN) {
  storeTest(
    `openSecrets() refuses and nothing is overwritten when ${row.name}`,
    async ({ host, paths, store, git }) => {
      const head = await git("rev-parse", "HEAD");
      await row.spoil(paths);
      const before = await Deno.readTextFile(paths.secretsFile);
      const opened = await openSecrets(host, paths);
      assert(!opened.ok);
      assert.equal(opened.error.code, "store-unreadable");
      assert.match(opened.error.message, row.want);
      assert.match(opened.error.hints[0] ?? "", row.hint);
      assert(!JSON.stringify(opened.error).includes("hunter2"));
      const set = await store.set({ key: key("TOKEN") }, "t", AUTHOR);
      assert.equal(set.ok ? "" : set.error.code, "store-unreadable");
      if (!row.name.startsWith("the host key is gone")) {
        const again = await initSecrets(host, paths, INIT);
        assert.equal(again.ok ? "" : again.error.code, "store-unreadable");
      }
      assert.equal(await Deno.readTextFile(paths.secretsFile), before);
      assert.equal(await git("rev-parse", "HEAD"), head, "what cannot be read is not recorded");
    },
  );
}

storeTest(
  "a damaged store stays out of other changes, and is restored from HEAD",
  async (bench) => {
    const { host, paths, store, git } = bench;
    assert((await store.set({ key: key("TOKEN") }, "t", AUTHOR)).ok);
    const good = await Deno.readTextFile(paths.secretsFile);
    await Deno.writeTextFile(paths.secretsFile, good.slice(0, 200));
    await Deno.writeTextFile(`${paths.hostsDir}/by-hand`, "x");
    const other = await commitChange(host, paths, {
      verb: "host set",
      caller: "root",
      summary: "x",
      edits: [{ path: `${paths.hostsDir}/atlas`, change: () => ok("x\n") }],
    });
    assert.deepEqual(other.ok && [other.value.changed, other.value.hasRecovered], [
      ["hosts.d/atlas"],
      true,
    ]);
    assert.equal(await git("show", "HEAD:secrets.age"), good.trim());
    assert.equal(await git("show", "HEAD:hosts.d/by-hand"), "x");
    const opened = await openSecrets(host, paths);
    const hint = opened.ok ? "" : opened.error.hints[0] ?? "";
    assert.equal(hint, `git -C ${paths.repo} checkout HEAD -- secrets.age`);
    await git(...hint.split(" ").slice(3));
    assert.equal((await reopened(bench)).get({ key: key("TOKEN") }), "t");
  },
);

storeTest("a store that a person has restored is recorded by its next change", async (bench) => {
  const { paths, store, git } = bench;
  assert((await store.set({ key: key("TOKEN") }, "t1", AUTHOR)).ok);
  const older = await Deno.readTextFile(paths.secretsFile);
  assert((await store.set({ key: key("TOKEN") }, "t2", AUTHOR)).ok);
  await Deno.writeTextFile(paths.secretsFile, older);
  const again = await initSecrets(bench.host, paths, INIT);
  assert.equal(again.ok && again.value.get({ key: key("TOKEN") }), "t1");
  assert.equal(await git("show", "HEAD:secrets.age"), older.trim());
  assert.equal(await git("log", "-1", "--format=%s"), 'up: secrets of host "atlas"');
});

storeTest(
  "initSecrets() on a host that lost its key refuses the store and keeps it",
  async ({ host, paths }) => {
    await Deno.remove(paths.hostKey);
    const before = await Deno.readTextFile(paths.secretsFile);
    const again = await initSecrets(host, paths, INIT);
    assert.equal(again.ok ? "" : again.error.code, "store-unreadable");
    assert.equal(await Deno.readTextFile(paths.secretsFile), before);
  },
);

storeTest(
  "a store that is lost is not recreated",
  async ({ host, paths, store, git }) => {
    assert((await store.set({ key: key("TOKEN") }, "t", AUTHOR)).ok);
    const good = await git("rev-parse", "HEAD");
    await Deno.remove(paths.secretsFile);
    const opened = await openSecrets(host, paths);
    assert.deepEqual(opened.ok ? [] : [opened.error.code, ...opened.error.hints], [
      "store-missing",
      "fleetctl apply",
    ]);
    const set = await store.set({ key: key("TOKEN") }, "t2", AUTHOR);
    assert.equal(set.ok ? "" : set.error.code, "store-missing");
    const again = await initSecrets(host, paths, INIT);
    const hint = `git -C ${paths.repo} checkout ${good} -- secrets.age`;
    assert.deepEqual(again.ok ? [] : [again.error.code, ...again.error.hints], [
      "store-missing",
      hint,
    ]);
    await git(...hint.split(" ").slice(3));
    const back = await openSecrets(host, paths);
    assert.equal(back.ok && back.value.get({ key: key("TOKEN") }), "t");
  },
);

storeTest("openSecrets() warns of a host key that others may read", async ({ host, paths }) => {
  await Deno.chmod(paths.hostKey, 0o640);
  assert((await openSecrets(host, paths)).ok);
  assert(host.log.lines.some((entry) => entry.event === "host-key-exposed"));
});
