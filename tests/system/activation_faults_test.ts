/**
 * Activation faults on a real host: units that fail to start, files edited by hand, killed verbs,
 * and reboots in the middle of a verb. The next `apply` repairs them and reports what it cannot
 * repair. 3 kills and 2 reboots by default; FLEETCTL_ROUNDS and FLEETCTL_REBOOTS override these
 * numbers.
 *
 * @module
 */

import { bootHost } from "tests/support/booted_host.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { setUp } from "tests/system/activation/host.ts";
import { checkIdle, checkRelayed } from "tests/system/activation/calls.ts";
import { checkKills, checkReboots } from "tests/system/activation/churn.ts";
import { checkFaultyFacts } from "tests/system/activation/faulty_facts.ts";
import { checkDefaults, checkHandEdits } from "tests/system/activation/files.ts";
import { checkOperatorFaults } from "tests/system/activation/operator_faults.ts";
import {
  checkBrokenSocket,
  checkBurst,
  checkDyingRole,
  checkHangingRole,
} from "tests/system/activation/units.ts";

Deno.test("activation survives broken units, edited files, kills and reboots", async (t) => {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "helios" });
  const step = hostSteps(t, [host]);
  try {
    await step("a host with its own gateway, agent and MCP", () => setUp(host, out));
    await step(
      "a role that dies repeatedly is reported, and not counted as started",
      () => checkDyingRole(host),
    );
    await step(
      "a role that never becomes ready is reported each time, and repaired",
      () => checkHangingRole(host),
    );
    await step(
      "a socket that cannot be created fails only its MCP",
      () => checkBrokenSocket(host),
    );
    await step(
      "edited files are corrected, and the owner's files stay",
      () => checkHandEdits(host),
    );
    await step(
      "hand-written defaults apply, and faulty ones are reported",
      () => checkDefaults(host),
    );
    await step("a typing error in the ledger removes nothing", () => checkFaultyFacts(host));
    await step("a burst of connections leaves a shared socket in service", () => checkBurst(host));
    await step(
      "status names the cause of each fault and the commands that mend it",
      () => checkOperatorFaults(host),
    );
    await step("verbs killed in the middle", () => checkKills(host));
    await step("reboots in the middle of verbs", () => checkReboots(host));
    await step(
      "an admin can only call read-only tools as a peer",
      () => checkRelayed(host),
    );
    await step("an idle agent with 22 MCPs has no server process", () => checkIdle(host));
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
