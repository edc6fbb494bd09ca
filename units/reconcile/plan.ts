/**
 * Desired × observed → ordered steps. Pure and level-based: only the current state counts, not
 * earlier intentions. A second plan after all steps is empty.
 *
 * Order: record future ownership · folders and files, units last · client configs · stop and remove
 * unwanted items · enable and disable · reload the service manager · start (see `plan_units.ts`).
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { Refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { DesiredFolder, TaggedFile } from "units/reconcile/desired_part.ts";
import { diffKeys, diffLines } from "units/reconcile/diff.ts";
import { findings } from "units/reconcile/findings.ts";
import { type Observed, ownerKey, unitOfPath } from "units/reconcile/observe.ts";
import { planClients } from "units/reconcile/plan_clients.ts";
import { planUnits, type UnitPlan } from "units/reconcile/plan_units.ts";
import type { RecordedClient, RecordedFile, RenderRecord } from "units/reconcile/record.ts";
import type { FileLine } from "units/reconcile/report.ts";
import { isLeft, type Scope } from "units/reconcile/scope.ts";
import type { Step } from "units/reconcile/step.ts";

/** Context of a plan besides the desired and the observed state. */
export interface PlanContext {
  readonly paths: Paths;
  readonly record: RenderRecord;
  readonly restartAgents: boolean;
  /** Whether new versions are not to wait for the end of turns. */
  readonly replaceNow: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly keepDaemon: boolean;
  readonly withDiffs: boolean;
  /** Undefined means the whole host. */
  readonly scope: Scope | undefined;
}

/** Ordered steps, with the data for the report and the record. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly files: readonly FileLine[];
  readonly faults: readonly Refusal[];
  /** Faults that the steps repair. */
  readonly found: readonly Refusal[];
  readonly units: UnitPlan;
  /** Files that fleetctl owns when every step has been executed. */
  readonly owned: readonly RecordedFile[];
  readonly clients: readonly RecordedClient[];
}

/** Plans everything. */
export function plan(desired: Desired, observed: Observed, context: PlanContext): Plan {
  const writes = planWrites(desired, observed, context);
  const removals = planRemovals(desired, observed, context);
  const clients = planClients(desired, observed, context);
  const created = new Set(
    writes.files.filter((file) => file.change === "created")
      .map((file) => unitOfPath(file.path, context.paths)).filter((name) => name !== undefined),
  );
  const units = planUnits(desired, observed, {
    ...context,
    created,
    unsettled: clients.unsettled,
    changedEntries: clients.changedEntries,
  });
  const isUnitFile = (step: Step) =>
    "path" in step && step.path.startsWith(`${context.paths.units}/`) && step.kind !== "folder";
  const changesUnits = [...writes.steps, ...removals.steps].some(isUnitFile) ||
    units.enabling.some((step) => step.kind !== "stop");
  const isReloadDue = changesUnits || context.record.isReloadDue;
  const owned = sorted([...desired.files.map(recordedFile), ...removals.kept]);
  const files = [...writes.files, ...clients.files, ...removals.files];
  const changes: readonly Step[] = [
    ...planFolders(desired.folders, observed),
    ...writes.steps,
    ...clients.steps,
    ...removals.steps,
  ];
  return {
    steps: [
      ...intent(context.record, { owned, clients: clients.recorded, isReloadDue, changes }),
      ...changes,
      ...units.enabling,
      ...(isReloadDue && observed.isManagerRunning ? [{ kind: "reload" } as const] : []),
      ...units.steps,
    ],
    files: files.sort((a, b) => a.path < b.path ? -1 : 1),
    faults: [...observed.faults, ...clients.faults],
    found: findings(desired, observed),
    units,
    owned,
    clients: clients.recorded,
  };
}

/** Records the union of previous and future ownership, before anything is written. */
function intent(
  record: RenderRecord,
  will: {
    readonly owned: readonly RecordedFile[];
    readonly clients: readonly RecordedClient[];
    readonly isReloadDue: boolean;
    readonly changes: readonly Step[];
  },
): readonly Step[] {
  if (will.changes.length === 0) return [];
  const files = sorted([...record.files, ...will.owned]);
  const clients = [
    ...record.clients.map((client) => ({
      ...client,
      names: [
        ...new Set([
          ...client.names,
          ...will.clients.find((each) => each.path === client.path)?.names ?? [],
        ]),
      ].sort(),
    })),
    ...will.clients.filter((each) => !record.clients.some((client) => client.path === each.path)),
  ];
  return [{
    kind: "record",
    record: { ...record, files, clients, isReloadDue: will.isReloadDue },
  }];
}

