/**
 * What the registry serves for one exact version, as `core/catalog/resolve.ts` finds
 * it. Types only.
 *
 * @module
 */

import type { PackageSource, Pin } from "core/catalog/pin.ts";

/** A pin with everything that a manifest says about it. */
export interface ResolvedPin {
  readonly kind: PackageSource["kind"];
  readonly pin: Pin;
  /** Text of the lock beside the manifest, without addresses. */
  readonly lock: string;
  /** Of the package itself; a lock of wheels says it for each of them. */
  readonly integrity?: string;
  readonly lockIntegrity: string;
  /** Server files that the package declares, by program name, relative to the tree. */
  readonly programs: Readonly<Record<string, string>>;
  readonly description: string;
}
