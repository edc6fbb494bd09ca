/**
 * What the registry serves for one exact version; `core/catalog/resolve.ts` returns it. Types only.
 *
 * @module
 */

import type { PackageSource, Pin } from "core/catalog/pin.ts";

/** A pin, and what the registry says about that version: the fields that a manifest records. */
export interface ResolvedPin {
  readonly kind: PackageSource["kind"];
  readonly pin: Pin;
  /** Text of the lock beside the manifest, without tarball URLs. */
  readonly lock: string;
  /** Integrity of the package itself; absent for Python, where the lock has it for each wheel. */
  readonly integrity?: string;
  /** SHA-256 of `lock`. */
  readonly lockIntegrity: string;
  /** The package's executables: program name → path, relative to the root of the installed tree. */
  readonly programs: Readonly<Record<string, string>>;
  readonly description: string;
}
