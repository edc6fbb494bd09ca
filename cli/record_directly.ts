/**
 * Writes the audit row of a verb that an operator runs without the daemon. A verb with root's
 * rights leaves the same audit record with and without the daemon. If a signal ends the verb, its
 * row has no exit.
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
import type { Addressed } from "core/verbs/target.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** The caller, the target and the decision. */
export interface Authorized {
  readonly addressed: Addressed;
  readonly caller: Caller;
  readonly decision: Decision;
}

/** A written row. Its database stays open until the end is recorded. */
export interface Recorded {
  /**
   * Records how the verb ended; without `exit` nothing ran. If the disk is full, logs that instead.
   */
  end(exit?: string): void;
}

/** Writes the row. */
export async function recordDirectly(
  { addressed, caller, decision }: Authorized,
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
        // The pid serves only people, and is useless once the verb has ended.
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
    `Cannot record the decision: ${found}, and no verb runs without a record`,
    { hints: [`df -h ${paths.role("daemon")}`, logHint(paths, "fleetctl-daemon.service")] },
  );
}
