/**
 * Maps a refusal to lines, JSON and an exit code (docs/errors.md). No other file of `cli/` chooses
 * the exit code of a refusal.
 *
 * @module
 */

import { errorText, type Refusal, refusal, type RefusalKind } from "core/errors.ts";
import { FileFault } from "core/ports/files.ts";
import { ServiceFault } from "units/manager/service_manager.ts";

/**
 * 0 done; 1 refused or failed; 2 usage or settings; 3 everything works and something waits for an
 * operator (`status` and `doctor` only); 4 denied.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 4;

const CODES: Readonly<Record<RefusalKind, ExitCode>> = {
  refused: 1,
  usage: 2,
  settings: 2,
  denied: 4,
};

/** Returns the exit code of a refusal. */
export function exitCode(reason: Refusal): ExitCode {
  return CODES[reason.kind];
}

/** Returns the lines of a refusal: the message, its details, its hints. */
export function refusalLines(reason: Refusal, prefix = "fleetctl"): readonly string[] {
  return [
    `${prefix}: ${reason.message}`,
    ...reason.details.map((line) => `  ${line}`),
    ...reason.hints.map((line) => `hint: ${line}`),
  ];
}

/** Returns what `--json` prints for a refusal. */
export function refusalJson(reason: Refusal): Readonly<Record<string, unknown>> {
  const { code, message, details, hints } = reason;
  return { error: { code, message, details, hints } };
}

/** Returns the refusal for a thrown value: a failure of the machine, or a bug. */
export function refusalOfFault(thrown: unknown, doing: string): Refusal {
  if (thrown instanceof FileFault) return fileRefusal(thrown, doing);
  if (thrown instanceof ServiceFault) {
    return refusal("service-failed", `Cannot ${doing}: unit "${thrown.unit}": ${thrown.message}`, {
      details: thrown.journal,
      hints: ["fleetctl status"],
    });
  }
  return refusal("internal-error", `Cannot ${doing}: ${errorText(thrown)}`);
}

function fileRefusal(fault: FileFault, doing: string): Refusal {
  const at = `Cannot ${doing}: "${fault.path}"`;
  switch (fault.code) {
    case "ENOSPC":
      return refusal("disk-full", `${at} cannot be written, the disk is full`, {
        hints: [`df -h ${fault.path.slice(0, fault.path.lastIndexOf("/")) || "/"}`],
      });
    case "EACCES":
    case "EPERM":
      return refusal("file-not-permitted", `${at} is not accessible to this user`, {
        hints: [`ls -ld ${fault.path}`],
      });
    case "EROFS":
      return refusal("file-read-only", `${at} is on a read-only file system, must be writable`);
    default:
      return refusal("file-fault", `${at}: ${fault.message}`);
  }
}
