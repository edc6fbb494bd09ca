/**
 * The report of `fleetctl mcp catalog add`: the tools of the new entry, which of them need
 * approval, what the server tried to access, and the commands that change the marks.
 *
 * @module
 */

import type { Candidate } from "cli/mcp/catalog/candidate.ts";
import { heldJson, heldLines } from "cli/mcp/catalog/apply_entry.ts";
import type { Layer } from "cli/mcp/catalog/store.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import type { ProposedMark } from "core/catalog/risk_marks.ts";
import type { ToolLock } from "core/catalog/tool_lock.ts";
import type { McpName } from "core/names.ts";
import { closedKey } from "core/secrets/closed_keys.ts";
import { cutText } from "core/text/cut_text.ts";
import { quoteShell } from "core/text/quote.ts";

/** The added entry. */
export interface Added {
  readonly mcp: McpName;
  readonly layer: Layer;
  /** The pin as typed, or the URL. */
  readonly source: string;
  readonly proposed: readonly ProposedMark[];
  /** The variables that the entry's server sees. */
  readonly seen: SeenVariables;
}

/** Keys of the agent that a server sees, and variables that its entry sets. */
export interface SeenVariables {
  readonly requiredEnv: readonly string[];
  readonly optionalEnv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Maximum number of refused requests that are listed. */
const SHOWN_MAX = 10;
/** Bytes of a fixed value that are shown. */
const VALUE_BYTES_MAX = 160;

/** Returns the report for an entry that was added from a package. */
export async function addedPackage(
  added: Added,
  { candidate, toolLock }: { readonly candidate: Candidate; readonly toolLock: ToolLock },
): Promise<VerbReport> {
  const { mcp, layer, source, proposed, seen } = added;
  const keys = [...seen.requiredEnv, ...seen.optionalEnv];
  const { tried } = candidate;
  const undeclared = tried.requested.keys.filter((key) => !keys.includes(key));
  const names = tried.tools?.map(({ name }) => name);
  return {
    json: {
      mcp,
      layer,
      source,
      tools: names ?? null,
      marks: marksJson(proposed),
      ...seenJson(seen),
      asked_keys: tried.requested.keys,
      refused: tried.requested.refused,
      held: await heldJson(toolLock),
    },
    blocks: [{
      kind: "lines",
      lines: [
        `added  ${mcp} at ${source} to the ${layer}`,
        names === undefined
          ? { text: "tools  unknown: the trial run of its server failed", tone: "warn" }
          : `tools  ${names.length}: ${names.join(", ")}`,
        ...seenLines(seen),
        ...markLines(mcp, proposed),
        ...undeclared.map((key) =>
          closedKey(key) === undefined
            ? `key    its server read ${key}, which is not declared: add it with --env ${key}`
            : `key    its server read ${key}, which no MCP server may see`
        ),
        ...tried.requested.refused.slice(0, SHOWN_MAX).map((text) =>
          `never  ${text}: no grant can permit it`
        ),
        ...await heldLines(mcp, toolLock),
        `wire it with: fleetctl mcp add ${mcp} <agent>`,
      ],
    }],
    warnings: tried.fault === undefined ? [] : [tried.fault],
  };
}

/** Returns the report for an entry that is reached by URL. */
export function addedUrl({ mcp, layer, source, proposed, seen }: Added): VerbReport {
  return {
    json: { mcp, layer, source, marks: marksJson(proposed), ...seenJson(seen), held: null },
    blocks: [{
      kind: "lines",
      lines: [
        `added  ${mcp} to the ${layer}, reached by URL: nothing was installed or tried out`,
        ...seenLines(seen),
        ...markLines(mcp, proposed),
        `wire it with: fleetctl mcp add ${mcp} <agent>`,
      ],
    }],
  };
}

/**
 * Returns lines about the agent's keys that the server sees, and the variables that the entry sets.
 */
export function seenLines({ requiredEnv, optionalEnv, environment }: SeenVariables) {
  return [
    ...requiredEnv.map((key) => `sees   ${key}: a secret of its agent, required`),
    ...optionalEnv.map((key) => `sees   ${key}: a secret of its agent, if there is one`),
    ...Object.entries(environment).map(([name, value]) =>
      `sees   ${name}: set to ${JSON.stringify(cutText(value, VALUE_BYTES_MAX).text)}`
    ),
  ];
}

function seenJson({ requiredEnv, optionalEnv, environment }: SeenVariables) {
  return { required_keys: requiredEnv, optional_keys: optionalEnv, environment };
}

/** Returns lines about the tools that need approval because nothing proves them read-only. */
export function markLines(mcp: string, proposed: readonly ProposedMark[]): readonly Cell[] {
  const [first] = proposed;
  if (first === undefined) return [];
  const review = `fleetctl mcp catalog review ${mcp} --risk`;
  return [
    { text: "marks  these tools ask a human before each call:", tone: "warn" },
    ...proposed.map(({ tool, why }) => `  ask  ${tool === "*" ? "every tool" : tool}: ${why}`),
    ...(first.tool === "*"
      ? [`let every tool run without asking: ${review} ${quoteShell("*=allow")}`]
      : [
        `let one run without asking: ${review} ${quoteShell(`${first.tool}=allow`)}`,
        `never let one run: ${review} ${quoteShell(`${first.tool}=block`)}`,
      ]),
  ];
}

/**
 * Returns the line that says how to remove the mark `*`. Once the server's tools are known, the
 * mark still stays until an operator removes it.
 */
export function everyLines(mcp: string, everyAsks: boolean): readonly Cell[] {
  if (!everyAsks) return [];
  const lift = `fleetctl mcp catalog review ${mcp} --risk ${quoteShell("*=allow")}`;
  return [`every tool still asks a human; to let the tools' own marks decide: ${lift}`];
}

/** Returns the proposed marks as JSON. */
export function marksJson(proposed: readonly ProposedMark[]) {
  return Object.fromEntries(proposed.map(({ tool, risk, why }) => [tool, { risk, why }]));
}
