/**
 * What replaces a file of the ledger that cannot be read, with real git and real files.
 *
 * @module
 */

import assert from "node:assert/strict";
import { addAgent, changeAgent, removeAgent } from "core/ledger/agents.ts";
import { readLedgerWithFallback } from "core/ledger/fallback.ts";
import { VERSIONS_MAX } from "core/ledger/last_good.ts";
import { findAgent } from "core/ledger/ledger.ts";
import { recordHandEdits } from "core/ledger/repository.ts";
import { printShard } from "core/ledger/shard.ts";
import type { AgentName, Email } from "core/names.ts";
import { ok } from "core/result.ts";
import { ADA, type Bench, repoTest, ROOT } from "tests/core/ledger/repository_bench.ts";

const BROKEN = "name: ada\nchannel: webview\ncolour: red\n";
const KEY = "A".repeat(43);

async function ledgerOf({ host, paths }: Bench) {
  const ledger = await readLedgerWithFallback(host, paths);
  assert.ok(ledger.ok);
  return ledger.value;
}

async function write({ host, paths }: Bench, text: string) {
  await host.files.write(paths.agentShard("ada"), text);
}

repoTest(
  "the last committed version of a broken shard is used, with a fault",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
    const commit = await git("rev-parse", "HEAD");
    await write(bench, BROKEN);
    const ledger = await ledgerOf(bench);
    assert.deepEqual(ledger.agents.get(ADA.name), ADA);
    assert.deepEqual([...ledger.unreadable.keys()], [ADA.name]);
    const [fault] = ledger.faults;
    assert.match(fault?.details[0] ?? "", /^agents\.d\/ada\.yaml:3: colour/);
    assert.equal(
      fault?.details.at(-1),
      `agent "ada" continues with its version of commit ${commit.slice(0, 12)}`,
    );
    assert.equal(findAgent(ledger, "ada").ok, true);
    const edited = await changeAgent(host, paths, {
      agent: ADA.name,
      verb: "agents set",
      caller: "root",
      summary: "x",
      decide: () => ok({ model: "m" }),
    });
    assert.equal(edited.ok ? "" : edited.error.code, "shard-invalid");
  },
);

repoTest(
  "a manual edit is used once it is recorded, and a revoked key stays revoked",
  async (bench) => {
    const { host, paths } = bench;
    assert((await addAgent(host, paths, { record: { ...ADA, dialKeys: [KEY] }, ...ROOT })).ok);
    await write(bench, printShard({ ...ADA, dialKeys: [] }));
    assert((await recordHandEdits(host, paths)).ok);
    await write(bench, BROKEN);
    assert.deepEqual((await ledgerOf(bench)).agents.get(ADA.name)?.dialKeys, []);
    // Recording leaves out the broken text, so the result is the same.
    assert((await recordHandEdits(host, paths)).ok);
    assert.deepEqual((await ledgerOf(bench)).agents.get(ADA.name)?.dialKeys, []);
  },
);

repoTest("a broken shard that was committed is skipped", async (bench) => {
  const { host, paths, git } = bench;
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  await write(bench, BROKEN);
  await git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qam", "by hand");
  assert.deepEqual((await ledgerOf(bench)).agents.get(ADA.name), ADA);
});

repoTest("a new broken file does not bring a removed agent back", async (bench) => {
  const { host, paths } = bench;
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  assert((await removeAgent(host, paths, { agent: ADA.name, ...ROOT })).ok);
  await write(bench, BROKEN);
  const ledger = await ledgerOf(bench);
  assert.equal(ledger.agents.size, 0);
  assert.deepEqual([...ledger.unreadable.keys()], [ADA.name]);
  assert.deepEqual(ledger.faults[0]?.details.length, 1);
});

repoTest(
  "a link in place of a shard is not followed; the committed shard is used",
  async (bench) => {
    const { host, paths, git } = bench;
    assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
    await Deno.writeTextFile(`${paths.repo}/other`, printShard({ ...ADA, isAdmin: true }));
    await Deno.remove(paths.agentShard("ada"));
    await Deno.symlink(`${paths.repo}/other`, paths.agentShard("ada"));
    assert((await recordHandEdits(host, paths)).ok);
    assert.equal(
      await git("ls-files", "-s", "--", "agents.d").then((line) => line.slice(0, 6)),
      "100644",
    );
    assert.equal((await ledgerOf(bench)).agents.get(ADA.name)?.isAdmin, false);
    await git("add", "-A");
    await git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "by hand");
    assert.equal((await ledgerOf(bench)).agents.get(ADA.name)?.isAdmin, false);
  },
);

repoTest("a bounded number of versions is checked", async (bench) => {
  const { host, paths, git } = bench;
  assert((await addAgent(host, paths, { record: ADA, ...ROOT })).ok);
  for (let version = 0; version < VERSIONS_MAX; version++) {
    await write(bench, `${BROKEN}# ${version}\n`);
    await git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qam", "by hand");
  }
  assert.equal((await ledgerOf(bench)).agents.size, 0);
});

repoTest("no other agent gets the e-mail of an agent whose shard is broken", async (bench) => {
  const { host, paths } = bench;
  const owned = { ...ADA, userEmail: "ada@example.org" as Email };
  assert((await addAgent(host, paths, { record: owned, ...ROOT })).ok);
  await write(bench, BROKEN);
  const bob = { ...owned, name: "bob" as AgentName };
  const added = await addAgent(host, paths, { record: bob, ...ROOT });
  assert.equal(added.ok ? "" : added.error.code, "claim-taken");
  await host.files.write(paths.agentShard("bob"), printShard(bob));
  const { faults } = await ledgerOf(bench);
  assert.deepEqual(faults.map(({ code }) => code), ["shard-invalid", "claim-shared"]);
});
