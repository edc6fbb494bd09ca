/**
 * Password checks on worker threads: equal results, limits on running and waiting checks, and no
 * delay of other requests.
 *
 * @module
 */

import assert from "node:assert/strict";
import { parseBasicUsers } from "core/login/basic_users.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { systemHashThreads } from "login/os/slow_hashes.ts";
import { isPasswordOf, parsePasswordHash } from "core/login/password.ts";
import { BUSY, createPasswords, type HashPool } from "login/basic/passwords.ts";
import { BOB, createLoginRig, MIA, NAVIGATION } from "tests/support/login_fixture.ts";

/** Hashes that the reference programs produced. */
const KNOWN: readonly (readonly [string, string])[] = [
  [
    "password",
    "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
  ],
  ["U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"],
  [
    "pleaseletmein",
    "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT4" +
    "4+qbVD9lRdofLVQylVYT8Pz2LUlwUkKpr55h6F3A1lHkDfzwF7RVdYhw",
  ],
];

/** A hash pool that blocks every hash until `letGo`. */
function heldHashes(atOnce: number): HashPool & { readonly begun: () => number; letGo(): void } {
  let begun = 0;
  const held = Promise.withResolvers<void>();
  const wait = async () => {
    begun++;
    await held.promise;
  };
  return {
    atOnce,
    begun: () => begun,
    letGo: () => held.resolve(),
    argon2id: async ({ hashLength }) => {
      await wait();
      return new Uint8Array(hashLength);
    },
    scrypt: async ({ hashLength }) => {
      await wait();
      return new Uint8Array(hashLength);
    },
    bcryptVerify: async () => {
      await wait();
      return false;
    },
  };
}

const ARGON = KNOWN[0]?.[1] ?? "";

Deno.test("the worker threads compute the same hash as the serving thread", async () => {
  const threads = systemHashThreads(1);
  try {
    for (const [password, stored] of KNOWN) {
      const hash = parsePasswordHash(stored);
      assert.ok(hash.ok);
      assert.equal(await isPasswordOf(password, hash.value, threads), true, stored);
      assert.equal(await isPasswordOf(`${password} `, hash.value, threads), false, stored);
      assert.equal(await isPasswordOf("", hash.value, threads), false, stored);
    }
  } finally {
    threads.close();
  }
});

Deno.test("a slow hash delays no timer and no request", async () => {
  const threads = systemHashThreads(1);
  const hash = parsePasswordHash(ARGON.replace("m=65536,t=2", "m=65536,t=20"));
  assert.ok(hash.ok);
  let turns = 0;
  let isDone = false;
  const checked = isPasswordOf("password", hash.value, threads).finally(() => isDone = true);
  while (!isDone) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    turns++;
  }
  assert.equal(await checked, false);
  threads.close();
  // If the serving thread did the work, there would be only one turn before and one after it.
  assert.ok(turns > 10, `${turns} turns`);
});

/** Returns the niceness values of this process's worker threads and of all other threads. */
async function niceness(): Promise<{ workers: Set<number>; others: Set<number> }> {
  const found = { workers: new Set<number>(), others: new Set<number>() };
  for await (const task of Deno.readDir("/proc/self/task")) {
    const stat = await Deno.readTextFile(`/proc/self/task/${task.name}/stat`).catch(() => "");
    const [, name, rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(stat) ?? [];
    if (name === undefined) continue;
    (name.startsWith("worker") ? found.workers : found.others).add(Number(rest.split(" ")[16]));
  }
  return found;
}

Deno.test("a thread that hashes yields to the others, and no other thread does", async () => {
  const threads = systemHashThreads(1);
  const hash = parsePasswordHash(KNOWN[1]?.[1] ?? "");
  assert.ok(hash.ok);
  assert.equal(await isPasswordOf("U*U", hash.value, threads), true);
  const { workers, others } = await niceness();
  const [own = 0] = others;
  assert.deepEqual([[...workers], [...others]], [[own + 10], [own]]);
  threads.close();
});

/** Returns the ids of the worker threads. */
async function workerThreads(): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { name } of Deno.readDir("/proc/self/task")) {
    const comm = await Deno.readTextFile(`/proc/self/task/${name}/comm`).catch(() => "");
    if (comm.startsWith("worker")) found.push(name);
  }
  return found;
}

