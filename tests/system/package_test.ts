/**
 * The Debian package on a real host: installed, set up by an operator, used by an agent, restarted,
 * rebooted, removed and purged. Only this test shows that the rendered units run under real systemd
 * with their hardening, as the users they name, and that the kernel refuses everyone else.
 *
 * @module
 */

import assert from "node:assert/strict";
import { bootHost } from "tests/support/booted_host.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { buildPackage } from "tests/support/built_package.ts";
import {
  copyInto,
  DAEMON,
  installPackage,
  makeRepository,
  PackagedHost,
  ROLES,
} from "tests/support/packaged_host.ts";
import { checkReceiverAndSender } from "tests/system/package/teamchat.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { ENTRIES_OF_UP } from "tests/support/up_process.ts";
import {
  checkOwners,
  checkSocket,
  checkTmpWithoutEntries,
  checkUnreadable,
} from "tests/system/package/confinement.ts";
import { checkRestored } from "tests/system/package/purge.ts";
import { checkOlderLayout, checkReadOnlyUsr, checkRoleRemoval } from "tests/system/package/usr.ts";
import {
  checkGatewayRestart,
  checkRemoval,
  checkUpgrade,
  setUp,
} from "tests/system/package/life.ts";
import {
  checkBrowser,
  checkScratch,
  checkServer,
  checkSharedServer,
  checkWorkspace,
  REPOSITORY,
} from "tests/system/package/servers.ts";
import {
  checkModelFromPage,
  checkStore,
  checkVerbsOfAda,
  checkWithoutDaemon,
} from "tests/system/package/verbs.ts";

Deno.test("the package runs a fleet on a real host, and leaves nothing behind", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const scene = new PackagedHost(host);
  const step = hostSteps(t, [host]);
  try {
    for (const name of ENTRIES_OF_UP) {
      await copyInto(host, `${VENDOR_CACHE}/${name}`, "/var/lib/fleetctl/vendor-cache");
    }
    let hash = "";
    await step("install the package, two agents and an MCP", async () => {
      await installPackage(host, out);
      await setUp(scene);
    });
    await step("files and processes have the right owners", () => checkOwners(scene));
    await step("a turn reports the real commit of a repository made inside", async () => {
      hash = await makeRepository(scene, REPOSITORY, "made inside");
      const { answer, tools } = await scene.turn(`last commit of ${REPOSITORY}`);
      assert.deepEqual(tools, ["git_log"]);
      assert.ok(answer.includes(hash) && answer.includes("made inside"), answer);
    });
    await step("the MCP server runs as the agent, its home read-only", () => checkServer(scene));
    await step("git can write to the workspace and nowhere else", () => checkWorkspace(scene));
    await step("the agent and its servers share their own /tmp", () => checkScratch(scene));
    await step("the kernel refuses the socket to every other user", () => checkSocket(scene));
    await step("the agent cannot read what belongs to others", () => checkUnreadable(scene));
    await step(
      "the agent's verbs go through the daemon, others are refused and audited",
      () => checkVerbsOfAda(scene),
    );
    await step("secrets, markers and the ledger through the daemon", () => checkStore(scene));
    await step("an owner chooses a model in the page", () => checkModelFromPage(scene));
    await step(
      "without the daemon, an agent's verb names the reason",
      () => checkWithoutDaemon(scene),
    );
    await step("a /tmp without free entries is reported", () => checkTmpWithoutEntries(scene));
    await step("Chromium runs below its server", () => checkBrowser(scene));
    await step("a shared server runs as its own user", () => checkSharedServer(scene));
    await step(
      "receiver and sender of team chat cannot read each other's files",
      () => checkReceiverAndSender(scene, ROLES),
    );
    await step("the same package again restarts no agent", () => checkUpgrade(scene, out));
    await step(
      "files that an older version rendered beside the programs are moved",
      () => checkOlderLayout(scene, out, hash),
    );
    await step("a restart of the gateway restarts no agent", () => checkGatewayRestart(scene));
    await step("every role runs with /usr read-only", () => checkReadOnlyUsr(scene));
    await step("each role is removed, and names what it leaves", () => checkRoleRemoval(scene));
    await step("a reboot brings everything back", async () => {
      await host.reboot();
      const { answer } = await scene.turn(`last commit of ${REPOSITORY}`);
      assert.ok(answer.includes(hash), answer);
      assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
      await scene.untilLogged(DAEMON, '"event":"ready"');
      assert.equal((await scene.ada("mcp wired self")).code, 0);
    });
    await step("dpkg -r stops everything, and dpkg -P leaves only homes", async () => {
      const purged = await checkRemoval(scene, out);
      await checkRestored(out, purged);
    });
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
