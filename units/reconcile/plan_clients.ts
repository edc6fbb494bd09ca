/**
 * Edits of the agents' client configs: the desired ones, and those that still contain fleetctl's
 * entries but are no longer desired. Pure. Each refused edit is a separate fault.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { AgentName } from "core/names.ts";
import type { Desired } from "units/reconcile/desired.ts";
import { diffNames } from "units/reconcile/diff.ts";
import type { Observed, ObservedClient } from "units/reconcile/observe.ts";
import type { RecordedClient, RenderRecord } from "units/reconcile/record.ts";
import type { FileLine } from "units/reconcile/report.ts";
import { isOutside, type Scope } from "units/reconcile/scope.ts";
import type { Step } from "units/reconcile/step.ts";
import { type ClientConfig, editClientConfig } from "units/render/client_config.ts";
import { readJsonObject } from "units/render/json_edit.ts";

/** Steps and report lines for client configs. */
export interface ClientPlan {
  readonly steps: readonly Extract<Step, { kind: "client" }>[];
  readonly files: readonly FileLine[];
  readonly faults: readonly Refusal[];
  readonly recorded: readonly RecordedClient[];
  /** Agents whose edits were refused. */
  readonly unsettled: ReadonlySet<AgentName>;
  /** Names of the changed entries, by agent: a running agent has not read them. */
  readonly changedEntries: ReadonlyMap<AgentName, readonly string[]>;
}

const CLIENT_MODE = 0o600;

/** Context of the edits. */
interface ClientContext {
  readonly record: RenderRecord;
  readonly withDiffs: boolean;
  readonly scope: Scope | undefined;
}

/** Results collected while planning. */
interface Gathered extends ClientPlan {
  readonly steps: Extract<Step, { kind: "client" }>[];
  readonly files: FileLine[];
  readonly faults: Refusal[];
  readonly recorded: RecordedClient[];
  readonly unsettled: Set<AgentName>;
  readonly changedEntries: Map<AgentName, readonly string[]>;
}

/** Plans the edits. */
export function planClients(
  desired: Desired,
  observed: Observed,
  context: ClientContext,
): ClientPlan {
  const gathered: Gathered = {
    steps: [],
    files: [],
    faults: [],
    recorded: [],
    unsettled: new Set(),
    changedEntries: new Map(),
  };
  const { recorded, files, unsettled } = gathered;
  const wanted = new Set(desired.clients.map((config) => config.path));
  const recordedByPath = new Map(context.record.clients.map((client) => [client.path, client]));
  const abandoned = context.record.clients.filter((client) => !wanted.has(client.path));
  for (const config of [...desired.clients, ...abandoned.map(emptied)]) {
    const before = recordedByPath.get(config.path);
    const now = observed.clients.get(config.path);
    const isHeld = desired.held.agents.has(config.agent) || observed.unreadable.has(config.path) ||
      isOutside(context.scope, { agent: config.agent });
    // A home that cannot be read (for example, the account is gone) is not edited.
    if (observed.unreadable.has(config.path)) unsettled.add(config.agent);
    if (isHeld || (now === undefined && !wanted.has(config.path))) {
      if (isHeld && before !== undefined) recorded.push(before);
      continue;
    }
    if (now?.isSettled === true && before !== undefined) {
      recorded.push(before);
      files.push({ path: config.path, change: "unchanged" });
      continue;
    }
    planEdit(gathered, { config, before, now, held: desired.held.mcps }, context.withDiffs);
  }
  return gathered;
}

/** Plans the edit of one config. `before` is its record, `now` its current state. */
function planEdit(
  { steps, files, faults, recorded, unsettled, changedEntries }: Gathered,
  { config, before, now, held }: {
    readonly config: ClientConfig;
    readonly before: RecordedClient | undefined;
    readonly now: ObservedClient | undefined;
    readonly held: ReadonlySet<string>;
  },
  withDiffs: boolean,
): void {
  const edited = editClientConfig(now?.text, config, { recorded: new Set(before?.names), held });
  if (!edited.ok) {
    faults.push(edited.error);
    unsettled.add(config.agent);
    if (before !== undefined) recorded.push(before);
    return;
  }
  const keptNames = (before?.names ?? []).filter((name) => held.has(name));
  const names = [...new Set([...keptNames, ...config.entries.keys()])].sort();
  const isSame = edited.value === now?.text && now.mode === CLIENT_MODE;
  const settled = isSame && now.stamp !== undefined ? { settled: now.stamp } : {};
  if (names.length > 0) recorded.push({ ...locationOf(config), names, ...settled });
  // Do not create a file that would contain no entries.
  if (now?.text === undefined && config.entries.size === 0) return;
  const changed = isSame
    ? []
    : diffNames(entriesOf(now?.text, config), entriesOf(edited.value, config));
  if (!isSame) {
    changedEntries.set(config.agent, changed.map((line) => line.slice(1)));
    steps.push({
      kind: "client",
      path: config.path,
      text: edited.value,
      mode: CLIENT_MODE,
      agent: config.agent,
    });
  }
  files.push({
    path: config.path,
    change: isSame ? "unchanged" : now?.text === undefined ? "created" : "updated",
    ...(withDiffs && !isSame ? { diff: changed } : {}),
  });
}

function emptied(client: RecordedClient): ClientConfig {
  return { ...client, agent: client.agent as AgentName, entries: new Map() };
}

function locationOf(config: ClientConfig): Omit<RecordedClient, "names"> {
  return { path: config.path, agent: config.agent, shape: config.shape, at: config.at };
}

function entriesOf(text: string | undefined, config: ClientConfig): ReadonlyMap<string, string> {
  const entries = readJsonObject(text, config.at);
  if (!entries.ok) return new Map();
  return new Map(
    Object.entries(entries.value).map(([name, entry]) => [name, JSON.stringify(entry)]),
  );
}
