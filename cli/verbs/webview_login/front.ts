/**
 * `fleetctl webview-login front <server>`: prints the web server configuration for HTTPS in front
 * of the installed login proxy, and nothing else, so that the output can go to a file. Changes
 * nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { verbatimReport, type VerbReport } from "cli/output.ts";
import { frontOf } from "cli/verbs/webview_login/install.ts";
import { refusal } from "core/errors.ts";
import type { FrontKind } from "cli/webview_login/login_front.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The server of the front. */
export interface Options {
  readonly server: FrontKind;
}

/** Parses the argument. The verb table has checked the choice. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ server: args.server === "nginx" ? "nginx" : "caddy" });
}

/** Prints the front. */
export async function run(
  { ports, paths }: VerbContext,
  { server }: Options,
): Promise<Result<VerbReport>> {
  const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  const { login } = roles.value;
  if (login === undefined) {
    return err(refusal(
      "login-not-installed",
      "Cannot print an HTTPS front: the login proxy is not installed on this host",
      { hints: ["fleetctl webview-login install --help"] },
    ));
  }
  const front = frontOf(login, server);
  if (!front.ok) return front;
  const lines = front.value.trimEnd().split("\n");
  return ok(verbatimReport({ server, front: front.value }, lines));
}
