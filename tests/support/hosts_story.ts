/**
 * The hosts of the pictures, the same each time: one healthy, one with faults and a failed job, one
 * disconnected and one revoked.
 *
 * @module
 */

import { type PageScene } from "tests/support/page_scene.ts";
import type { ScriptedHost } from "tests/support/scripted_host.ts";

/** Output of `fleetctl status --json` on a healthy host. */
export const WELL = {
  version: "1.2.3",
  hostname: "forge",
  roles: [
    { role: "daemon", unit: "fleetctld.service", state: "active", reason: "" },
    { role: "gateway", unit: "fleetctl-gateway.service", state: "active", reason: "" },
    { role: "host", unit: "fleetctl-host.service", state: "active", reason: "" },
  ],
  agents: [{ name: "ada", state: "idle", reason: null, gateway: "connected", mcps: [] }],
  problems: [],
  ok: true,
};

/** The same output on a host with faults. */
export const ILL = {
  ...WELL,
  hostname: "boreas",
  roles: [
    { role: "daemon", unit: "fleetctld.service", state: "active", reason: "" },
    { role: "host", unit: "fleetctl-host.service", state: "active", reason: "" },
    { role: "login", unit: "fleetctl-login.service", state: "failed", reason: "exit code 1" },
  ],
  agents: [
    { name: "mia", state: "failed", reason: "exit code 2", gateway: "not connected", mcps: [] },
    { name: "zoe", state: "idle", reason: null, gateway: "connected", mcps: [] },
  ],
  problems: [
    {
      code: "role-down",
      message: "The login is failed (exit code 1), must be active",
      details: [],
      hints: ["journalctl -u fleetctl-login.service -n 50"],
    },
    {
      code: "agent-down",
      message: 'Agent "mia" is failed (exit code 2), must be running',
      details: [],
      hints: ["fleetctl agents restart mia", "journalctl -u fleetctl-dial-mia.service -n 50"],
    },
  ],
  ok: false,
};

/** Output of `fleetctl apply --json` after a partial success. */
export const APPLIED_PARTLY = {
  dry_run: false,
  files: [
    { path: "/etc/systemd/system/fleetctl-login.service", change: "updated" },
    { path: "/etc/fleetctl/env/webview-login.env", change: "updated" },
    { path: "/etc/fleetctl/risk.json", change: "unchanged" },
  ],
  units: [{ unit: "fleetctl-login.service", change: "restarted" }],
  vendored: [],
  restart_pending: [],
  faults: [{
    code: "unit-not-started",
    kind: "refused",
    message: 'Cannot start unit "fleetctl-login.service": it ended with exit code 1',
    details: ["WEBVIEW_BASIC_USERS is empty, must name a user"],
    hints: ["journalctl -u fleetctl-login.service -n 50"],
  }],
  warnings: [],
};

/** Enrolls the hosts and connects two of them, which answer every status request. */
export async function playHosts(scene: PageScene): Promise<{
  readonly forge: ScriptedHost;
  readonly boreas: ScriptedHost;
}> {
  await scene.keys.enroll("boreas");
  await scene.keys.enroll("cirrus");
  await scene.keys.enroll("forge");
  await scene.keys.enroll("zephyr", true);
  const cirrus = await scene.host("cirrus");
  await cirrus.vanish();
  const forge = await scene.host("forge");
  const boreas = await scene.host("boreas", { version: "1.1.0" });
  forge.answerLooks(WELL);
  boreas.answerLooks(ILL);
  return { forge, boreas };
}
