/**
 * What the registry serves for one exact version; `core/catalog/resolve.ts` returns it. Types only.
 *
 * @module
 */

import type { PackageSource, Pin } from "core/catalog/pin.ts";

/** A pin with everything that a manifest states about it. */
export interface ResolvedPin {
  readonly kind: PackageSource["kind"];
  readonly pin: Pin;
  /** Text of the lock beside the manifest, without tarball URLs. */
  readonly lock: string;
  /** Integrity of the package itself; absent for Python, where the lock has it for each wheel. */
  readonly integrity?: string;
  readonly lockIntegrity: string;
  /** Server files that the package declares, by program name, relative to the tree. */
  readonly programs: Readonly<Record<string, string>>;
  readonly description: string;
}
