/**
 * Whether any known reader uses a key: a role, the built-in runtime, or an MCP of the catalog. A
 * key without a reader is usually a typing error. Pure.
 *
 * @module
 */

import { shardText } from "cli/secret/placed.ts";
import { TEAMCHAT_KEYS } from "cli/teamchat_role.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { RUNTIME_VARIABLES } from "core/runtimes/model_choice.ts";
import { isRoleKey } from "core/secrets/resolve.ts";
import { ROTATED_KEYS } from "core/secrets/rotate.ts";
import type { SecretRef } from "core/secrets/shards.ts";
import { nearest } from "core/verbs/nearest.ts";

/** Keys of the roles. `secret set` accepts them only for the shared shard. */
const ROLE_KEYS: readonly string[] = [
  ...Object.values(ROTATED_KEYS).flat(),
  "WEBVIEW_BASIC_USERS",
  "WEBVIEW_OIDC_CLIENT_SECRET",
  ...TEAMCHAT_KEYS,
];

/** Returns a warning about a key that nothing reads from its shard; otherwise undefined. */
export function unreadKey(ref: SecretRef, catalog: Iterable<Manifest>): Refusal | undefined {
  const readable = [
    ...ROLE_KEYS,
    ...RUNTIME_VARIABLES,
    ...[...catalog].flatMap((manifest) => [
      ...manifest.requiredEnv,
      ...manifest.userEnv,
      ...manifest.optionalEnv,
    ]),
  ];
  if (readable.includes(ref.key)) return undefined;
  const close = nearest(ref.key, readable);
  const shard = ref.agent === undefined ? "" : ` --agent ${ref.agent}`;
  return refusal(
    "secret-unread",
    `Nothing on this host reads "${ref.key}" from ${shardText(ref)}`,
    {
      details: isRoleKey(ref.key)
        ? ["a role reads its keys from the shared shard, and no role reads this one"]
        : ["no MCP of the catalog and no model names it; programs of an agent may look for it"],
      hints: [
        ...(close === undefined ? [] : [`fleetctl secret set ${close}${shard}`]),
        `fleetctl secret unset ${ref.key}${shard}`,
      ],
    },
  );
}
