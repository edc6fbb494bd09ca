/**
 * `fleetctl mcp catalog review`: shows what an upgrade widened, and accepts it by the hash shown.
 * Any other hash is refused, so only what was read is accepted. An accepted tool that is not known
 * to be read-only needs approval for each call; `--risk` overrides this.
 *
 * @module
 */

import { everyLines, markLines, marksJson } from "cli/mcp/catalog/add_report.ts";
import { markAccepted, markTools } from "cli/mcp/catalog/mark.ts";
import { applyEntry } from "cli/mcp/catalog/apply_entry.ts";
import { readPrevious, readStored, type StoredEntry, writeEntry } from "cli/mcp/catalog/store.ts";
import { reviewText } from "cli/mcp/catalog/review_text.ts";
import { reviewRunning } from "cli/mcp/catalog/review_running.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { underVerbLock } from "cli/planner.ts";
import { addGrants } from "core/catalog/edit.ts";
import { type Marks, parseMarks } from "core/catalog/risk_marks.ts";
import {
  acceptHeld,
  isHeld,
  parseToolLock,
  printToolLock,
  reviewHash,
  type ToolLock,
} from "core/catalog/tool_lock.ts";
import { refusal } from "core/errors.ts";
import { type AgentName, type McpName, parseAgentName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog review`. */
export interface Options {
  readonly mcp: McpName;
  readonly accept: string | undefined;
  /** Agent whose running server is reviewed, instead of what an upgrade holds back. */
  readonly from: AgentName | undefined;
  /** Decisions about single tools, instead of what waits for review. */
  readonly marks: Marks;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const mcp = parseMcpName(invocation.args.mcp ?? "");
  if (!mcp.ok) return mcp;
  const { accept, from } = invocation.options;
  const agent = from === undefined ? ok(undefined) : parseAgentName(from);
  if (!agent.ok) return agent;
  const marks = parseMarks(repeated(invocation, "risk"));
  if (!marks.ok) return marks;
  if (marks.value.size > 0 && (accept !== undefined || from !== undefined)) {
    return err(refusal(
      "options-invalid",
      "Cannot review: --risk cannot be combined with --accept or --from",
      { kind: "usage", hints: ["fleetctl mcp catalog review --help"] },
    ));
  }
  return ok({ mcp: mcp.value, accept, from: agent.value, marks: marks.value });
}

/** Shows the review, or accepts it by its hash. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  return await underVerbLock(context, async () => {
    const stored = await readStored(context, options.mcp);
    if (!stored.ok) return stored;
    const lock = stored.value.tools === undefined
      ? undefined
      : parseToolLock(stored.value.tools, `${stored.value.file} (tools.lock)`);
    if (lock?.ok === false) return lock;
    if (options.marks.size > 0) {
      return await markTools(context, options, stored.value, lock?.value);
    }
    if (options.from !== undefined) {
      const { mcp, accept, from } = options;
      return await reviewRunning(context, { mcp, accept, from }, {
        stored: stored.value,
        lock: lock?.value,
      });
    }
    if (lock === undefined || !isHeld(lock.value.held)) return nothingWaits(options);
    return options.accept === undefined
      ? ok(await reviewText(options.mcp, lock.value))
      : await accept(context, options, stored.value, lock.value);
  });
}

function nothingWaits({ mcp, accept }: Options): Result<VerbReport> {
  if (accept !== undefined) {
    return err(refusal(
      "review-stale",
      `Cannot accept what MCP "${mcp}" holds back: nothing waits for a review`,
      { hints: [`fleetctl mcp catalog review ${mcp}`] },
    ));
  }
  return ok({
    json: { mcp, held: { waits: false } },
    blocks: [{ kind: "lines", lines: [`reviewed  ${mcp}: nothing waits`] }],
  });
}

async function accept(
  context: VerbContext,
  { mcp, accept }: Options,
  stored: StoredEntry,
  lock: ToolLock,
): Promise<Result<VerbReport>> {
  const wanted = await reviewHash(lock);
  if (accept !== wanted || stored.layer === "shipped") {
    return err(refusal(
      "review-stale",
      `Cannot accept what MCP "${mcp}" holds back: the hash does not match what is held ` +
        `now, must be the one that a review has just shown`,
      { hints: [`fleetctl mcp catalog review ${mcp}`] },
    ));
  }
  const granted = addGrants(stored.manifest, lock.held.permissions, stored.file);
  if (!granted.ok) return granted;
  const marked = markAccepted(granted.value, stored, mcp, lock);
  if (!marked.ok) return marked;
  const { manifest, proposed, everyAsks } = marked.value;
  const written = await writeEntry(context, {
    mcp,
    layer: stored.layer,
    verb: "mcp catalog review",
    summary: `"${mcp}" ${lock.version} against ${wanted}`,
    next: { ...stored, manifest, tools: printToolLock(acceptHeld(lock)) },
    previous: await readPrevious(context, mcp, stored.layer),
  });
  if (!written.ok) return written;
  const settled = await applyEntry(context, mcp);
  if (!settled.ok) return settled;
  return ok({
    json: { mcp, accepted: wanted, marks: marksJson(proposed), agents: settled.value.agents },
    blocks: [{
      kind: "lines",
      lines: [
        `accepted  ${mcp} ${lock.version} as shown`,
        ...markLines(mcp, proposed),
        ...everyLines(mcp, everyAsks),
        ...settled.value.lines,
      ],
    }],
    faults: settled.value.faults,
  });
}
