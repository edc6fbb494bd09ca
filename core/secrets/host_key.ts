/**
 * The age identity of this host: `paths.hostKey`, 0600 root:root, in the file format of
 * `age-keygen`, so that the packaged `age` accepts it. During a replacement it can contain several
 * identities.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { createIdentity, recipientOf } from "core/secrets/envelope.ts";

/** The keys with which this host opens the store. */
export interface HostKey {
  /** Each can open the store; the first is this host's current identity. */
  readonly identities: readonly string[];
  /** Their public keys, in the same order. */
  readonly recipients: readonly string[];
  /** Public key of the first identity. */
  readonly recipient: string;
}

const KEY_MODE = 0o600;

/** Reads the identity; undefined when none exists. No message contains the key itself. */
export async function readHostKey(
  ports: { readonly files: Pick<Files, "readText" | "stat">; readonly log: Log },
  paths: Paths,
): Promise<Result<HostKey | undefined>> {
  const text = await ports.files.readText(paths.hostKey);
  if (text === undefined) return ok(undefined);
  const stat = await ports.files.stat(paths.hostKey);
  if (stat !== undefined && (stat.mode & 0o077) !== 0) {
    ports.log.warning("host-key-exposed", {
      path: paths.hostKey,
      mode: stat.mode.toString(8),
      fix: `chmod 600 ${paths.hostKey}`,
    });
  }
  const identities = text.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const found = await Promise.all(identities.map((identity) => recipientOf(identity)));
  const recipients = found.filter((each) => each !== undefined);
  const [recipient] = recipients;
  return recipient === undefined || recipients.length !== found.length
    ? err(hostKeyRefusal(paths, "it is not a list of age identities"))
    : ok({ identities, recipients, recipient });
}

/** Creates the identity. The caller holds the lock and has checked that none exists. */
export async function createHostKey(files: Files, paths: Paths, nowMs: number): Promise<HostKey> {
  const key = await freshHostKey();
  await writeHostKey(files, paths, { identities: key.identities, nowMs });
  return key;
}

/** Generates an identity without writing it. */
export async function freshHostKey(): Promise<HostKey> {
  const identity = await createIdentity();
  const recipient = await recipientOf(identity);
  if (recipient === undefined) throw new TypeError("a fresh identity has a recipient");
  return { identities: [identity], recipients: [recipient], recipient };
}

/** Writes the whole file of the host's identities. */
export async function writeHostKey(
  files: Files,
  paths: Paths,
  { identities, nowMs }: { readonly identities: readonly string[]; readonly nowMs: number },
): Promise<void> {
  await files.ensureDir(paths.etc);
  await files.write(paths.hostKey, await printIdentities(identities, nowMs), { mode: KEY_MODE });
}

/** Prints identities in the format of `age-keygen`. */
export async function printIdentities(
  identities: readonly string[],
  nowMs: number,
): Promise<string> {
  const created = new Date(nowMs).toISOString();
  const parts = await Promise.all(
    identities.map(async (identity) =>
      `# created: ${created}\n# public key: ${await recipientOf(identity)}\n${identity}\n`
    ),
  );
  return parts.join("");
}

/** Returns the refusal of operations that need this host's key. */
export function hostKeyRefusal(paths: Paths, state: string): Refusal {
  return refusal("store-unreadable", `Cannot use the host key "${paths.hostKey}": ${state}`, {
    details: [
      'run "fleetctl secret rewrap" on a host that can already read the store',
    ],
    hints: [`ls -l ${paths.hostKey}`, "fleetctl secret recover --key - < recovery.key"],
  });
}
