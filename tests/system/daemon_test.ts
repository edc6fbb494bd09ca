/**
 * The trusted base on a real host, with real users and peer credentials: who may do what, by kernel
 * and by daemon; what hostile users of the host cannot do; and that the audit has every decision.
 *
 * @module
 */

import { hostSteps } from "tests/support/host_steps.ts";
import {
  alike,
  crowd,
  grants,
  namespaces,
  oddUids,
  passedDescriptors,
  plainLogs,
  reusedPid,
  rootProgram,
} from "tests/system/daemon/promises.ts";
import { approvals, expiringCall, unreadableApprovals } from "tests/system/daemon/approvals.ts";
import { everyEffect } from "tests/system/daemon/effects.ts";
import {
  brokenStores,
  fullDisk,
  homesThatWait,
  linksAndPipes,
  packagesThatWait,
  unitsThatWait,
  usedUp,
} from "tests/system/daemon/faults.ts";
import { editors } from "tests/system/daemon/editors.ts";
import { failedState, noReaders, remove, stopAndBoot } from "tests/system/daemon/life.ts";
import { operator, operatorVerbs, ownSecret } from "tests/system/daemon/owner.ts";
import { openScene } from "tests/system/daemon/scene.ts";
import { cancelledTurns, turns, withoutPage } from "tests/system/daemon/turns.ts";
import { walkTable } from "tests/system/daemon/walk.ts";
import { worktrees } from "tests/system/daemon/worktrees.ts";

Deno.test("the daemon serves only permitted callers on a real host", async (t) => {
  const { host, scene } = await openScene();
  const step = hostSteps(t, [host]);
  try {
    await step(
      "every verb answers every caller as the table says, and is audited",
      () => walkTable(scene),
    );
    const walked = (await scene.audit()).at(-1)?.id ?? 0;
    await step(
      "an agent's own user sets its secret, and so does an operator",
      () => ownSecret(scene),
    );
    await step(
      "kernel and daemon deny the agent every operator verb",
      () => operatorVerbs(scene),
    );
    await step("an operator runs these verbs, and the audit records each", () => operator(scene));
    await step("only the permitted callers see and decide a waiting call", () => approvals(scene));
    await step("approvals that cannot be read are reported", () => unreadableApprovals(scene));
    await step("a turn names its caller, and other users cannot send one", () => turns(scene));
    await step("an editor has the rights of its caller", () => editors(scene));
    await step("a client that disconnects cancels its turn", () => cancelledTurns(scene));
    await step("an agent without a page user has turns and approvals", () => withoutPage(scene));
    await step("conversations have their own worktrees, and snapshots", () => worktrees(scene));
    let untilExpired = () => Promise.resolve();
    await step("a call waits for the time of its agent's record", async () => {
      untilExpired = await expiringCall(scene);
    });
    await step("every uid is the one that the kernel reports", () => oddUids(scene));
    await step("root of a namespace is not root of the host", () => namespaces(scene));
    await step("a reused process number identifies no other process", () => reusedPid(scene));
    await step("descriptors in a request are dropped", () => passedDescriptors(scene));
    await step("a thousand connections of one uid leave others served", () => crowd(scene));
    await step("the root program gets nothing but its request", () => rootProgram(scene));
    await step("a client that stops following a log leaves no reader", () => noReaders(scene));
    await step("a grant is valid once, and for one request", () => grants(scene));
    await step("a call is denied when that time is over", () => untilExpired());
    await step("a refusal does not reveal what exists", () => alike(scene));
    await step("logs are plain text", () => plainLogs(scene));
    await step("root follows no link and waits for no pipe in a home", () => linksAndPipes(scene));
    await step(
      "no verb waits for a file that an agent puts in its home",
      () => homesThatWait(scene),
    );
    await step("no verb waits for the units of another's agent", () => unitsThatWait(scene));
    await step("no verb waits for a package of another's agent", () => packagesThatWait(scene));
    await step("a broken shard or store affects no other agent", () => brokenStores(scene));
    await step("on a full disk no verb runs without a record", () => fullDisk(scene));
    await step("an agent that exhausts its share blocks no other caller", () => usedUp(scene));
    await step("every verb of the table has its effect", () => everyEffect(scene, walked));
    await step("a stopped agent stays stopped over apply and a boot", () => stopAndBoot(scene));
    await step("a unit that is down is reported with the reason", () => failedState(scene));
    await step("a removed agent leaves only its transcript", () => remove(scene));
  } finally {
    await host.stop();
  }
});