Deno.test("a thread whose hashes used 128 MiB is replaced, which frees the memory", async () => {
  const threads = systemHashThreads(1);
  const job = { password: "x", salt: new Uint8Array(8), iterations: 1, parallelism: 1 };
  const hash = () => threads.argon2id({ ...job, memorySize: 64 * 1024, hashLength: 32 });
  try {
    const first = await hash();
    const before = await workerThreads();
    assert.deepEqual(await hash(), first);
    assert.deepEqual(await hash(), first);
    // The system reports the end of a thread with a delay.
    const until = Date.now() + 10_000;
    const isLeft = async () => (await workerThreads()).some((name) => before.includes(name));
    while (await isLeft() && Date.now() < until);
    assert.equal(await isLeft(), false);
  } finally {
    threads.close();
  }
});

Deno.test("a failed thread loses only its own hash; a new one runs the next", async () => {
  const threads = systemHashThreads(1);
  const job = { password: "x", salt: new Uint8Array(8), memorySize: 1, iterations: 1 };
  await assert.rejects(threads.argon2id({ ...job, parallelism: 1, hashLength: 32 }));
  assert.equal(
    (await threads.scrypt({
      password: "x",
      salt: new Uint8Array(8),
      costFactor: 16,
      blockSize: 8,
      parallelism: 1,
      hashLength: 32,
    })).length,
    32,
  );
  const late = threads.bcryptVerify({ password: "x", hash: KNOWN[1]?.[1] ?? "" });
  threads.close();
  await assert.rejects(late);
});

Deno.test("check() runs few at once, queues few, and refuses the rest immediately", async () => {
  const users = parseBasicUsers(`${MIA.name}:${ARGON}`);
  assert.ok(users.ok);
  const work = heldHashes(2);
  const { check } = createPasswords(users.value, work);
  const { checksWaitingMax } = LOGIN_LIMITS;
  const taken = Array.from({ length: 2 + checksWaitingMax }, () => check(MIA.name, "x"));
  for (let turn = 0; turn < 10_000 && work.begun() < 2; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  for (const name of [MIA.name, "nobody@example.org"]) assert.equal(await check(name, "x"), BUSY);
  assert.equal(work.begun(), 2);
  work.letGo();
  assert.deepEqual(new Set(await Promise.all(taken)), new Set([undefined]));
  assert.equal(work.begun(), taken.length);
});

Deno.test("a refused attempt gets 503, is not counted and not forwarded", async () => {
  const work = heldHashes(1);
  const rig = await createLoginRig({
    env: { WEBVIEW_BASIC_USERS: `${MIA.name}:${ARGON},${BOB.name}:${BOB.password}` },
    hashes: work,
  });
  const header = (password: string) => ({
    authorization: `Basic ${btoa(`${MIA.name}:${password}`)}`,
  });
  const full = Promise.withResolvers<void>();
  // One more than fits: once that one is refused, every place is taken.
  const held = Array.from({ length: 2 + LOGIN_LIMITS.checksWaitingMax }, async (_, at) => {
    const headers = header(`guess ${at}`);
    const { status } = await rig.ask("/api/x", { headers, peer: `9.9.9.${at}:1` });
    if (status === 503) full.resolve();
    return status;
  });
  await full.promise;
  const form = await rig.ask("/auth/login", { headers: NAVIGATION, peer: "8.8.8.8:1" });
  await form.body?.cancel();
  // More attempts than a client may fail: none of them counts.
  for (let round = 0; round < 12; round++) {
    const script = await rig.ask("/api/x", { headers: header("again"), peer: "8.8.8.8:1" });
    assert.deepEqual([script.status, script.headers.get("retry-after")], [503, "5"]);
    assert.equal((await script.json()).code, "logins-busy");
    const person = await rig.logIn({ ...MIA, password: "x" }, { peer: "8.8.8.8:1" });
    assert.deepEqual([person.status, person.headers.get("retry-after")], [503, "5"]);
    assert.match(await person.text(), /try again in a few seconds/);
  }
  work.letGo();
  const statuses = await Promise.all(held);
  assert.deepEqual(statuses.filter((status) => status !== 401), [503]);
  assert.deepEqual(rig.seen, []);
});
