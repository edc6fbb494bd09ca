/**
 * Finds the running gateway of a root and proves to it who asks, the way the login proxy does:
 * address from `roles.yaml`, assertion key from the gateway's env file.
 *
 * @module
 */

import type { CockpitClient } from "cli/up/cockpit_client.ts";
import { ASSERTION_HEADER, mintAssertion, parseAssertionKeys } from "core/access/assertion.ts";
import { parseEnvFile } from "core/env_file.ts";
import { refusal } from "core/errors.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import type { Paths } from "core/paths.ts";
import type { Clock, Files, HttpClient } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";

/** Opens a client of the cockpit under `paths`, as the viewer with this e-mail address. */
export async function attachCockpit(
  ports: { readonly files: Files; readonly http: HttpClient; readonly clock: Clock },
  paths: Paths,
  userEmail: string,
): Promise<Result<CockpitClient>> {
  const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  if (roles.value.gateway === undefined) {
    return err(
      refusal("gateway-not-here", `Cannot find a gateway under "${paths.root}": it runs none`, {
        hints: ["fleetctl up"],
      }),
    );
  }
  const env = parseEnvFile(await ports.files.readText(paths.env("webview-gateway")) ?? "");
  if (!env.ok) return env;
  const keyText = new Map(env.value).get("WEBVIEW_ASSERTION_KEY") ?? "";
  const keys = keyText === "" ? undefined : await parseAssertionKeys(keyText);
  if (keys !== undefined && !keys.ok) return keys;
  return ok({
    base: `http://${roles.value.gateway.cockpitListen}`,
    http: ports.http,
    clock: ports.clock,
    proof: async (method, path) => ({
      "x-user-email": userEmail,
      ...(keys === undefined ? {} : {
        [ASSERTION_HEADER]: await mintAssertion(keys.value, { subject: userEmail, method, path }, {
          nowMs: ports.clock.now(),
        }),
      }),
    }),
  });
}
