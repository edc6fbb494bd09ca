/**
 * Prepares a root: the ledger, the secret store, the roles file and, in an empty ledger, two
 * agents. Each step runs only if its result is missing, so the next start continues an interrupted
 * one.
 *
 * @module
 */

import type { UpOptions } from "cli/up/options.ts";
import { defined } from "core/defined.ts";
import { rootRefusal } from "core/hints/root_refusal.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import {
  editHostRoles,
  type HostRoles,
  parseHostRoles,
  printHostRoles,
} from "core/ledger/host_roles.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { commitChange, initRepo } from "core/ledger/repository.ts";
import { printShard } from "core/ledger/shard.ts";
import type { AgentName, Email, HostName, McpName, ObjectId } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import { err, ok, type Result } from "core/result.ts";
import { initSecrets } from "core/secrets/init.ts";

/** Ports of the listeners of one `up`. */
export interface UpPorts {
  readonly cockpit: number;
  readonly dial: number;
  readonly login: number;
  /** Absent when this root does not run team chat. */
  readonly teamchat?: number;
}

/** E-mail address of the local person in the cockpit. */
export const OWNER_EMAIL = "owner@localhost" as Email;
/** Owner of the second agent, which exists for team chat. */
const TEAMCHAT_EMAIL = "bea-owner@localhost" as Email;
/** A fixed object id of the identity provider, so that a local connector can address the owner. */
const TEAMCHAT_OWNER = "00000000-0000-4000-8000-0000000000be" as ObjectId;

/** Creates the root folder and its standard folders, 0755 and owned by the current user. */
export async function ensureRoot(host: Pick<Host, "files">, paths: Paths): Promise<Result<void>> {
  try {
    for (
      const dir of [paths.root, paths.etc, paths.envDir, paths.state, paths.logs, paths.mcpRun]
    ) {
      await host.files.ensureDir(dir, { mode: 0o755 });
    }
    return ok(undefined);
  } catch (thrown) {
    return err(rootRefusal(paths.root, thrown));
  }
}

/** The two agents of a new root. */
function firstAgents(hostname: HostName, nowMs: number): readonly AgentRecord[] {
  const common = {
    runtime: "runtime-b",
    runOn: hostname,
    isAdmin: false,
    created: new Date(nowMs).toISOString(),
  };
  return [
    {
      ...common,
      name: "ada" as AgentName,
      channel: "webview",
      userEmail: OWNER_EMAIL,
      tools: { add: ["git" as McpName], remove: [] },
    },
    {
      ...common,
      name: "bea" as AgentName,
      channel: "teamchat",
      userEmail: TEAMCHAT_EMAIL,
      ownerAad: TEAMCHAT_OWNER,
      tools: { add: [], remove: [] },
    },
  ];
}

/** Creates what is missing. Returns whether the agents were just created. */
export async function prepareRoot(
  host: Host,
  paths: Paths,
  hostname: HostName,
): Promise<Result<{ readonly isNew: boolean }>> {
  const repo = await initRepo(host, paths);
  if (!repo.ok) return repo;
  const secrets = await initSecrets(host, paths, { verb: "up", caller: "root", hostname });
  if (!secrets.ok) return secrets;
  const ledger = await readLedger(host.files, paths);
  if (!ledger.ok) return ledger;
  if (ledger.value.agents.size > 0 || ledger.value.faults.length > 0) return ok({ isNew: false });
  const made = await commitChange(host, paths, {
    verb: "up",
    caller: "root",
    summary: "first agents",
    edits: firstAgents(hostname, host.clock.now()).map((agent) => ({
      path: paths.agentShard(agent.name),
      change: (current: string | undefined) => ok(current ?? printShard(agent)),
    })),
  });
  return made.ok ? ok({ isNew: true }) : made;
}

/**
 * Writes the options of this `up` into `roles.yaml`. Everything else there is kept, including
 * comments.
 */
export async function writeRoles(
  host: Pick<Host, "files">,
  paths: Paths,
  up: { readonly options: UpOptions; readonly ports: UpPorts; readonly project: string },
): Promise<Result<HostRoles>> {
  const { options, ports } = up;
  try {
    const text = await host.files.readText(paths.rolesFile);
    const current = parseHostRoles(text, paths.rolesFile);
    if (!current.ok) return current;
    const listen = options.listen.includes(":") ? `[${options.listen}]` : options.listen;
    const { gateway, login, teamchat } = current.value;
    const edited = editHostRoles(text ?? printHostRoles(current.value), {
      gateway: {
        cockpit_listen: `127.0.0.1:${ports.cockpit}`,
        dial_listen: `${listen}:${ports.dial}`,
        trust: gateway?.trust ?? "assertion",
      },
      login: { listen: `${listen}:${ports.login}`, driver: login?.driver ?? "basic" },
      ...(ports.teamchat === undefined ? {} : {
        teamchat: {
          // One listener serves both paths; /register is refused when it comes through a proxy.
          listen: `127.0.0.1:${ports.teamchat}`,
          register_listen: `127.0.0.1:${ports.teamchat}`,
          cloud: teamchat?.cloud ?? "public",
        },
      }),
      ...defined({ workdir: options.workdir }),
      project: up.project,
    }, paths.rolesFile);
    if (!edited.ok) return edited;
    if (edited.value !== text) {
      await host.files.write(paths.rolesFile, edited.value, { mode: 0o644 });
    }
    return parseHostRoles(edited.value, paths.rolesFile);
  } catch (thrown) {
    return err(rootRefusal(paths.root, thrown));
  }
}
