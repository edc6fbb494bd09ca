/**
 * Shared by `webview-gateway remove`, `teams-gateway remove` and `webview-login remove`. The role
 * is deleted from `roles.yaml`, and the marker that names this host from `host.yaml`. The reconcile
 * then removes units and rendered files.
 *
 * The role's state is kept and named in the report, unless its deletion is requested. Running the
 * verb again finishes an interrupted one.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { refusalOfFault } from "cli/exit.ts";
import type { VerbReport } from "cli/output.ts";
import { planReport, readFacts, reconcileFacts, underVerbLock } from "cli/planner.ts";
import { type Refusal, refusal } from "core/errors.ts";
import {
  dropHostRole,
  type HostRoles,
  parseHostRoles,
  type RoleSection,
} from "core/ledger/host_roles.ts";
import {
  editMarkers,
  type HostMarkers,
  isGatewayHost,
  type Marker,
  parseMarkers,
} from "core/ledger/markers.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of these verbs. */
export interface Options {
  readonly isStateDeleted: boolean;
  readonly isDespiteWaiting: boolean;
  readonly isDryRun: boolean;
}

/** What removing needs to know about a role. */
export interface RemovableRole {
  readonly section: RoleSection;
  /** First word of the role's verbs. */
  readonly command: string;
  /** The role's name in a sentence. */
  readonly noun: string;
  readonly marker?: Marker;
  readonly units: readonly string[];
  /** Files and folders that a later install reuses. */
  readonly state: readonly string[];
  /** Their content, in words for people. */
  readonly holds: string;
  /** Returns why the role cannot be removed now, based on its state. */
  readonly refusal: (roles: HostRoles) => Promise<Refusal | undefined>;
}

/** Parses the options. Without `--yes` no state is deleted. */
export function parseRemoval({ switches, verb }: Invocation): Result<Options> {
  const isStateDeleted = switches.has("delete-state");
  const isDryRun = switches.has("dry-run");
  if (isStateDeleted && !isDryRun && !switches.has("yes")) {
    const name = verb.path.join(" ");
    return err(refusal("not-confirmed", `Cannot run "${name}": must be confirmed with --yes`, {
      kind: "usage",
      hints: [`fleetctl ${name} --help`],
    }));
  }
  return ok({ isStateDeleted, isDespiteWaiting: switches.has("despite-waiting"), isDryRun });
}

/** Removes the role, or continues an interrupted removal. */
export async function removeRole(
  context: VerbContext,
  role: RemovableRole,
  options: Options,
): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const edits = await editFiles(context, role);
    if (!edits.ok) return edits;
    const { roles, markers, texts, before } = edits.value;
    // If the role is not installed and its state is kept, what waits in the state is not lost.
    const isAtStake = before[role.section] !== undefined || options.isStateDeleted;
    const waits = isAtStake ? await role.refusal(before) : undefined;
    if (waits !== undefined) return err(waits);
    const gathered = await readFacts(context, { roles, markers });
    if (!gathered.ok) return gathered;
    if (!options.isDryRun) {
      for (const { path, text } of texts) {
        await context.ports.files.write(path, text, { mode: 0o644 });
      }
    }
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: options.isDryRun,
      restartAgents: false,
    });
    if (!report.ok) return report;
    const isChanged = texts.length > 0;
    const left = await stateThere(context, role);
    if (options.isStateDeleted && !options.isDryRun) {
      const deleted = await deleteState(context, role, left);
      if (!deleted.ok) return deleted;
    }
    return ok(planReport(report.value, gathered.value, {
      json: {
        state: options.isDryRun ? "planned" : "removed",
        changed: isChanged,
        kept: options.isStateDeleted ? [] : left,
        deleted: options.isStateDeleted ? left : [],
      },
      last: closingLines(context, role, { options, isChanged, left }),
    }));
  });
}

