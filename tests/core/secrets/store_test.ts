/**
 * The secret store with real age, real git, real files and real processes: its creation, its
 * values, and concurrent writers.
 *
 * @module
 */

import assert from "node:assert/strict";
import { initSecrets, ROLE_KEYS } from "core/secrets/init.ts";
import {
  ADA,
  AUTHOR,
  INIT,
  key,
  reopened,
  startChild,
  storeTest,
} from "tests/core/secrets/store_scene.ts";

storeTest(
  "initSecrets() makes a private key, a recipient and the role keys, once",
  async ({ host, paths, store, git }) => {
    assert.equal((await host.files.stat(paths.hostKey))?.mode, 0o600);
    assert.equal((await host.files.stat(paths.secretsFile))?.mode, 0o600);
    const identity = await Deno.readTextFile(paths.hostKey);
    assert.match(
      identity,
      /^# created: .*Z\n# public key: age1[a-z0-9]+\nAGE-SECRET-KEY-1[A-Z0-9]+\n$/,
    );
    assert.match(await Deno.readTextFile(paths.recipientsFile), /^# host atlas\nage1[a-z0-9]+\n$/);
    const made = ROLE_KEYS.map((name) => store.get({ key: key(name) }));
    for (const value of made) assert.match(value ?? "", /^[A-Za-z0-9_-]{43}$/);
    assert.equal(new Set(made).size, made.length);
    const head = await git("rev-parse", "HEAD");
    const again = await initSecrets(host, paths, INIT);
    assert.deepEqual(
      again.ok && ROLE_KEYS.map((name) => again.value.get({ key: key(name) })),
      made,
    );
    assert.equal(await git("rev-parse", "HEAD"), head, "a second run commits nothing");
    assert.equal(await Deno.readTextFile(paths.hostKey), identity);
  },
);

storeTest("initSecrets() replaces a missing role key and keeps the rest", async (bench) => {
  const { host, paths, store } = bench;
  assert((await store.set({ key: key("TOKEN"), agent: ADA }, "t", AUTHOR)).ok);
  const hmac = store.get({ key: key("WEBVIEW_HMAC_KEY") });
  assert((await store.unset({ key: key("WEBVIEW_ASSERTION_KEY") }, AUTHOR)).ok);
  const again = await initSecrets(host, paths, INIT);
  assert(again.ok);
  assert.match(again.value.get({ key: key("WEBVIEW_ASSERTION_KEY") }) ?? "", /^.{43}$/);
  assert.equal(again.value.get({ key: key("WEBVIEW_HMAC_KEY") }), hmac);
  assert.equal(again.value.get({ key: key("TOKEN"), agent: ADA }), "t");
});

storeTest(
  "SecretStore sets, lists and unsets, one commit each, naming keys and never values",
  async (bench) => {
    const { paths, store, git } = bench;
    const value = "hunter2-hunter2-hunter2";
    assert(
      (await store.set({ key: key("TOKEN"), agent: ADA }, value, {
        verb: "secret set",
        caller: "ada",
      })).ok,
    );
    assert((await store.set({ key: key("SHARED") }, 'line 1\nline 2 "$x"', AUTHOR)).ok);
    for (const each of [store, await reopened(bench)]) {
      assert.equal(each.get({ key: key("TOKEN"), agent: ADA }), value);
      assert.equal(each.get({ key: key("TOKEN") }), undefined);
      assert.equal(each.get({ key: key("SHARED") }), 'line 1\nline 2 "$x"');
      assert.deepEqual(each.list(), [
        ...[...ROLE_KEYS, "SHARED"].sort().map((name) => ({ key: name })),
        { key: "TOKEN", agent: "ada" },
      ]);
    }
    assert(
      (await store.unset({ key: key("SHARED") }, { verb: "secret unset", caller: "root" })).ok,
    );
    assert.equal((await reopened(bench)).get({ key: key("SHARED") }), undefined);
    assert.deepEqual((await git("log", "-3", "--format=%s")).split("\n"), [
      "secret unset: SHARED in the shared shard",
      "secret set: SHARED in the shared shard",
      'secret set: TOKEN of agent "ada"',
    ]);
    assert(!(await git("log", "-p", "--format=%B")).includes(value));
    assert.match(
      await Deno.readTextFile(paths.secretsFile),
      /^-----BEGIN AGE ENCRYPTED FILE-----\n/,
    );
  },
);

storeTest("SecretStore refuses bad input and writes nothing", async ({ store, git }) => {
  const head = await git("rev-parse", "HEAD");
  const results = [
    await store.set({ key: key("TOKEN") }, "", AUTHOR),
    await store.set({ key: key("LD_PRELOAD"), agent: ADA }, "/tmp/evil.so", AUTHOR),
    await store.set({ key: key("lower") }, "x", AUTHOR),
    await store.unset({ key: key("TOKEN"), agent: ADA }, AUTHOR),
  ];
  assert.deepEqual(results.map((result) => result.ok ? "ok" : result.error.code), [
    "value-invalid",
    "key-reserved",
    "name-invalid",
    "secret-absent",
  ]);
  assert.equal(await git("rev-parse", "HEAD"), head);
});

storeTest(
  "SecretStore makes no commit when the value is already set",
  async ({ paths, store, git }) => {
    assert((await store.set({ key: key("TOKEN") }, "t", AUTHOR)).ok);
    const before = [await git("rev-parse", "HEAD"), await Deno.readTextFile(paths.secretsFile)];
    const again = await store.set({ key: key("TOKEN") }, "t", AUTHOR);
    assert.deepEqual(again.ok && again.value.changed, []);
    assert.deepEqual(
      [await git("rev-parse", "HEAD"), await Deno.readTextFile(paths.secretsFile)],
      before,
    );
  },
);

storeTest("the sealed store hides the length of its content", async ({ paths, store }) => {
  assert((await store.set({ key: key("TOKEN") }, "x", AUTHOR)).ok);
  const short = (await Deno.readTextFile(paths.secretsFile)).length;
  assert((await store.set({ key: key("TOKEN") }, "x".repeat(1000), AUTHOR)).ok);
  assert.equal((await Deno.readTextFile(paths.secretsFile)).length, short);
});

storeTest("two processes that set secrets at once never lose one", async (bench) => {
  const times = 10;
  const prefixes = ["LEFT", "RIGHT"];
  const ended = await Promise.all(
    prefixes.map((prefix) => startChild({ root: bench.paths.root, prefix, times }).output()),
  );
  for (const { success } of ended) assert(success);
  const store = await reopened(bench);
  for (const prefix of prefixes) {
    for (let time = 0; time < times; time++) {
      const name = `${prefix}_${time}`;
      assert.equal(store.get({ key: key(name) }), `value of ${name}`);
    }
  }
});

storeTest(
  "kill -9 of a writer loses nothing acknowledged and tears nothing, 20 times",
  async (bench) => {
    let cut = 0;
    for (let round = 0; round < 20; round++) {
      const prefix = `ROUND${round}`;
      const child = startChild({ root: bench.paths.root, prefix, times: 1000 }).spawn();
      const acknowledged: string[] = [];
      // Killed when a line arrives, so at an unpredictable point of the next change.
      for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
        acknowledged.push(...text.split("\n").filter((line) => line !== ""));
        if (acknowledged.length > round % 3) {
          child.kill("SIGKILL");
          break;
        }
      }
      const { signal } = await child.status;
      if (signal === "SIGKILL") cut++;
      const store = await reopened(bench);
      for (const name of acknowledged) {
        assert.equal(store.get({ key: key(name) }), `value of ${name}`);
      }
      for (const ref of store.list()) assert.notEqual(store.get(ref), undefined);
      const mended = await store.set({ key: key("AFTER") }, String(round), AUTHOR);
      assert(mended.ok, mended.ok ? "" : JSON.stringify(mended.error));
      assert.equal(await bench.git("status", "--porcelain"), "");
    }
    assert.equal(cut, 20);
    await bench.git("fsck", "--strict");
  },
);
