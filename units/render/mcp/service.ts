/**
 * The templated service of one MCP: an instance per connection, started by the socket.
 * No I/O.
 *
 * |         | per_user                                   | shared                              |
 * |---------|--------------------------------------------|-------------------------------------|
 * | user    | the agent, HOME = agent home               | `DynamicUser` (root by `run_as`)    |
 * | env     | `agent-<agent>.env`, shared when `auth: env` | `mcp-shared.env` when `auth: env` |
 *
 * @module
 */

import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";
import type { Unit, UnitEntry } from "core/text/unit_file.ts";
import { quoteAssignment } from "core/text/quote.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { serverHardening } from "units/render/hardening.ts";
import {
  buildsOwnView,
  expandPlaceholders,
  NO_COLOR,
  sandboxView,
  serverCommand,
  type ServerContext,
  serverHome,
  startsPrograms,
} from "units/render/mcp/command.ts";
import { closedWithin } from "units/render/mcp/closed_paths.ts";
import { sandboxEntries } from "units/render/mcp/python.ts";
import { agentSliceEntries } from "units/render/slices.ts";
import { dialUnit, mcpServiceUnit, mcpSocketUnit } from "units/render/unit_name.ts";

/** Search path of servers that start programs. */
export const PROGRAM_PATH = "/usr/local/bin:/usr/bin:/bin";

/** Renders the template of an MCP's servers. */
export function renderMcpService(manifest: Manifest, context: ServerContext): Unit {
  const whose = context.agent === undefined ? "" : ` of agent ${context.agent}`;
  return {
    name: mcpServiceUnit(manifest.name, context.agent),
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: `Server of MCP ${manifest.name}${whose}` },
          {
            key: "PartOf",
            value: mcpSocketUnit(manifest.name, context.agent),
            why: "A restart of the socket also ends servers of the old tree",
          },
          ...(context.agent === undefined ? [] : [{
            key: "JoinsNamespaceOf",
            value: dialUnit(context.agent),
            why: "The agent and its servers share one /tmp, which no other user sees",
          }]),
          { key: "CollectMode", value: "inactive-or-failed", why: "Instances are short-lived" },
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          { key: "ExecStart", value: printCommand(serverCommand(manifest, context)) },
          { key: "StandardInput", value: "socket" },
          { key: "StandardOutput", value: "socket" },
          { key: "StandardError", value: "journal" },
          ...userEntries(manifest, context),
          ...viewEntries(manifest, context),
          ...environmentEntries(manifest, context),
          { key: "TimeoutStopSec", value: "5" },
          ...agentSliceEntries(context.agent),
          { key: "TasksMax", value: String(manifest.limits.tasksMax) },
          { key: "MemoryMax", value: String(manifest.limits.memoryBytesMax) },
          ...serverHardening({
            isShared: context.agent === undefined,
            isRoot: context.agent === undefined && manifest.runAs === "root",
            // Programs of a sandboxed server stay in its view, and build no further sandbox.
            startsPrograms: startsPrograms(manifest) && !isSandboxed(manifest),
            buildsView: buildsOwnView(manifest, context),
            usesNetwork: manifest.permissions.net.length > 0 ||
              manifest.source.kind === "builtin",
            writable: writableFolders(manifest, context).map(escapeSpecifiers),
            closed: closedFolders(manifest, context).map(escapeSpecifiers),
          }),
        ],
      },
    ],
  };
}

/** Returns the view of a sandboxed server without paths. */
function viewEntries(manifest: Manifest, context: ServerContext): readonly UnitEntry[] {
  if (!isSandboxed(manifest) || buildsOwnView(manifest, context)) return [];
  const { deploy, home, keepsHome } = sandboxView(manifest, context);
  // `fleetctl-checked` checks whether the whole MCP is held back, and may start `fleetctl-mcp`.
  const reads = [context.paths.gate(manifest.name), permissionsOf(context)];
  return sandboxEntries({ deploy, home, keepsHome, reads });
}

/** Returns the file with the permission sets of the unit's programs. */
function permissionsOf({ paths, agent }: ServerContext): string {
  return agent === undefined ? paths.permissions : paths.agentPermissions(agent);
}

