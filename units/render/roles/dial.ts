/**
 * The dial unit of one agent. It keeps the agent's session with the gateway and supervises its
 * runtime, as the agent's own user. No I/O.
 *
 * @module
 */

import type { AgentRecord } from "core/ledger/agent.ts";
import { askSecondsOf } from "core/ledger/ask_time.ts";
import type { Paths } from "core/paths.ts";
import type { Unit } from "core/text/unit_file.ts";
import { quoteAssignment } from "core/text/quote.ts";
import { escapeSpecifiers, printCommand } from "units/render/exec_line.ts";
import { agentHardening } from "units/render/hardening.ts";
import { PROGRAM_PATH } from "units/render/mcp/service.ts";
import { NEVER_GIVE_UP, READY_LOG, RESTART_ALWAYS } from "units/render/roles/common_entries.ts";
import { agentSliceEntries } from "units/render/slices.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** Input of a dial unit. */
export interface DialContext {
  readonly paths: Paths;
  readonly registerUrl: string;
  /** Folder in which the runtime works. */
  readonly workspace: string;
  /** Folder that the owner means by "this project"; the workspace when absent. */
  readonly project?: string;
  /** Further non-secret settings of this agent's runtime. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Renders `fleetctl-dial-<agent>.service`. */
export function renderDial(agent: AgentRecord, context: DialContext): Unit {
  const { paths } = context;
  const home = paths.home(agent.name);
  const variables = variablesOf(agent, context);
  return {
    name: dialUnit(agent.name),
    sections: [
      {
        name: "Unit",
        entries: [
          { key: "Description", value: `fleetctl dial unit and runtime of agent ${agent.name}` },
          { key: "Wants", value: "network-online.target" },
          { key: "After", value: "network-online.target" },
          NEVER_GIVE_UP,
        ],
      },
      {
        name: "Service",
        entries: [
          { key: "Type", value: "exec" },
          READY_LOG,
          { key: "ExecStart", value: printCommand([paths.program("fleetctl-dial")]) },
          { key: "User", value: agent.name },
          { key: "Group", value: agent.name },
          { key: "WorkingDirectory", value: escapeSpecifiers(home) },
          ...RESTART_ALWAYS,
          // The later file wins: the agent's own key overrides the shared one.
          { key: "EnvironmentFile", value: escapeSpecifiers(paths.sharedEnv) },
          { key: "EnvironmentFile", value: escapeSpecifiers(paths.agentEnv(agent.name)) },
          ...variables.flatMap(([name, value]) =>
            value === undefined ? [] : [{ key: "Environment", value: quoteAssignment(name, value) }]
          ),
          { key: "TimeoutStopSec", value: "20" },
          {
            key: "OOMPolicy",
            value: "continue",
            why: "A tool that runs out of memory must not end the agent",
          },
          ...agentSliceEntries(agent.name),
          ...agentHardening({ buildsSandbox: agent.sandbox === "on" }),
        ],
      },
      { name: "Install", entries: [{ key: "WantedBy", value: "multi-user.target" }] },
    ],
  };
}

/** The environment of the unit; a variable without a value is not set. */
function variablesOf(
  agent: AgentRecord,
  context: DialContext,
): readonly (readonly [string, string | undefined])[] {
  const { paths } = context;
  const home = paths.home(agent.name);
  return [
    ["FLEETCTL_ROOT", paths.root],
    ["FLEETCTL_AGENT", agent.name],
    ["FLEETCTL_RUNTIME", agent.runtime],
    ["FLEETCTL_PROVIDER", agent.provider],
    ["FLEETCTL_MODEL", agent.model],
    ["FLEETCTL_WORKSPACE", context.workspace],
    ["FLEETCTL_PROJECT", context.project],
    ["FLEETCTL_ASK", agent.ask],
    ["FLEETCTL_ASK_SECONDS", askSecondsOf(agent.askTime ?? "")?.toString()],
    ["FLEETCTL_WORKTREES", agent.worktrees],
    ["FLEETCTL_SETUP", agent.setup],
    ...(agent.sandbox === "on"
      ? [
        ["FLEETCTL_SANDBOX", context.workspace] as const,
        ["FLEETCTL_SANDBOX_NETWORK", agent.sandboxNetwork] as const,
      ]
      : []),
    ["FLEETCTL_PERSONA", agent.persona],
    ["FLEETCTL_PERMISSIONS", paths.agentPermissions(agent.name)],
    ["HOME", home],
    ["PATH", PROGRAM_PATH],
    ["DENO_DIR", `${home}/.cache/fleetctl/deno`],
    ...Object.entries(context.settings),
  ];
}
