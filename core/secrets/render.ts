/**
 * Renders secrets as the env files that units read, with the owners and modes of `docs/storage.md`.
 * Pure. Only its agent can read `agent-<name>.env`; every agent can read `mcp-shared.env`. The
 * host-operation keys are only in a file that root owns.
 *
 * @module
 */

import { printEnvFile } from "core/text/env_file.ts";
import { refusal } from "core/errors.ts";
import type { AgentName, HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { type FileOwner, type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import { err, ok, type Result } from "core/result.ts";
import { HOST_OP_KEYS, isRoleKey } from "core/secrets/resolve.ts";
import { readSecret, type SecretShards } from "core/secrets/shards.ts";
import type { KeyName } from "core/names.ts";

/** An agent that needs an env file. An `AgentRecord` fits. */
export interface AgentEnv {
  readonly name: AgentName;
  /** Plain variables beside the secrets, such as `CHANNEL_USER_EMAIL`; they override secrets. */
  readonly environment?: Readonly<Record<string, string>>;
}

const HEADER = "# Rendered by fleetctl from the secret store; edits are lost.\n";
/** Group of all agents of a host. */
const AGENTS_GROUP = "agents";

/** Renders `mcp-shared.env`, and one `agent-<name>.env` for each agent, even if it is empty. */
export function renderSecretEnv(
  shards: SecretShards,
  agents: readonly AgentEnv[],
  paths: Paths,
): readonly RenderedFile[] {
  const shared = [...shards.shared].filter(([key]) => !isRoleKey(key));
  return [
    envFile(paths.sharedEnv, shared, { user: "root", group: AGENTS_GROUP }),
    ...agents.map(({ name, environment }) => {
      const own = [...shards.agents.get(name) ?? []].filter(([key]) =>
        !isRoleKey(key) && !Object.hasOwn(environment ?? {}, key)
      );
      return envFile(
        paths.agentEnv(name),
        [...Object.entries(environment ?? {}), ...own],
        { user: "root", group: name },
      );
    }),
  ];
}

/**
 * Renders the file with the two keys that sign root executions, 0600 root:root. Refuses when one of
 * them is empty, so that an empty file never replaces a good one.
 */
export function renderHostOpKeys(
  shards: SecretShards,
  paths: Paths,
  hostname: HostName,
): Result<RenderedFile> {
  const entries: [string, string][] = [];
  for (const key of HOST_OP_KEYS) {
    const value = requireRoleKey(shards, key, { file: paths.hostOpKeys, hostname });
    if (!value.ok) return value;
    entries.push([key, value.value]);
  }
  return ok({ ...envFile(paths.hostOpKeys, entries, ROOT_OWNER), mode: 0o600 });
}

/**
 * Returns a role's key. Refuses a missing or empty one, which means that the store is not readable
 * here; the caller then keeps the old env file.
 */
export function requireRoleKey(
  shards: SecretShards,
  key: string,
  at: { readonly file: string; readonly hostname: HostName },
): Result<string> {
  const value = readSecret(shards, { key: key as KeyName });
  if (value !== undefined) return ok(value);
  return err(refusal(
    "hmac-key-unreadable",
    `Cannot write "${at.file}": ${key} is missing or empty, so the secret store is not ` +
      `readable on host "${at.hostname}"; kept the old file`,
    {
      details: [
        'run "fleetctl secret rewrap" on a host that can already read the store',
      ],
      hints: ["fleetctl secret list"],
    },
  ));
}

function envFile(
  path: string,
  entries: readonly (readonly [string, string])[],
  owner: FileOwner,
): RenderedFile {
  const sorted = [...entries].sort(([left], [right]) => left < right ? -1 : left > right ? 1 : 0);
  const text = printEnvFile(sorted);
  // Names and values were checked when they were stored and when the store was parsed.
  if (!text.ok) throw new TypeError(text.error.message);
  return { path, content: HEADER + text.value, mode: 0o640, owner, secret: true };
}
