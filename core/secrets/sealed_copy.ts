/**
 * A copy of a fleet as one text that only recovery keys open: the ledger, the secret store, and the
 * operator's files below /etc/fleetctl. It contains no transcripts, databases or homes, and not the
 * host key. age does not authenticate the author of a text, so only the known locations of a copy
 * are accepted on reading. No I/O.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { type HostName, parseHostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { seal, unseal } from "core/secrets/envelope.ts";

/** One file; `path` is relative to the root, without a leading slash. */
export interface CopiedFile {
  readonly path: string;
  readonly text: string;
}

/** Content of a copy. */
export interface FleetCopy {
  /** The host that the ledger came from. */
  readonly host: HostName;
  /** Creation time, in milliseconds since the epoch. */
  readonly made: number;
  readonly files: readonly CopiedFile[];
}

const VERSION = 1;
/**
 * Limit for all files together, in characters. The ledger of a thousand agents has less than one
 * million.
 */
export const COPY_LENGTH_MAX = 32 * 1024 * 1024;
const REPO = "var/lib/fleetctl/repo";
/** Allowed paths of a copy's files: names without slashes below known folders. */
const ALLOWED_PATHS: readonly RegExp[] = [
  new RegExp(`^${REPO}/(?:recipients|secrets\\.age)$`),
  new RegExp(`^${REPO}/(?:agents|hosts)\\.d/[A-Za-z0-9][A-Za-z0-9._-]*\\.yaml$`),
  new RegExp(
    `^${REPO}/catalog/[A-Za-z0-9][A-Za-z0-9._-]*(?:/previous)?/[A-Za-z0-9][A-Za-z0-9._-]*$`,
  ),
  /^etc\/fleetctl\/(?:roles|host|defaults|prices|teams-cloud)\.yaml$/,
  /^etc\/fleetctl\/runtimes\.d\/[A-Za-z0-9][A-Za-z0-9._-]*\.yaml$/,
];

/** Tells whether a copy may contain this path. */
export function isCopiedPath(path: string): boolean {
  return !path.includes("..") && ALLOWED_PATHS.some((allowed) => allowed.test(path));
}

/** Seals a copy to recovery keys. */
export async function sealCopy(copy: FleetCopy, recipients: readonly string[]): Promise<string> {
  return await seal(JSON.stringify({ version: VERSION, ...copy }), recipients);
}

/** Opens a copy with a recovery key. */
export async function openCopy(
  sealed: string,
  identities: readonly string[],
): Promise<Result<FleetCopy>> {
  const opened = await unseal(sealed, identities);
  if (!opened.ok) {
    return err(copyRefusal(
      opened.error.reason === "foreign"
        ? "the recovery key is not the one that it was sealed to"
        : `it is damaged (${opened.error.detail})`,
    ));
  }
  const copy = parseCopy(opened.value);
  return copy === undefined ? err(copyRefusal("it is not a sealed copy of a fleet")) : ok(copy);
}

function parseCopy(text: string): FleetCopy | undefined {
  const value = jsonOf(text);
  if (typeof value !== "object" || value === null) return undefined;
  const { version, host, made, files } = value as Readonly<Record<string, unknown>>;
  const name = parseHostName(typeof host === "string" ? host : "");
  if (version !== VERSION || !name.ok || typeof made !== "number" || !Array.isArray(files)) {
    return undefined;
  }
  const found: CopiedFile[] = [];
  for (const file of files as readonly unknown[]) {
    const { path, text } = (file ?? {}) as Readonly<Record<string, unknown>>;
    if (typeof path !== "string" || typeof text !== "string" || !isCopiedPath(path)) {
      return undefined;
    }
    found.push({ path, text });
  }
  const isUnique = new Set(found.map(({ path }) => path)).size === found.length;
  return isUnique ? { host: name.value, made, files: found } : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function copyRefusal(state: string) {
  return refusal("sealed-copy-unreadable", `Cannot read the sealed copy: ${state}`, {
    hints: ["fleetctl secret recover --help"],
  });
}
