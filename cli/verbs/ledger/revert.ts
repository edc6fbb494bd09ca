/**
 * `fleetctl ledger revert`: reverts one change of the ledger with a new commit. Refused when it
 * conflicts with a later change or touches secrets. Also refused when afterwards a shard or catalog
 * entry would be invalid, two agents would have one owner, or an agent would request a missing MCP.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, underVerbLock } from "cli/planner.ts";
import { readCatalog } from "core/catalog/catalog.ts";
import { refusal } from "core/errors.ts";
import { readLedger } from "core/ledger/ledger.ts";
import { type FileReader, overlaid } from "core/ledger/overlay.ts";
import { revertChange } from "core/ledger/revert.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** The change to revert. */
export interface Options {
  readonly commit: string;
}

/** Parses the id. It is resolved later, under the lock. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ commit: args.commit ?? "" });
}

/** Reverts the change. */
export async function run(context: VerbContext, { commit }: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const done = await revertChange(ports, paths, {
      commit,
      ...authorOf(context, "ledger revert"),
      accept: async (computed) => {
        const before = await readFaults(ports.files, context);
        const after = await readFaults(overlaid(ports.files, computed), context);
        if (!before.ok) return before;
        if (!after.ok) return after;
        const added = after.value.filter((line) => !before.value.includes(line));
        return added.length === 0 ? ok(undefined) : err(invalid(commit, added));
      },
    });
    if (!done.ok) return done;
    const { reverted, subject, changed } = done.value;
    const json = { reverted, subject, commit: done.value.commit, changed };
    if (changed.length === 0) {
      return ok(linesReport(json, [`unchanged  ${subject}: it is already reverted`]));
    }
    return ok(linesReport(json, [
      `reverted  ${subject}`,
      ...changed.map((file) => `updated  ${file}`),
      "apply it to this host with:",
      "  fleetctl apply",
    ]));
  });
}

/** Returns all faults of a ledger and its catalog, one line each. */
async function readFaults(
  files: FileReader,
  { paths }: VerbContext,
): Promise<Result<readonly string[]>> {
  const ledger = await readLedger(files, paths);
  if (!ledger.ok) return ledger;
  const catalog = await readCatalog({ files }, paths);
  if (!catalog.ok) return catalog;
  const faults = [...ledger.value.faults, ...catalog.value.faults.map((fault) => fault.refusal)];
  const missing = [...ledger.value.agents.values()].flatMap(({ name, tools }) =>
    tools.add.filter((mcp) => !catalog.value.entries.has(mcp)).map((mcp) =>
      `agents.d/${name}.yaml: tools.add: "${mcp}" is not in the catalog`
    )
  );
  return ok([
    ...faults.flatMap(({ message, details }) => details.length === 0 ? [message] : details),
    ...missing,
  ]);
}

function invalid(commit: string, details: readonly string[]) {
  return refusal(
    "revert-invalid",
    `Cannot revert "${commit}": the resulting ledger would be invalid; nothing was changed`,
    { details, hints: ["fleetctl ledger log"] },
  );
}
