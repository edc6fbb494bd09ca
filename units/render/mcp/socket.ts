/**
 * The socket unit of one MCP: the kernel's file modes decide who may reach its server.
 * No I/O.
 *
 * | sharing  | path                        | mode | owner         |
 * |----------|-----------------------------|------|---------------|
 * | per_user | `/run/mcp/<name>-<agent>.sock` | 0600 | the agent     |
 * | shared   | `/run/mcp/<name>.sock`         | 0660 | group `agents` |
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Unit, UnitEntry } from "core/text/unit_file.ts";
import { escapeSpecifiers } from "units/render/exec_line.ts";
import { mcpSocketUnit } from "units/render/unit_name.ts";

/** Group of every agent on a host. */
export const AGENTS_GROUP = "agents";

/** Returns the socket path of an MCP's server; `agent` is undefined for a shared one. */
export function mcpSocketPath(paths: Paths, mcp: string, agent: AgentName | undefined): string {
  return agent === undefined ? paths.sharedMcpSocket(mcp) : paths.agentMcpSocket(mcp, agent);
}

/** Renders the socket unit; `agent` is undefined for a shared MCP. */
export function renderMcpSocket(
  manifest: Manifest,
  agent: AgentName | undefined,
  paths: Paths,
): Unit {
  const owner: readonly UnitEntry[] = agent === undefined
    ? [
      { key: "SocketUser", value: "root" },
      { key: "SocketGroup", value: AGENTS_GROUP },
      { key: "SocketMode", value: "0660", why: "Every agent of the host may connect" },
    ]
    : [
      { key: "SocketUser", value: agent },
      { key: "SocketGroup", value: agent },
      { key: "SocketMode", value: "0600", why: "Only this agent may connect" },
    ];
  const whose = agent === undefined ? "for all agents" : `of agent ${agent}`;
  return {
    name: mcpSocketUnit(manifest.name, agent),
    sections: [
      { name: "Unit", entries: [{ key: "Description", value: `MCP ${manifest.name} ${whose}` }] },
      {
        name: "Socket",
        entries: [
          {
            key: "ListenStream",
            value: escapeSpecifiers(mcpSocketPath(paths, manifest.name, agent)),
          },
          ...owner,
          { key: "DirectoryMode", value: "0755" },
          { key: "Accept", value: "yes", why: "One server per connection, started on connect" },
          { key: "MaxConnections", value: String(MCP_LIMITS.connectionsMax) },
          {
            key: "TriggerLimitIntervalSec",
            value: "0",
            why: "A burst of connections must not disable the socket for all clients",
          },
          { key: "RemoveOnStop", value: "yes", why: "No socket file without a listener" },
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "sockets.target" }] },
    ],
  };
}
