/**
 * `fleetctl webview-login status`: whether the login proxy is installed and runs, how people log
 * in, and how many are logged in. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { withStore } from "cli/webview_login/store.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { ok, type Result } from "core/result.ts";
import { LOGIN_UNIT } from "units/render/unit_name.ts";

/** The verb has no options. */
export type Options = Readonly<Record<string, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Reads roles, unit and store. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  const { login } = roles.value;
  if (login === undefined) {
    return ok({
      json: { installed: false },
      blocks: [{
        kind: "lines",
        lines: ["The login proxy is not installed here: fleetctl webview-login install"],
      }],
    });
  }
  const services = ports.services(paths);
  const [unit] = await services.isRunning() ? await services.status([LOGIN_UNIT]) : [];
  const now = ports.clock.now();
  const counted = await withStore(context, (store) =>
    ok({
      sessions: (store?.list() ?? []).filter(({ expires }) => expires > now).length,
      pins: store?.pins.list().length ?? 0,
    }));
  if (!counted.ok) return counted;
  const state = unit?.active ?? "not running";
  const { sessions, pins } = counted.value;
  const { driver, listen, settings = {} } = login;
  return ok({
    json: { installed: true, unit: LOGIN_UNIT, state, driver, listen, settings, sessions, pins },
    blocks: [{
      kind: "table",
      columns: ["what", "state"],
      rows: [
        ["unit", { text: `${LOGIN_UNIT} ${state}`, tone: state === "active" ? "good" : "warn" }],
        ["driver", driver],
        ["listens on", listen],
        ...Object.entries(settings),
        ["sessions", String(sessions)],
        ["pinned addresses", String(pins)],
      ],
      empty: "",
    }],
  });
}
