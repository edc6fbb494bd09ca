/**
 * The states of agents on this host, from the service manager and from files that their dial units
 * write. Reads only. The agent controls those files, so reads are bounded and their content counts
 * only as a statement about that agent.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { readHomeTexts } from "cli/home_text.ts";
import type { Cell, Tone } from "cli/output.ts";
import {
  type HostState,
  parseReportedState,
  type ReportedState,
  STATE_FILE,
  STATE_FILE_BYTES_MAX,
  stateOnHost,
} from "core/dial/host_state.ts";
import type { AgentState } from "core/dial/event.ts";
import type { AgentRecord } from "core/ledger/agent.ts";
import type { AgentName } from "core/names.ts";
import { dialUnit } from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

const TONES: Readonly<Record<AgentState, Tone>> = {
  "idle": "good",
  "working": "good",
  "starting": "warn",
  "stopping": "warn",
  "waiting-approval": "warn",
  "stopped": "dim",
  "failed": "bad",
};

/** Returns the state of each agent that runs on this host. */
export async function agentStates(
  context: VerbContext,
  agents: readonly AgentRecord[],
): Promise<ReadonlyMap<AgentName, HostState>> {
  const { ports, paths } = context;
  const services = ports.services(paths);
  const isManaged = agents.length > 0 && await services.isRunning();
  const units = isManaged ? await services.status(agents.map((agent) => dialUnit(agent.name))) : [];
  const byUnit = new Map<string, UnitStatus>(units.map((unit) => [unit.unit, unit]));
  const active = agents.map(({ name }) => name)
    .filter((name) => byUnit.get(dialUnit(name))?.active === "active");
  const reported = await readReported(context, active);
  return new Map(agents.map(({ name, stopped }) => {
    const unit = byUnit.get(dialUnit(name));
    const of = { stopped, unit, reported: reported.get(name), now: ports.clock.now() };
    return [name, stateOnHost(of)] as const;
  }));
}

async function readReported(
  context: VerbContext,
  agents: readonly AgentName[],
): Promise<ReadonlyMap<AgentName, ReportedState | undefined>> {
  const texts = await readHomeTexts(
    context,
    agents.map((agent) => ({
      agent,
      path: `${context.paths.dialState(agent)}/${STATE_FILE}`,
      bytesMax: STATE_FILE_BYTES_MAX,
    })),
  );
  return new Map(agents.map((agent, at) => {
    const text = texts[at];
    return [agent, text === undefined ? undefined : parseReportedState(text)] as const;
  }));
}

/** Returns a state as a cell of a table: `failed (exit-code 1)`. */
export function stateCell({ state, reason }: HostState): Cell {
  return { text: reason === undefined ? state : `${state} (${reason})`, tone: TONES[state] };
}

/** Returns the time since which a state holds, for people. */
export function sinceText({ sinceMs }: HostState): string {
  return sinceMs === undefined ? "" : new Date(sinceMs).toISOString().replace(/\.\d+Z$/, "Z");
}

/** Returns a state as `--json` prints it. */
export function stateJson({ state, reason, sinceMs }: HostState) {
  return {
    state,
    reason: reason ?? null,
    since: sinceMs === undefined ? null : new Date(sinceMs).toISOString(),
  };
}
