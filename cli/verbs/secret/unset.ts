/**
 * `fleetctl secret unset`: removes one value from an agent's shard or the shared one, and from its
 * env file. Keys that every host needs can only be rotated.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refreshEnvFiles } from "cli/env_files.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, readFacts, underVerbLock } from "cli/planner.ts";
import { envPath, laterLines, shardText } from "cli/secret/placed.ts";
import { refusal } from "core/errors.ts";
import { parseHostRoles } from "core/ledger/host_roles.ts";
import { type KeyName, parseKeyName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { ROLE_KEYS } from "core/secrets/init.ts";
import { decidePlacement } from "core/secrets/placement.ts";
import { ROTATED_KEYS } from "core/secrets/rotate.ts";
import type { SecretRef } from "core/secrets/shards.ts";
import { openSecrets } from "core/secrets/store.ts";
import { callerAgent, isOperator } from "core/verbs/caller.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl secret unset`. The context's target names the shard. */
export interface Options {
  readonly key: KeyName;
}

/** The people who may log in with the driver `basic`. */
const BASIC_USERS = "WEBVIEW_BASIC_USERS";

/** Parses the name of the key. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const key = parseKeyName(invocation.args.KEY ?? "");
  return key.ok ? ok({ key: key.value }) : key;
}

/** Removes the value and rewrites its env file. */
export async function run(context: VerbContext, { key }: Options): Promise<Result<VerbReport>> {
  const { ports, paths, target, caller } = context;
  const ref: SecretRef = target.kind === "agent" ? { key, agent: target.agent } : { key };
  const agent = callerAgent(caller);
  const placed = decidePlacement({ isOperator: isOperator(caller), agent }, ref, "unset");
  if (!placed.ok) return placed;
  if ((ROLE_KEYS as readonly string[]).includes(key)) return err(needed(key));
  return await underVerbLock(context, async () => {
    const roles = parseHostRoles(await ports.files.readText(paths.rolesFile), paths.rolesFile);
    if (ref.agent === undefined && key === BASIC_USERS) {
      if (!roles.ok) return roles;
      if (roles.value.login?.driver === "basic") return err(loginNeeds(key));
    }
    const store = await openSecrets(ports, paths);
    if (!store.ok) return store;
    const done = await store.value.unset(ref, authorOf(context, "secret unset"));
    if (!done.ok) return done;
    const gathered = await readFacts(context);
    if (!gathered.ok) return gathered;
    const files = await refreshEnvFiles(context, gathered.value.facts, [envPath(context, ref)]);
    const shard = ref.agent === undefined ? "shared" : `agents.${ref.agent}`;
    return ok(linesReport({ key, shard, changed: true, files }, [
      `unset  ${key} in ${shardText(ref)}`,
      ...files.map((path) => `updated  ${path}`),
      ...(files.length === 0 ? [] : ["running programs forget it after:", ...laterLines(context)]),
    ]));
  });
}

/**
 * Refuses to remove the list of users: without it the proxy is no longer rendered and cannot start
 * again.
 */
function loginNeeds(key: KeyName) {
  return refusal(
    "key-needed",
    `Cannot unset "${key}": the login proxy of this host logs people in with it, must have ` +
      "another driver first",
    { hints: [`fleetctl secret set ${key} --value - < file`, "fleetctl webview-login status"] },
  );
}

function needed(key: KeyName) {
  const what = Object.entries(ROTATED_KEYS).find(([, keys]) =>
    (keys as readonly string[]).includes(key)
  )?.[0];
  return refusal(
    "key-needed",
    `Cannot unset "${key}": the roles of this host need it, must be replaced by a new one`,
    { hints: [`fleetctl secret rotate ${what} --revoke`] },
  );
}
