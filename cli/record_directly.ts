/**
 * The audit row of a verb that an operator runs without the daemon: whoever may act as root leaves
 * the same trace on either way. The row of a verb that ends by a signal stays without an exit.
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Audit, auditedCaller, auditedWords, auditFile, openAudit } from "core/verbs/audit.ts";
import type { Decision } from "core/verbs/authorize.ts";
import type { Caller } from "core/verbs/caller.ts";
import type { Addressed } from "core/verbs/rewrite.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** Who acts on what, and whether that is allowed. */
export interface Settled {
  readonly addressed: Addressed;
  readonly caller: Caller;
  readonly decision: Decision;
}

/** A row that was written; its database is open until the end is noted. */
export interface Recorded {
  /** Notes how the verb ended; without `exit` nothing ran. A disk that is full by now is logged. */
  end(exit?: string): void;
}

/** Writes the row. */
export async function recordDirectly(
  { addressed, caller, decision }: Settled,
  at: { readonly ports: VerbPorts; readonly paths: Paths; readonly uid: number },
): Promise<Result<Recorded>> {
  const { ports, paths, uid } = at;
  try {
    await ports.files.ensureDir(paths.role("daemon"), { mode: 0o700 });
    const audit = openAudit(await ports.databases.open(auditFile(paths)));
    try {
      const id = audit.decided({
        atMs: ports.clock.now(),
        via: "direct",
        uid,
        // The pid is a help for people only, and of no use once the verb has ended.
        pid: 0,
        caller: auditedCaller(caller),
        ...auditedWords(addressed),
        isAllowed: decision.allowed,
        code: decision.allowed ? "" : decision.refusal.code,
        reason: decision.reason,
      });
      return ok({ end: (exit) => noteEnd(audit, { id, exit, ports }) });
    } catch (thrown) {
      audit.close();
      throw thrown;
    }
  } catch (thrown) {
    return err(unwritable(paths, errorText(thrown)));
  }
}

function noteEnd(
  audit: Audit,
  of: { readonly id: number; readonly exit: string | undefined; readonly ports: VerbPorts },
): void {
  const { id, exit, ports } = of;
  try {
    if (exit !== undefined) audit.ended(id, { atMs: ports.clock.now(), exit });
    audit.close();
  } catch (thrown) {
    ports.log.warning("audit failed", { id, exit, error: errorText(thrown) });
  }
}

function unwritable(paths: Paths, found: string): Refusal {
  return refusal(
    "audit-unwritable",
    `Cannot record the decision: ${found}, and nothing is changed unrecorded`,
    { hints: [`df -h ${paths.role("daemon")}`, logHint(paths, "fleetctl-daemon.service")] },
  );
}
