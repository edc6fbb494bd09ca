/**
 * Checks an entry's `deno.lock` before anything is fetched. It must be the text that the manifest
 * pins, name the pinned package with the pinned integrity, and have a hash for every package. No
 * I/O.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

/** Packages in one lock; far more than any known server has. */
const PACKAGES_MAX = 5000;
const SHA512 = /^sha512-[A-Za-z0-9+/]{86}==$/;
/** Sections of a Deno lock that name code from sources other than npm. */
const NON_NPM_SECTIONS = ["jsr", "remote", "redirects"] as const;

/** The facts about a checked lock that callers need. */
export interface CheckedLock {
  readonly text: string;
  readonly integrity: string;
  readonly packages: number;
}

/** Returns the SHA-256 of a text in the form of the manifest. */
export async function hashText(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}`;
}

/** Checks the lock of an npm entry against its manifest. */
export async function checkLock(manifest: Manifest): Promise<Result<CheckedLock>> {
  const bad = (state: string) =>
    err(refusal(
      "lock-invalid",
      `Cannot install MCP "${manifest.name}": its deno.lock ${state}`,
      { hints: [`fleetctl mcp catalog upgrade ${manifest.name} --help`] },
    ));
  if (manifest.source.kind !== "npm") return bad("is not allowed for its kind of source");
  const text = manifest.lock;
  if (text === undefined) return bad("is missing");
  const integrity = await hashText(text);
  if (integrity !== manifest.lockIntegrity) {
    return bad(`has the hash ${integrity}, must have ${manifest.lockIntegrity ?? "one"}`);
  }
  const packages = npmPackages(text);
  if (packages === undefined) return bad("is not a lock file of npm packages");
  const pinned = `${manifest.source.package}@${manifest.source.version}`;
  if (packages.length > PACKAGES_MAX) return bad(`names more than ${PACKAGES_MAX} packages`);
  const bare = packages.find((one) => one.integrity === undefined || !SHA512.test(one.integrity));
  if (bare !== undefined) return bad(`has no sha512 integrity for "${bare.name}"`);
  const addressed = packages.find((one) => one.hasAddress);
  if (addressed !== undefined) {
    return bad(`names an address for "${addressed.name}", must leave that to the host's registry`);
  }
  const own = packages.find((one) => isPackage(one.name, pinned));
  if (own === undefined) return bad(`does not name "${pinned}"`);
  if (own.integrity !== manifest.integrity) {
    return bad(`has another integrity for "${pinned}" than the manifest`);
  }
  return ok({ text, integrity, packages: packages.length });
}

/**
 * Returns a lock without the tarball URLs that Deno records for packages of a mirror. Each host
 * uses its own registry, and the integrity decides which bytes are accepted.
 */
export function portableLock(text: string): string {
  const value = JSON.parse(text) as { npm?: Record<string, Record<string, unknown>> };
  for (const entry of Object.values(value.npm ?? {})) delete entry["tarball"];
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Returns the integrity that a lock states for a package; undefined if it states none. */
export function lockedIntegrity(text: string, pinned: string): string | undefined {
  return npmPackages(text)?.find((one) => isPackage(one.name, pinned))?.integrity;
}

/** Deno appends the versions of peer dependencies to a name: `server@1.0.0_zod@4.6.7`. */
function isPackage(name: string, pinned: string): boolean {
  return name === pinned || name.startsWith(`${pinned}_`);
}

interface LockedPackage {
  readonly name: string;
  readonly integrity: string | undefined;
  readonly hasAddress: boolean;
}

function npmPackages(text: string): readonly LockedPackage[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || !isRecord(value["npm"])) return undefined;
  if (NON_NPM_SECTIONS.some((section) => value[section] !== undefined)) return undefined;
  return Object.entries(value["npm"]).map(([name, entry]) => {
    const integrity = isRecord(entry) ? entry["integrity"] : undefined;
    return {
      name,
      integrity: typeof integrity === "string" ? integrity : undefined,
      hasAddress: isRecord(entry) && "tarball" in entry,
    };
  });
}