function recordedFile({ file, agent, mcp }: TaggedFile): RecordedFile {
  return {
    path: file.path,
    ...defined({ agent, mcp }),
  };
}

/** One entry per path, sorted by path; the last one counts. */
function sorted(files: readonly RecordedFile[]): readonly RecordedFile[] {
  return [...new Map(files.map((file) => [file.path, file])).values()]
    .sort((a, b) => a.path < b.path ? -1 : 1);
}

function planFolders(folders: readonly DesiredFolder[], observed: Observed): readonly Step[] {
  return folders.flatMap((folder): readonly Step[] => {
    const owner = observed.owners.get(ownerKey(folder.owner));
    const step = { kind: "folder", path: folder.path, mode: folder.mode, owner } as const;
    if (folder.home !== undefined) {
      const mode = observed.homeFolders.get(folder.path);
      return mode === folder.mode || (folder.keepsMode === true && mode !== undefined)
        ? []
        : [{ ...step, home: folder.home }];
    }
    const entry = observed.entries.get(folder.path);
    if (entry?.kind === "directory" && folder.keepsMode === true) return [];
    const isSame = entry?.kind === "directory" && entry.mode === folder.mode &&
      (owner === undefined || (entry.uid === owner.uid && entry.gid === owner.gid));
    return isSame ? [] : [step];
  });
}

function planWrites(
  desired: Desired,
  observed: Observed,
  context: PlanContext,
): { readonly steps: readonly Step[]; readonly files: readonly FileLine[] } {
  const steps: Step[] = [];
  const files: FileLine[] = [];
  const isUnit = (path: string) => path.startsWith(`${context.paths.units}/`);
  const ordered = [...desired.files].sort((a, b) =>
    Number(isUnit(a.file.path)) - Number(isUnit(b.file.path))
  );
  for (const { file } of ordered) {
    const entry = observed.entries.get(file.path);
    const owner = observed.owners.get(ownerKey(file.owner));
    const isSame = entry?.kind === "file" && entry.text === file.content &&
      entry.mode === file.mode &&
      (owner === undefined || (entry.uid === owner.uid && entry.gid === owner.gid));
    const change = isSame ? "unchanged" : entry === undefined ? "created" : "updated";
    if (!isSame) {
      const { path, content: text, mode } = file;
      steps.push({ kind: "write", path, text, mode, owner });
    }
    const compare = file.secret ? diffKeys : diffLines;
    files.push({
      path: file.path,
      change,
      ...(context.withDiffs && !isSame ? { diff: compare(entry?.text ?? "", file.content) } : {}),
    });
  }
  return { steps, files };
}

interface Removals {
  readonly steps: readonly Step[];
  readonly files: readonly FileLine[];
  /** Recorded files that are no longer desired but are held. */
  readonly kept: readonly RecordedFile[];
}

function planRemovals(desired: Desired, observed: Observed, context: PlanContext): Removals {
  const wanted = new Set(desired.files.map((tagged) => tagged.file.path));
  const { agents, mcps, paths: heldPaths } = desired.held;
  const isHeld = (file: RecordedFile) =>
    isLeft(context.scope, file) || heldPaths.has(file.path) ||
    (agents as ReadonlySet<string>).has(file.agent ?? "") ||
    (mcps as ReadonlySet<string>).has(file.mcp ?? "");
  const unwanted = context.record.files.filter((file) => !wanted.has(file.path));
  const kept = unwanted.filter(isHeld);
  const gone = unwanted.filter((file) =>
    !isHeld(file) && isOwn(file.path, context.paths) && observed.entries.has(file.path)
  );
  const units = gone.flatMap((file) => unitOfPath(file.path, context.paths) ?? [])
    .filter((unit) => observed.isManagerRunning && observed.units.get(unit)?.load === "loaded");
  return {
    steps: [
      // A socket stops before its servers, so that none starts during the removal.
      ...units.map((unit) => ({ kind: "stop", unit }) as const),
      ...units.map((unit) => ({ kind: "disable", unit }) as const),
      ...gone.map((file) => ({ kind: "remove", path: file.path }) as const),
    ],
    files: gone.map((file) => ({ path: file.path, change: "removed" as const })),
    kept,
  };
}

/** The record is fleetctl's own file, but its paths are trusted only where fleetctl writes. */
function isOwn(path: string, paths: Paths): boolean {
  const own = [paths.units, paths.etc, paths.permissionsDir];
  const isBelow = [...own, ...(paths.root === "/" ? [] : [paths.lib])].some((folder) =>
    path.startsWith(`${folder}/`)
  );
  return isBelow && !path.split("/").includes("..");
}
