/**
 * The record after a run: what fleetctl owns, and the inputs that each unit runs with. A unit or
 * client config whose step failed keeps its previous record, so that the next run tries again.
 * Pure.
 *
 * @module
 */

import type { Executed } from "units/reconcile/execute.ts";
import type { Plan } from "units/reconcile/plan.ts";
import type { RecordedClient, RenderRecord } from "units/reconcile/record.ts";
import { dialUnit } from "units/render/unit_name.ts";

/** Returns the record after a run. */
export function finalRecord(planned: Plan, executed: Executed, before: RenderRecord): RenderRecord {
  const units = { ...Object.fromEntries(planned.units.recorded) };
  // A dial unit is not current if its client config could not be written.
  const failed = new Set([
    ...executed.failed,
    ...planned.clients.filter((client) => executed.failed.has(client.path))
      .map((client) => dialUnit(client.agent)),
  ]);
  const owned = new Set(planned.owned.map((file) => file.path.split("/").at(-1)));
  for (const [name, unit] of Object.entries(before.units)) {
    const isKept = failed.has(name) || (units[name] === undefined && owned.has(name));
    if (isKept) units[name] = unit;
  }
  for (const name of failed) {
    if (before.units[name] === undefined) delete units[name];
  }
  // A failed start may leave a process that never becomes ready, or becomes ready later.
  for (const name of executed.failed) {
    const unit = before.units[name] ?? planned.units.recorded.get(name);
    if (unit !== undefined && planned.units.recorded.has(name)) {
      units[name] = { ...unit, unready: true };
    }
  }
  // The run did not wait for the readiness of these units: the next run checks it.
  for (const name of executed.late) {
    const unit = planned.units.recorded.get(name);
    if (unit !== undefined) units[name] = { ...unit, unready: true };
  }
  for (const name of executed.busy) {
    const unit = planned.units.ifBusy.get(name)?.recorded;
    if (unit !== undefined) units[name] = unit;
  }
  const unremoved = before.files.filter((file) =>
    executed.failed.has(file.path.split("/").at(-1) ?? "")
  );
  const files = [...new Map([...planned.owned, ...unremoved].map((file) => [file.path, file]))]
    .map(([, file]) => file);
  const isReloaded = planned.steps.some((step) => step.kind === "reload");
  const wasDue = planned.steps.some((step) => step.kind === "record" && step.record.isReloadDue);
  return {
    files,
    clients: clientsOf(planned, executed, before),
    units,
    isReloadDue: !isReloaded && (wasDue || before.isReloadDue),
  };
}

/** A failed edit leaves the previous entries, which fleetctl still owns. */
function clientsOf(
  planned: Plan,
  executed: Executed,
  before: RenderRecord,
): readonly RecordedClient[] {
  const failed = before.clients.filter((client) => executed.failed.has(client.path));
  const kept = failed.filter((client) =>
    !planned.clients.some((other) => other.path === client.path)
  );
  return [
    ...planned.clients.map((client) => {
      const names = failed.find((other) => other.path === client.path)?.names ?? [];
      return { ...client, names: [...new Set([...client.names, ...names])].sort() };
    }),
    ...kept,
  ];
}