interface FileEdits {
  readonly before: HostRoles;
  readonly roles: HostRoles;
  readonly markers: HostMarkers;
  /** Files to change, the roles first, so that the next run can finish an interrupted reconcile. */
  readonly texts: readonly { readonly path: string; readonly text: string }[];
}

async function editFiles(
  { ports: { files, hostname }, paths }: VerbContext,
  { section, marker }: RemovableRole,
): Promise<Result<FileEdits>> {
  const rolesText = await files.readText(paths.rolesFile);
  const before = parseHostRoles(rolesText, paths.rolesFile);
  if (!before.ok) return before;
  const dropped = dropHostRole(rolesText, section, paths.rolesFile);
  if (!dropped.ok) return dropped;
  const roles = parseHostRoles(dropped.value, paths.rolesFile);
  if (!roles.ok) return roles;
  const hostText = await files.readText(paths.hostFile);
  const named = parseMarkers(hostText, paths.hostFile);
  if (!named.ok) return named;
  const host = marker === "webview_gateway" ? named.value.webviewGateway : named.value.teamsGateway;
  const isOwn = marker !== undefined && host !== undefined && isGatewayHost(host, hostname);
  const unmarked = isOwn
    ? editMarkers(hostText, { [marker]: undefined }, paths.hostFile)
    : ok(hostText ?? "");
  if (!unmarked.ok) return unmarked;
  const markers = parseMarkers(unmarked.value, paths.hostFile);
  if (!markers.ok) return markers;
  const texts = [
    { path: paths.rolesFile, text: dropped.value, old: rolesText },
    { path: paths.hostFile, text: unmarked.value, old: hostText },
  ].filter(({ text, old }) => text !== (old ?? ""));
  return ok({ before: before.value, roles: roles.value, markers: markers.value, texts });
}

async function stateThere(
  { ports }: VerbContext,
  { state }: RemovableRole,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of state) if (await ports.files.stat(path) !== undefined) found.push(path);
  return found;
}

/** Deletes the state only after no process of the role has it open. */
async function deleteState(
  { ports, paths }: VerbContext,
  { command, noun, units }: RemovableRole,
  left: readonly string[],
): Promise<Result<void>> {
  const services = ports.services(paths);
  const up = await services.isRunning()
    ? (await services.status(units)).filter(({ active }) =>
      !["inactive", "failed"].includes(active)
    )
    : [];
  const [unit] = up;
  if (unit !== undefined) {
    return err(refusal(
      "role-still-runs",
      `Cannot delete the state of ${noun}: ${unit.unit} is ${unit.active}, must be stopped`,
      { hints: [`fleetctl ${command} remove --delete-state --yes`] },
    ));
  }
  try {
    for (const path of left) await ports.files.remove(path, { recursive: true });
    return ok(undefined);
  } catch (thrown) {
    return err(refusalOfFault(thrown, `delete what ${noun} keeps`));
  }
}

function closingLines(
  { ports: { hostname } }: VerbContext,
  { command, noun, marker, holds }: RemovableRole,
  done: {
    readonly options: Options;
    readonly isChanged: boolean;
    readonly left: readonly string[];
  },
): readonly string[] {
  const { options: { isDryRun, isStateDeleted }, isChanged, left } = done;
  const on = `host "${hostname}"`;
  const would = isDryRun ? "would be" : "is";
  const what = isChanged
    ? `${noun} ${would} removed from ${on}`
    : `unchanged  ${noun} is not installed on ${on}`;
  const state = left.map((path) =>
    isStateDeleted ? `deleted  ${path} (${holds})` : `kept  ${path} (${holds})`
  );
  return [
    what,
    ...(isDryRun && isStateDeleted ? state.map((line) => `would be ${line}`) : state),
    ...(isStateDeleted || left.length === 0 ? [] : [
      `a later "fleetctl ${command} install" uses it again; to delete it for good:`,
      `  fleetctl ${command} remove --delete-state`,
    ]),
    ...(marker === undefined || !isChanged
      ? []
      : [`hosts whose marker names this one need another: fleetctl host set ${marker} <host>`]),
  ];
}
