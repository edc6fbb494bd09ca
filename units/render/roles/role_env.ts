/**
 * Env files of the roles, and the non-secret part of the agents' env files (`CHANNEL_USER_EMAIL`,
 * `CHANNEL_WEBVIEW_GATEWAY_URL`). No I/O.
 *
 * The agent's env file has two sources and one writer: the secret store renders the keys, this
 * module adds the channel, and the reconcile writes the result.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { FileOwner, RenderedFile } from "core/files/rendered_file.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseEnvFile, printEnvFile } from "core/text/env_file.ts";
import { GATEWAY_USER } from "core/verbs/caller.ts";
import { AGENTS_GROUP } from "units/render/mcp/socket.ts";

/** Name of the gateway's env file. */
export const GATEWAY_ENV = "webview-gateway";
const HEADER = "# Rendered by fleetctl; changes are overwritten.\n";

/** Input of the gateway's env file. */
export interface GatewaySettings {
  readonly cockpitListen: string;
  readonly dialListen: string;
  readonly rosterJson: string;
  readonly trust: "assertion" | "header";
  readonly assertionKey?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Renders `webview-gateway.env`, 0640 for the gateway's group. */
export function renderGatewayEnv(gateway: GatewaySettings, paths: Paths): Result<RenderedFile> {
  const path = paths.env(GATEWAY_ENV);
  const key = gateway.assertionKey ?? "";
  if (gateway.trust === "assertion" && key === "") {
    return err(refusal(
      "assertion-key-missing",
      `Cannot write ${JSON.stringify(path)}: WEBVIEW_ASSERTION_KEY has no value, ` +
        'must be set when WEBVIEW_TRUST is "assertion"',
      { hints: ["fleetctl secret set WEBVIEW_ASSERTION_KEY"] },
    ));
  }
  const values = new Map(Object.entries({
    WEBVIEW_COCKPIT_LISTEN: gateway.cockpitListen,
    WEBVIEW_DIAL_LISTEN: gateway.dialListen,
    // Both are in the file that the gateway follows.
    WEBVIEW_LEDGER: paths.webviewLedger,
    WEBVIEW_ADMINS: paths.webviewLedger,
    WEBVIEW_TRUST: gateway.trust,
    ...(key === "" ? {} : { WEBVIEW_ASSERTION_KEY: key }),
    ...gateway.settings,
  }));
  return printed(path, values, { user: "root", group: GATEWAY_USER });
}

/**
 * Returns the file of `WEBVIEW_LEDGER`. The gateway follows it, so that a changed agent needs no
 * restart. It contains e-mail addresses, so only the gateway may read it.
 */
export function rosterFile(
  { rosterJson }: Pick<GatewaySettings, "rosterJson">,
  paths: Paths,
): RenderedFile {
  return {
    path: paths.webviewLedger,
    content: rosterJson,
    mode: 0o640,
    owner: { user: "root", group: GATEWAY_USER },
    secret: false,
  };
}

/**
 * Renders `agent-<name>.env`, 0640 root:<name>: the agent's keys from the secret store (undefined
 * when it has none), and its channel.
 */
export function renderAgentEnv(
  agent: AgentRecord,
  secrets: RenderedFile | undefined,
  context: { readonly paths: Paths; readonly registerUrl: string | undefined },
): Result<RenderedFile> {
  const parsed = parseEnvFile(secrets?.content ?? "");
  if (!parsed.ok) return parsed;
  const values = new Map(parsed.value);
  const channel = [
    ["CHANNEL_USER_EMAIL", agent.userEmail],
    ["CHANNEL_WEBVIEW_GATEWAY_URL", context.registerUrl],
  ] as const;
  if (secrets !== undefined && channel.every(([name, value]) => values.get(name) === value)) {
    return ok(secrets);
  }
  // Set last, so that the owner comes from the ledger and not from a key of the same name.
  for (const [name, value] of channel) {
    values.delete(name);
    if (value !== undefined) values.set(name, value);
  }
  return printed(context.paths.agentEnv(agent.name), values, { user: "root", group: agent.name });
}

/** Renders the spend ceilings of an agent, 0640 root:<name>; undefined when it has none. */
export function renderAgentCeiling(agent: AgentRecord, paths: Paths): RenderedFile | undefined {
  return agent.ceiling === undefined ? undefined : {
    path: paths.agentCeiling(agent.name),
    content: `${agent.ceiling}\n`,
    mode: 0o640,
    owner: { user: "root", group: agent.name },
    secret: false,
  };
}

/** Renders an empty `mcp-shared.env`, for a host whose shared shard is empty. */
export function renderEmptySharedEnv(paths: Paths): RenderedFile {
  return {
    path: paths.sharedEnv,
    content: HEADER,
    mode: 0o640,
    owner: { user: "root", group: AGENTS_GROUP },
    secret: true,
  };
}

function printed(
  path: string,
  values: ReadonlyMap<string, string>,
  owner: FileOwner,
): Result<RenderedFile> {
  const text = printEnvFile([...values]);
  if (!text.ok) return text;
  return ok({ path, content: HEADER + text.value, mode: 0o640, owner, secret: true });
}
