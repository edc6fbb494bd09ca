/**
 * Changes one key of `host.yaml` under the verb lock: reads, edits, writes the whole file and
 * reports.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { editMarkers, type Marker, type MarkerEdit } from "core/ledger/markers.ts";
import { ok, type Result } from "core/result.ts";

/** The keys of `host.yaml` that a verb can change. */
export type HostSetting = Marker | "dial_require_key";

/** Sets a marker or the switch to a checked value, or removes it. */
export async function changeMarker(
  context: VerbContext,
  marker: HostSetting,
  value: string | boolean | undefined,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const text = await ports.files.readText(paths.hostFile);
    const edit: MarkerEdit = { [marker]: value };
    const edited = editMarkers(text, edit, paths.hostFile);
    if (!edited.ok) return edited;
    const isChanged = edited.value !== (text ?? "");
    if (isChanged) {
      await ports.files.ensureDir(paths.etc);
      await ports.files.write(paths.hostFile, edited.value, { mode: 0o644 });
    }
    const what = value === undefined ? `host.${marker}` : `host.${marker} to ${value}`;
    const did = value === undefined ? "unset" : "set";
    return ok(linesReport(
      { marker, value: value ?? null, changed: isChanged },
      isChanged
        ? [`${did}  ${what}`, "apply it to this host with:", "  fleetctl apply"]
        : [`unchanged  ${what}`],
    ));
  });
}