function userEntries(manifest: Manifest, context: ServerContext): readonly UnitEntry[] {
  const home = escapeSpecifiers(serverHome(manifest, context));
  if (context.agent !== undefined) {
    return [
      { key: "User", value: context.agent },
      { key: "Group", value: context.agent },
      { key: "WorkingDirectory", value: home },
    ];
  }
  const cache: readonly UnitEntry[] = [
    { key: "CacheDirectory", value: `fleetctl/mcp-${manifest.name}` },
    { key: "CacheDirectoryMode", value: "0700" },
    { key: "WorkingDirectory", value: `-${home}` },
  ];
  if (manifest.runAs === "root") return cache;
  return [
    { key: "DynamicUser", value: "yes", why: "A temporary user that owns no files" },
    ...cache,
    ...(manifest.oauth === undefined ? [] : [{
      key: "LoadCredential",
      value: `${manifest.oauth.provider}-client.json:${
        escapeSpecifiers(context.paths.envDir)
      }/${manifest.oauth.provider}-client.json`,
      why: "Only group agents can read the file; the manager gives this service a copy",
    }]),
  ];
}

function environmentEntries(manifest: Manifest, context: ServerContext): readonly UnitEntry[] {
  const home = serverHome(manifest, context);
  const own = context.agent === undefined
    ? []
    : [{ key: "EnvironmentFile", value: escapeSpecifiers(context.paths.agentEnv(context.agent)) }];
  const shared = manifest.auth === "env"
    ? [{ key: "EnvironmentFile", value: escapeSpecifiers(context.paths.sharedEnv) }]
    : [];
  const fixed: readonly (readonly [string, string])[] = [
    ...Object.entries(manifest.environment).map(([name, value]) =>
      [name, expandPlaceholders(value, manifest, context)] as const
    ),
    // fleetctl's variables come last: a manifest cannot change the permission set or the program
    // folder.
    ["HOME", home],
    ["PATH", PROGRAM_PATH],
    ["DENO_DIR", denoCache(manifest, context)],
    ["DENO_NO_UPDATE_CHECK", "1"],
    NO_COLOR,
    ["FLEETCTL_ROOT", context.paths.root],
    ["FLEETCTL_PERMISSIONS", permissionsOf(context)],
    ...(context.agent === undefined ? [] : [["FLEETCTL_AGENT", context.agent] as const]),
  ];
  return [
    // Order matters: a later file wins, so the agent's own key overrides the shared one.
    ...shared,
    ...own,
    ...fixed.map(([name, value]) => ({
      key: "Environment",
      value: quoteAssignment(name, value),
    })),
  ];
}

/**
 * Returns the server's own cache of compiled code. Each server has its own, so that code which one
 * server writes is never run by another server, nor by the dial unit, which has the model's keys.
 */
function denoCache(manifest: Manifest, context: ServerContext): string {
  const home = serverHome(manifest, context);
  return context.agent === undefined
    ? `${home}/.cache/fleetctl/deno`
    : `${home}/.cache/fleetctl/mcp-${manifest.name}`;
}

/**
 * Returns the paths that the kernel closes: all of them for a server that starts programs, because
 * Deno does not confine those.
 */
function closedFolders(manifest: Manifest, context: ServerContext): readonly string[] {
  const { read, write } = manifest.permissions;
  // A view without paths contains no part of the home.
  if (isSandboxed(manifest) && !buildsOwnView(manifest, context)) return [];
  if (startsPrograms(manifest)) return context.closed;
  const granted = [...read, ...write].map((path) => expandPlaceholders(path, manifest, context));
  return closedWithin(context.closed, granted);
}

/**
 * Returns the folders that an agent's server may write to: its cache, and those of its manifest.
 */
export function writableFolders(manifest: Manifest, context: ServerContext): readonly string[] {
  return [
    ...manifest.permissions.write.map((path) => expandPlaceholders(path, manifest, context)),
    ...(context.agent === undefined || isSandboxed(manifest) ? [] : [denoCache(manifest, context)]),
  ];
}
