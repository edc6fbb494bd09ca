/**
 * Whether receiver and sender of the team-chat gateway may become one process. The receiver stores
 * accepted messages in its own file, and no process reads that file after the receiver is removed.
 * Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { healthAt } from "cli/teams_gateway/state.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { HostRoles } from "core/ledger/host_roles.ts";
import { isReceiverSeparate } from "core/teamchat/separate_receiver.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import { RECEIVER_ENV } from "units/render/roles/teamchat_env.ts";
import { TEAMCHAT_RECEIVER_UNIT } from "units/render/unit_name.ts";

/** The receiver queries the sender's health for up to two seconds before it answers. */
const JOIN_MS_MAX = 5_000;

/**
 * Refuses if the roles no longer have a receiver while its file contains messages, or may contain
 * some.
 */
export async function checkSpoolEmpty(
  context: VerbContext,
  next: HostRoles["teamchat"],
): Promise<Refusal | undefined> {
  const { ports: { files }, paths } = context;
  if (next === undefined || isReceiverSeparate(next)) return undefined;
  // A receiver that ends with an empty file removes it.
  if (await files.stat(paths.teamchatSpool) === undefined) return undefined;
  const text = await files.readText(paths.env(RECEIVER_ENV));
  const rendered = text === undefined ? undefined : parseEnvFile(text);
  // No receiver exists that could hand the messages over; `doctor` reports this.
  if (rendered === undefined) return undefined;
  const listen = rendered.ok ? rendered.value.get("TEAMS_LISTEN") : undefined;
  const health = listen === undefined ? undefined : await healthAt(context, listen, JOIN_MS_MAX);
  if (health?.spooled === 0) return undefined;
  // A receiver that does not answer may have messages.
  const found = typeof health?.spooled === "number"
    ? String(health.spooled)
    : "an unknown number of";
  return refusal(
    "teams-spool-waits",
    `Cannot merge receiver and sender of the team-chat gateway: ${found} activities wait for ` +
      "the sender, must be none",
    {
      details: [
        "the two addresses of roles.yaml are now the same, so one process would listen",
      ],
      hints: [
        ...(health !== undefined
          ? []
          : paths.root === "/"
          ? [`systemctl start ${TEAMCHAT_RECEIVER_UNIT}`]
          : ["fleetctl logs teamchat-receiver"]),
        "fleetctl teams-gateway status",
      ],
    },
  );
}
