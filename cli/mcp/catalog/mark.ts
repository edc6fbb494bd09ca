/**
 * `fleetctl mcp catalog review <mcp> --risk tool=ask|block|allow`: an operator's decisions about
 * single tools of an entry. Installs and starts nothing.
 *
 * @module
 */

import { applyEntry } from "cli/mcp/catalog/apply_entry.ts";
import { chooseLayer, readPrevious, type StoredEntry, writeEntry } from "cli/mcp/catalog/store.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { EVERY_TOOL } from "core/catalog/manifest_rules.ts";
import { type ManifestContext, parseManifest } from "core/catalog/parse_manifest.ts";
import {
  checkMarked,
  markPairs,
  type Marks,
  type ProposedMark,
  proposeForReview,
  setMarks,
} from "core/catalog/risk_marks.ts";
import type { ToolLock } from "core/catalog/tool_lock.ts";
import { defined } from "core/defined.ts";
import type { McpName } from "core/names.ts";
import { ok, type Result } from "core/result.ts";

/** A manifest with the marks for the tools that a review accepts. */
export interface MarkedManifest {
  readonly manifest: string;
  readonly proposed: readonly ProposedMark[];
  /** Whether every tool needs approval, even if it is known to be read-only. */
  readonly everyAsks: boolean;
}

/** Marks the accepted tools that are not known to be read-only. */
export function markAccepted(
  manifest: string,
  stored: StoredEntry,
  mcp: McpName,
  lock: ToolLock,
): Result<MarkedManifest> {
  const parsed = parseManifest(manifest, manifestContext(stored, mcp));
  if (!parsed.ok) return parsed;
  const chosen = new Map([...parsed.value.risk, ...[...parsed.value.readOnly].map(allowed)]);
  const proposed = proposeForReview(lock.held.tools, lock.tools, chosen);
  const marked = setMarks(manifest, markPairs(proposed), stored.file);
  const everyAsks = parsed.value.risk.has(EVERY_TOOL);
  return marked.ok ? ok({ manifest: marked.value, proposed, everyAsks }) : marked;
}

function allowed(tool: string) {
  return [tool, "allow"] as const;
}

function manifestContext({ file, layer, lock }: StoredEntry, name: McpName): ManifestContext {
  return { name, file, origin: layer, ...defined({ lock }) };
}

/** Writes the marks, and applies them where the entry is wired. */
export async function markTools(
  context: VerbContext,
  { mcp, marks }: { readonly mcp: McpName; readonly marks: Marks },
  stored: StoredEntry,
  lock: ToolLock | undefined,
): Promise<Result<VerbReport>> {
  const { manifest, file } = stored;
  const manifestSite = manifestContext(stored, mcp);
  const before = parseManifest(manifest, manifestSite);
  if (!before.ok) return before;
  const locked = [...lock?.tools.keys() ?? [], ...lock?.held.tools.keys() ?? []];
  // Without a lock the tools are unknown, so any name is accepted.
  const known = locked.length === 0
    ? ok(undefined)
    : checkMarked(marks, [...locked, ...before.value.risk.keys(), ...before.value.readOnly]);
  if (!known.ok) return known;
  const marked = setMarks(manifest, marks, file);
  if (!marked.ok) return marked;
  const after = parseManifest(marked.value, manifestSite);
  if (!after.ok) return after;
  const layer = stored.layer === "shipped"
    ? await chooseLayer(context, undefined)
    : ok(stored.layer);
  if (!layer.ok) return layer;
  const changes = [...marks].map(([tool, mark]) => `${tool}=${mark}`).join(", ");
  const written = await writeEntry(context, {
    mcp,
    layer: layer.value,
    verb: "mcp catalog review",
    summary: `"${mcp}": ${changes}`.slice(0, 200),
    next: { ...stored, manifest: marked.value },
    previous: stored.layer === "shipped"
      ? undefined
      : await readPrevious(context, mcp, layer.value),
  });
  if (!written.ok) return written;
  const applied = await applyEntry(context, mcp);
  if (!applied.ok) return applied;
  return ok({
    json: {
      mcp,
      layer: layer.value,
      marks: Object.fromEntries(marks),
      agents: applied.value.agents,
    },
    blocks: [{
      kind: "lines",
      lines: [
        ...[...marks].map(([tool, mark]) =>
          `marked  ${mcp} ${tool === "*" ? "every tool" : tool}: ${mark}`
        ),
        ...applied.value.lines,
      ],
    }],
    faults: applied.value.faults,
  });
}
