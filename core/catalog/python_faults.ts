/**
 * Maps pip's output, when an install of wheels fails, to a refusal with next steps. No I/O.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";

const DETAIL_LINES_MAX = 6;
const LINE_LENGTH_MAX = 300;
const OTHER_MACHINE =
  "its lock names wheels for one platform and one Python version; this host may need others";

/** The install that failed. */
interface Failed {
  readonly mcp: string;
  readonly package: string;
  readonly version: string;
}

/** How pip ended. */
export interface PipEnd {
  readonly output: string;
  /** The time limit ended it. */
  readonly isLate: boolean;
  /** The limit on file size ended it. */
  readonly isTooLarge: boolean;
  /** Every wheel of its lock fits every machine. */
  readonly isPortable: boolean;
}

/** Recognized outputs, in order of precedence: the code, the state found, the hints. */
const MEANINGS: readonly (readonly [
  rule: RegExp,
  code: string,
  state: (pinned: string) => string,
  hints: (failed: Failed) => readonly string[],
])[] = [
  [
    /No module named pip/,
    "installer-missing",
    () => `the host's Python has no pip`,
    () => ["apt-get install python3-pip"],
  ],
  [
    /installer may start no program|no permission to execute/i,
    "package-unusable",
    (pinned) => `${pinned} or one of its dependencies has to be built, must be a wheel`,
    () => [],
  ],
  [
    /file too large|\bMemoryError\b/i,
    "package-too-large",
    (pinned) => `${pinned} or one of its dependencies has a file that unpacks to too much`,
    () => [],
  ],
  [
    /no space left/i,
    "disk-full",
    () => "no space left on the disk",
    () => ["df -h"],
  ],
  [
    /do not match the hashes|hashes are required|versions pinned with ==/i,
    "package-altered",
    (pinned) =>
      `what the index serves for ${pinned} or one of its dependencies does not match ` +
      `the lock; nothing was installed`,
    () => ["fleetctl mcp catalog list"],
  ],
  [
    /outside the target directory|invalid wheel|is invalid|has an invalid wheel|inconsistent|wheel .* malformed|bad (zip|CRC)|not a (zip|supported wheel)/i,
    "package-unusable",
    (pinned) => `${pinned} or one of its dependencies is not a valid wheel; nothing was installed`,
    () => [],
  ],
  [
    /connection (broken|refused|reset|aborted)|NewConnectionError|(Connect|Read)Timeout|timed out|name resolution|network is unreachable|max retries exceeded|SSLError|CERTIFICATE_VERIFY/i,
    "registry-unreachable",
    (pinned) => `the index cannot be reached, and the cache does not contain all of ${pinned}`,
    () => ["fleetctl mcp catalog list"],
  ],
  [
    /conflicting dependencies|ResolutionImpossible|requires a different python|Ignored the following versions that require a different python/i,
    "install-failed",
    (pinned) => `the dependencies of ${pinned} conflict, or none supports the host's Python`,
    () => [],
  ],
  [
    /no matching distribution|could not find a version|\b404 (client error|not found)/i,
    "package-not-found",
    (pinned) => `the index has no wheel of ${pinned}, or of one of its dependencies, for this host`,
    ({ mcp }) => [`fleetctl mcp catalog upgrade ${mcp} --help`],
  ],
];

/** Returns the refusal that explains why an install failed. */
export function pythonRefusal(failed: Failed, end: PipEnd): Refusal {
  const pinned = `"${failed.package}==${failed.version}"`;
  const start = `Cannot install MCP "${failed.mcp}"`;
  const details = [...(end.isPortable ? [] : [OTHER_MACHINE]), ...outputLines(end.output)];
  if (end.isLate) {
    return refusal("registry-unreachable", `${start}: the index did not answer in time`, {
      details,
    });
  }
  const text = end.isTooLarge ? "file too large" : end.output;
  for (const [rule, code, state, hints] of MEANINGS) {
    if (rule.test(text)) {
      return refusal(code, `${start}: ${state(pinned)}`, { details, hints: hints(failed) });
    }
  }
  return refusal("install-failed", `${start}: the installer failed for ${pinned}`, { details });
}

/** Returns the informative lines, without credentials in URLs and without control characters. */
function outputLines(output: string): readonly string[] {
  return output.replace(/\/\/[^/\s@]+@/g, "//")
    .split("\n")
    .map((line) => line.replace(/[\p{C}]+/gu, " ").trim().slice(0, LINE_LENGTH_MAX))
    .filter((line) => line !== "" && !/^(Traceback|File "|\[notice\])/.test(line))
    .slice(0, DETAIL_LINES_MAX);
}
