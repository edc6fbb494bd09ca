/**
 * Installs the trees of the wired MCPs before anything is rendered: an MCP without a tree must not
 * get a socket. One that fails is a separate fault and keeps its previous state.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { Refusal } from "core/errors.ts";
import type { McpName } from "core/names.ts";
import type { StepProgress, Vendor } from "units/reconcile/ports.ts";

/** Result of the installation. */
export interface Vendored {
  readonly changed: ReadonlySet<McpName>;
  readonly failed: ReadonlySet<McpName>;
  readonly faults: readonly Refusal[];
}

/** Ensures the trees one after another. */
export async function vendorAll(
  manifests: readonly Manifest[],
  vendor: Vendor,
  onStep: (progress: StepProgress) => void,
): Promise<Vendored> {
  const changed = new Set<McpName>();
  const failed = new Set<McpName>();
  const faults: Refusal[] = [];
  for (const [index, manifest] of manifests.entries()) {
    const report = (state: StepProgress["state"]) =>
      onStep({
        kind: "vendor",
        subject: manifest.name,
        state,
        index,
        total: manifests.length,
      });
    report("begin");
    const ensured = await vendor.ensure(manifest);
    if (ensured.ok && ensured.value.changed) changed.add(manifest.name);
    if (!ensured.ok) {
      failed.add(manifest.name);
      faults.push(ensured.error);
    }
    report(ensured.ok ? "done" : "failed");
  }
  return { changed, failed, faults };
}
