/**
 * Puts the trees of the wired MCPs in place before anything is rendered: an MCP without a tree must
 * not get a socket. One that fails is a fault of its own and is held as it was.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { Refusal } from "core/errors.ts";
import type { McpName } from "core/names.ts";
import type { StepProgress, Vendor } from "units/reconcile/ports.ts";

/** What came of it. */
export interface Vendored {
  readonly changed: ReadonlySet<McpName>;
  readonly failed: ReadonlySet<McpName>;
  readonly faults: readonly Refusal[];
}

/** Ensures each tree in turn. */
export async function vendorAll(
  manifests: readonly Manifest[],
  vendor: Vendor,
  onStep: (progress: StepProgress) => void,
): Promise<Vendored> {
  const changed = new Set<McpName>();
  const failed = new Set<McpName>();
  const faults: Refusal[] = [];
  for (const [index, manifest] of manifests.entries()) {
    const tell = (state: StepProgress["state"]) =>
      onStep({
        kind: "vendor",
        subject: manifest.name,
        state,
        index,
        total: manifests.length,
      });
    tell("begin");
    const ensured = await vendor.ensure(manifest);
    if (ensured.ok && ensured.value.changed) changed.add(manifest.name);
    if (!ensured.ok) {
      failed.add(manifest.name);
      faults.push(ensured.error);
    }
    tell(ensured.ok ? "done" : "failed");
  }
  return { changed, failed, faults };
}
