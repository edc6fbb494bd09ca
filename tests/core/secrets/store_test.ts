/**
 * The secret store with real age, real git, real files and real processes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openHost } from "core/os/host.ts";
import { commitChange, initRepo } from "core/ledger/repository.ts";
import type { AgentName, HostName, KeyName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { Host } from "core/ports.ts";
import { ok } from "core/result.ts";
import { createIdentity, recipientOf, unseal } from "core/secrets/envelope.ts";
import { enrollHost, initSecrets, ROLE_KEYS } from "core/secrets/init.ts";
import { openSecrets, rewrapSecrets, type SecretStore } from "core/secrets/store.ts";
import { parseStore } from "core/secrets/shards.ts";
import type { StoreOrder } from "tests/core/secrets/store_child.ts";
import { recordingLog } from "tests/fakes/log.ts";

const CHILD = new URL("./store_child.ts", import.meta.url).pathname;
const ADA = "ada" as AgentName;
const key = (name: string) => name as KeyName;
const AUTHOR = { verb: "secret set", caller: "root" };
const INIT = { verb: "up", caller: "root", hostname: "atlas" as HostName };

interface Bench {
  readonly host: Host & { readonly log: ReturnType<typeof recordingLog> };
  readonly paths: Paths;
  readonly store: SecretStore;
  git(...args: string[]): Promise<string>;
}

async function withStore(test: (bench: Bench) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "secrets-" });
  try {
    const host = { ...openHost({ log: { program: "test" } }), log: recordingLog() };
    const paths = pathsUnder(root);
    assert((await initRepo(host, paths)).ok);
    const store = await initSecrets(host, paths, INIT);
    assert(store.ok, store.ok ? "" : JSON.stringify(store.error));
    const git = async (...args: string[]) => {
      const ended = await new Deno.Command("git", { args: ["-C", paths.repo, ...args] }).output();
      assert(ended.success, new TextDecoder().decode(ended.stderr));
      return new TextDecoder().decode(ended.stdout).trim();
    };
    await test({ host, paths, store: store.value, git });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** One test with a bench of its own, that leaves no work and no descriptor behind. */
function storeTest(name: string, run: (bench: Bench) => Promise<void>): void {
  Deno.test({ name, fn: () => withStore(run), sanitizeOps: true, sanitizeResources: true });
}

async function reopened({ host, paths }: Bench): Promise<SecretStore> {
  const store = await openSecrets(host, paths);
  assert(store.ok, store.ok ? "" : JSON.stringify(store.error));
  return store.value;
}

function startChild(order: StoreOrder) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only", CHILD, JSON.stringify(order)],
    stdout: "piped",
    stderr: "inherit",
  });
}

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
  "SecretStore makes no commit when the value is there already",
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
    want: /^Cannot use the host key ".*": it does not hold age identities$/,
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

storeTest("a damaged store is left out of other changes, and HEAD mends it", async (bench) => {
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
});

storeTest("a store that a hand put back is recorded by the next change of it", async (bench) => {
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
  "a store that was there and is gone is not made anew",
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

storeTest("a second host reads the store only after a re-wrap by the first", async (bench) => {
  const { host, paths, store } = bench;
  assert((await store.set({ key: key("TOKEN") }, "t", AUTHOR)).ok);
  const firstKey = await Deno.readTextFile(paths.hostKey);
  // The second host shares the ledger and has a key of its own.
  await Deno.remove(paths.hostKey);
  const enrolled = await enrollHost(host, paths, { ...INIT, hostname: "boreas" as HostName });
  assert(enrolled.ok);
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
  // A re-wrap does, once.
  await Deno.writeTextFile(paths.hostKey, firstKey);
  const plan = await rewrapSecrets(host, paths, AUTHOR);
  assert(plan.ok);
  assert.deepEqual([plan.value.added.length, plan.value.removed.length], [1, 0]);
  const again = await rewrapSecrets(host, paths, AUTHOR);
  assert.deepEqual(again, { ok: true, value: { added: [], removed: [] } });
  await Deno.writeTextFile(paths.hostKey, secondKey);
  assert.equal((await reopened(bench)).get({ key: key("TOKEN") }), "t2");
  // A reader whose line is gone is dropped at the next write.
  const list = await Deno.readTextFile(paths.recipientsFile);
  const firstLine = /# public key: (age1\S+)/.exec(firstKey)?.[1] ?? "";
  await Deno.writeTextFile(paths.recipientsFile, list.replace(`${firstLine}\n`, ""));
  assert((await (await reopened(bench)).set({ key: key("TOKEN") }, "t3", AUTHOR)).ok);
  await Deno.writeTextFile(paths.hostKey, firstKey);
  assert(!(await openSecrets(host, paths)).ok);
});

storeTest("a host whose own line is gone does not lock itself out", async (bench) => {
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

storeTest("the sealed store hides the length of what it holds", async ({ paths, store }) => {
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
      // Killed on the arrival of a line, so at an unpredictable point of the change after it.
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
