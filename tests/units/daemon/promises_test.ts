/**
 * The promises of a root daemon that need no booted host. The others are in
 * `tests/system/daemon/promises.ts`, and docs/access.md lists all of them.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runGranted } from "cli/exec/run_granted.ts";
import { splitArguments } from "core/os/argv.ts";
import { pathsUnder } from "core/paths.ts";
import { FileFault } from "core/ports/files.ts";
import { authorize } from "core/verbs/authorize.ts";
import { callerFor } from "core/verbs/caller.ts";
import { printEnvelope } from "core/verbs/exec_envelope.ts";
import { signGrant } from "core/verbs/grant.ts";
import { addressFor } from "core/verbs/target.ts";
import { ADMIN, AGENT, invocationOf } from "tests/core/verbs/callers.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { judge } from "units/daemon/decide.ts";
import { memoryCli } from "tests/support/memory_cli.ts";

const PATHS = pathsUnder("/");
const KEY = "k".repeat(43);
const USERS = [{ name: "ada", uid: 1002, gid: 1002, home: "/home/ada" }];

function line(request: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(request));
}

async function hostWith(shard: string) {
  const host = memoryHost({ users: { users: USERS, currentUid: 0 } });
  await host.files.ensureDir(PATHS.agentsDir);
  await host.files.ensureDir(PATHS.etc);
  await host.files.write(PATHS.agentShard("ada"), shard);
  await host.files.write(PATHS.hostOpKeys, `FLEETCTL_HOST_OP_GRANT_SECRET=${KEY}\n`, {
    mode: 0o600,
    uid: 0,
  });
  return host;
}

const ADA_SHARD = "name: ada\nchannel: webview\n";
const ADA_PEER = { uid: 1002, gid: 1002, pid: 7 };
const STATUS = line({ argv: ["status"] });

Deno.test("promise 1: only the uid that the kernel reports decides, not the request", async () => {
  const host = await hostWith(ADA_SHARD);
  const deps = { ports: host, paths: PATHS, tokenize: splitArguments, ownUid: 0 };
  for (const field of ["uid", "caller", "peer", "root", "__proto__"]) {
    const text = `{"argv":["apply"],"${field}":0}`;
    const judged = await judge(new TextEncoder().encode(text), ADA_PEER, deps);
    assert.equal(judged.allowed, false, field);
  }
});

Deno.test("promise 2: the same uid is the same caller, whatever its process number", async () => {
  const host = await hostWith(ADA_SHARD);
  const deps = { ports: host, paths: PATHS, tokenize: splitArguments, ownUid: 0 };
  for (const pid of [0, 1, 7, 4_194_304]) {
    const judged = await judge(STATUS, { ...ADA_PEER, pid }, deps);
    assert.equal(judged.reason, "any agent");
  }
});

Deno.test("promise 3: a fault on the way to a decision is a refusal, for every fault", async () => {
  const full = new FileFault("EIO", "/x", "the disk is gone");
  const fault = async () => {
    throw full;
  };
  const host = await hostWith(ADA_SHARD);
  const broken: readonly (readonly [string, object])[] = [
    ["accounts", { users: { ...host.users, byUid: fault } }],
    ["folder of shards", { files: { ...host.files, list: fault } }],
    ["shard", { files: { ...host.files, readText: fault } }],
    ["all files", { files: { ...host.files, readText: fault, list: fault, stat: fault } }],
  ];
  for (const [name, ports] of broken) {
    const judged = await judge(STATUS, ADA_PEER, {
      ports: { ...host, ...ports },
      paths: PATHS,
      tokenize: splitArguments,
      ownUid: 0,
    });
    assert.equal(judged.allowed, false, name);
    assert.doesNotMatch(JSON.stringify(judged.allowed ? "" : judged.refusal), /disk is gone/, name);
  }
});

for (
  const shard of ["name: ada\nchannel: [", "name: bob\nchannel: webview\n", "", "admin: true\n"]
) {
  Deno.test(`promise 3: a broken shard makes no agent: ${JSON.stringify(shard)}`, async () => {
    const host = await hostWith(shard);
    const deps = { ports: host, paths: PATHS, tokenize: splitArguments, ownUid: 0 };
    assert.equal((await judge(STATUS, ADA_PEER, deps)).allowed, false);
  });
}

Deno.test("promise 4: the judged verb is what runs, even if the ledger changes", async () => {
  const host = await hostWith(`${ADA_SHARD}admin: true\n`);
  const request = { argv: ["audit", "list"] };
  const deps = { ports: host, paths: PATHS, tokenize: splitArguments, ownUid: 0 };
  const judged = await judge(line(request), ADA_PEER, deps);
  assert.ok(judged.allowed);
  const { caller } = judged;
  assert.equal(caller.kind, "admin");
  const grant = await signGrant(KEY, { request, caller }, {
    now: host.clock.now(),
    nonce: host.random.bytes(16),
  });
  // The agent loses its admin marker after the decision and before the verb: the decision still
  // holds.
  await host.files.write(PATHS.agentShard("ada"), ADA_SHARD);
  const ended = await granted(host, printEnvelope({ request, caller, grant }));
  assert.equal(ended.code, 0, ended.said);
  // The reverse: an agent that becomes admin after the decision still has no admin rights.
  await host.files.write(PATHS.agentShard("ada"), `${ADA_SHARD}admin: true\n`);
  const plain = { request, caller: AGENT };
  const weak = await signGrant(KEY, plain, {
    now: host.clock.now(),
    nonce: host.random.bytes(16),
  });
  const refused = await granted(host, printEnvelope({ ...plain, grant: weak }));
  assert.equal(refused.code, 4);
  assert.match(refused.said, /it is operator-only/);
});

async function granted(host: Awaited<ReturnType<typeof hostWith>>, envelope: string) {
  const { deps, output } = memoryCli(host, { stdin: envelope });
  const code = await runGranted(deps);
  return { code, said: output.out + output.err };
}

Deno.test("promise 6: a uid outside 32 bits or of odd form names no account", async () => {
  const host = await hostWith(ADA_SHARD);
  const deps = { ports: host, paths: PATHS, tokenize: splitArguments, ownUid: 0 };
  for (const uid of [-1, 2_147_483_648, 4_294_967_294, 4_294_967_296, NaN, 1002.5]) {
    const judged = await judge(STATUS, { uid, gid: 0, pid: 1 }, deps);
    assert.equal(judged.allowed, false, String(uid));
  }
});

Deno.test("promise 7: root of another namespace is operator of its own root folder", () => {
  const facts = { uid: 0, rootOwner: 0, agent: undefined, isContainerRoot: true };
  assert.equal(callerFor({ ...facts, root: "/" }).kind, "other");
  assert.equal(callerFor({ ...facts, root: "/srv/try" }).kind, "operator");
  assert.equal(callerFor({ ...facts, root: "/", isContainerRoot: false }).kind, "operator");
});

Deno.test("promise 11: only the value true grants a right, in daemon and root program", () => {
  const addressed = addressFor(invocationOf("apply"), AGENT);
  assert.ok(addressed.ok);
  const decision = authorize(AGENT, addressed.value);
  assert.strictEqual(decision.allowed, false);
  const allowed = authorize(ADMIN, addressed.value);
  assert.strictEqual(allowed.allowed, true);
  // Check the sources as well: a truthy value that is not `true` must not grant access.
  for (const file of ["units/daemon/daemon.ts", "cli/exec/run_granted.ts", "cli/run.ts"]) {
    const text = Deno.readTextFileSync(new URL(`../../../${file}`, import.meta.url));
    assert.match(text, /allowed [!=]== true/, file);
    assert.doesNotMatch(text, /if \(!?(decision|judged)\.allowed\)/, file);
  }
});
