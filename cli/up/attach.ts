/**
 * Finds the running gateway of a root and authenticates requests to it as the login proxy does. The
 * address comes from `roles.yaml`, the assertion key from the gateway's env file.
 *
 * @module
 */

import type { CockpitClient } from "cli/up/cockpit_client.ts";
import {
  ASSERTION_HEADER,
  type AssertionKeys,
  mintAssertion,
  mintHostAssertion,
  parseAssertionKeys,
} from "core/access/assertion.ts";
import { refusal } from "core/errors.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseEnvFile } from "core/text/env_file.ts";

interface AttachPorts {
  readonly files: Files;
  readonly http: HttpClient;
  readonly clock: Clock;
}

/** Opens a client of the cockpit under `paths` for the viewer with this e-mail address. */
export async function attachCockpit(
  ports: AttachPorts,
  paths: Paths,
  userEmail: string,
): Promise<Result<CockpitClient>> {
  const found = await findCockpit(ports.files, paths);
  if (!found.ok) return found;
  const { base, keys } = found.value;
  return ok({
    base,
    http: ports.http,
    clock: ports.clock,
    proof: async (method, path) => ({
      "x-user-email": userEmail,
      ...(keys === undefined ? {} : {
        [ASSERTION_HEADER]: await mintAssertion(keys, { subject: userEmail, method, path }, {
          nowMs: ports.clock.now(),
        }),
      }),
    }),
  });
}

/** Opens a client as root of this host; undefined when there is no key to sign with. */
export async function attachAsHost(
  ports: AttachPorts,
  paths: Paths,
): Promise<Result<CockpitClient | undefined>> {
  const found = await findCockpit(ports.files, paths);
  if (!found.ok) return found;
  const { base, keys } = found.value;
  if (keys === undefined) return ok(undefined);
  return ok({
    base,
    http: ports.http,
    clock: ports.clock,
    proof: async (method, path) => ({
      [ASSERTION_HEADER]: await mintHostAssertion(keys, { method, path }, {
        nowMs: ports.clock.now(),
      }),
    }),
  });
}

async function findCockpit(
  files: Files,
  paths: Paths,
): Promise<Result<{ readonly base: string; readonly keys: AssertionKeys | undefined }>> {
  const roles = parseHostRoles(await files.readText(paths.rolesFile), paths.rolesFile);
  if (!roles.ok) return roles;
  if (roles.value.gateway === undefined) {
    return err(
      refusal("gateway-not-here", `Cannot find a gateway under "${paths.root}": it runs none`, {
        hints: ["fleetctl up"],
      }),
    );
  }
  const env = parseEnvFile(await files.readText(paths.env("webview-gateway")) ?? "");
  if (!env.ok) return env;
  const keyText = new Map(env.value).get("WEBVIEW_ASSERTION_KEY") ?? "";
  const keys = keyText === "" ? undefined : await parseAssertionKeys(keyText);
  if (keys !== undefined && !keys.ok) return keys;
  return ok({
    base: `http://${roles.value.gateway.cockpitListen}`,
    keys: keys?.ok === true ? keys.value : undefined,
  });
}
