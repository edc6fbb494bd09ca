/**
 * `fleetctl secret rewrap`: encrypts the secret store to every recipient that the ledger lists.
 * Only a host that can read the store can do this. Being listed is not enough to read the store.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { linesReport, type VerbReport } from "cli/output.ts";
import { authorOf, underVerbLock } from "cli/planner.ts";
import { ok, type Result } from "core/result.ts";
import { parseRecipients, type Recipient } from "core/secrets/recipients.ts";
import { rewrapSecrets } from "core/secrets/store.ts";

/** The verb has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(): Result<Options> {
  return ok({});
}

/** Encrypts the store again, or reports that its readers already match the list. */
export async function run(context: VerbContext): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const plan = await rewrapSecrets(ports, paths, authorOf(context, "secret rewrap"));
    if (!plan.ok) return plan;
    const { added, removed } = plan.value;
    const text = await ports.files.readText(paths.recipientsFile);
    const listed = parseRecipients(text, paths.recipientsFile);
    if (!listed.ok) return listed;
    const lines = [
      ...added.map((each) => `added    ${each} ${labelOf(listed.value, each)}`),
      ...removed.map((each) => `removed  ${each}`),
    ];
    return ok(linesReport(
      { added, removed },
      lines.length > 0 ? lines : ["unchanged  the readers are those of the ledger"],
    ));
  });
}

function labelOf(listed: readonly Recipient[], recipient: string): string {
  const label = listed.find((each) => each.recipient === recipient)?.label ?? "";
  return label === "" ? "" : `(${label})`;
}
