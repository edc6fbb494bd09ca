/**
 * Stamps of the client configs that a run has written, so that the next run need not read them.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import type { Paths } from "core/paths.ts";
import { type StampFiles, stampOf } from "units/reconcile/client_stamp.ts";
import type { Desired } from "units/reconcile/desired.ts";
import type { Executed } from "units/reconcile/execute.ts";
import type { Plan } from "units/reconcile/plan.ts";
import type { RecordedClient } from "units/reconcile/record.ts";

/** Returns the recorded clients, with stamps for those that this run has written. */
export async function stampWritten(
  files: StampFiles,
  of: {
    readonly paths: Paths;
    readonly planned: Plan;
    readonly executed: Executed;
    readonly desired: Desired;
  },
): Promise<readonly RecordedClient[]> {
  const { planned, executed, desired } = of;
  const written = new Map(
    planned.steps.flatMap((step) =>
      step.kind === "client" && !executed.failed.has(step.path) ? [[step.path, step.text]] : []
    ),
  );
  const held = desired.held.mcps;
  const configs = new Map(desired.clients.map((config) => [config.path, config]));
  return await Promise.all(planned.clients.map(async (client) => {
    const text = written.get(client.path);
    if (text === undefined) return client;
    const settled = await stampOf(files, configs.get(client.path), { held, paths: of.paths });
    // A different length shows that the owner has changed the file since the write.
    const length = byteLength(text);
    return settled?.split(":")[1] === String(length) ? { ...client, settled } : client;
  }));
}
