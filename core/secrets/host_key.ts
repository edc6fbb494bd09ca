/**
 * The age identity of this host, `paths.hostKey`, 0600 root:root: the file format of `age-keygen`,
 * so that the packaged `age` takes it. Several identities may stand in it while one is replaced.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files, Log } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import { createIdentity, recipientOf } from "core/secrets/envelope.ts";

/** This host's way into the store. */
export interface HostKey {
  /** All can open the store; the first is this host's own. */
  readonly identities: readonly string[];
  /** Public half of the first identity. */
  readonly recipient: string;
}

const KEY_MODE = 0o600;

/** Reads the identity; undefined when there is none yet. The key itself is in no message. */
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
  const recipients = await Promise.all(identities.map((identity) => recipientOf(identity)));
  const [recipient] = recipients;
  return recipient === undefined || recipients.includes(undefined)
    ? err(hostKeyRefusal(paths, "it does not hold age identities"))
    : ok({ identities, recipient });
}

/** Creates the identity. The caller holds the lock and has seen that there is none. */
export async function createHostKey(files: Files, paths: Paths, nowMs: number): Promise<HostKey> {
  const identity = await createIdentity();
  const recipient = await recipientOf(identity);
  if (recipient === undefined) throw new TypeError("a fresh identity has a recipient");
  await files.ensureDir(paths.etc);
  const created = new Date(nowMs).toISOString();
  const text = `# created: ${created}\n# public key: ${recipient}\n${identity}\n`;
  await files.write(paths.hostKey, text, { mode: KEY_MODE });
  return { identities: [identity], recipient };
}

/** Refusal of everything that needs the key of this host. */
export function hostKeyRefusal(paths: Paths, state: string): Refusal {
  return refusal("store-unreadable", `Cannot use the host key "${paths.hostKey}": ${state}`, {
    hints: [`ls -l ${paths.hostKey}`, 'run "fleetctl fleet sync" on a host that is a recipient'],
  });
}
