/**
 * Compares the tools that the running server lists with the accepted ones. If the gate names
 * accepted definitions, only those tools are shown and called, and a call waits until the current
 * server has listed its tools. If the gate names none, the first list of the client's session is
 * the baseline: tools that change or appear later are held back. Pure except for hashing; it sends
 * nothing.
 *
 * @module
 */

import { toolHash } from "core/catalog/tool_lock.ts";
import { defined } from "core/defined.ts";
import { type ReviewState, reviewState } from "core/risk/accepted.ts";
import type { Gate } from "core/risk/rules.ts";
import { printMessage } from "units/mcp/message.ts";
import { isRecord } from "core/text/json_object.ts";

/** Result of a list. */
export interface Listed {
  /** Tools that this list, and no earlier one, caused to be held back; sorted. */
  readonly held: readonly { readonly tool: string; readonly state: ReviewState }[];
  /** Number of tools in the new baseline; 0 after the first list. */
  readonly first: number;
}

/** Tool state of one client's session. */
export interface ToolWatch {
  /** Records an answer to `tools/list`; `isWhole` means that the answer completes a list. */
  onListed(gate: Gate, value: Readonly<Record<string, unknown>>, isWhole: boolean): Promise<Listed>;
  /** A new server: its list is unknown. */
  forget(): void;
  /** The server reports that its tools changed: its current list is unknown. */
  onChanged(): void;
  /** Returns the review state of a tool; `unknown` when the server must list its tools first. */
  judge(gate: Gate, tool: string): ReviewState | "unknown";
  /** Returns an answer without the tools that are held back; undefined when nothing changes. */
  withoutHeld(
    gate: Gate,
    value: Readonly<Record<string, unknown>>,
  ): Readonly<Record<string, unknown>> | undefined;
}

/** Maximum number of tools in memory; a server with more has the rest held back. */
const TOOLS_MAX = 2_000;
/** Marks a tool that one list defines twice, differently. */
const DUPLICATE = "listed twice";

/** Creates an empty memory. */
export function createToolWatch(): ToolWatch {
  /** The baseline when no definitions were accepted; complete after the first whole list. */
  const first = new Map<string, string>();
  let isComplete = false;
  /** The last list of the current server. */
  let listed = new Map<string, string>();
  /** Whether the current server has listed its tools since it last reported a change. */
  let isListed = false;
  let isStale = false;
  const reported = new Map<string, string>();

  const measure = (gate: Gate) => gate.accepted ?? first;
  const stateOf = (gate: Gate, tool: string) => reviewState(measure(gate), tool, listed.get(tool));

  return {
    async onListed(gate, value, isWhole) {
      const now = await hashes(value);
      const before = first.size;
      for (const [tool, hash] of now) {
        const isRoom = first.size < TOOLS_MAX && !isComplete;
        if (isRoom && !first.has(tool)) first.set(tool, hash);
        if (listed.size < TOOLS_MAX || listed.has(tool)) listed.set(tool, hash);
      }
      isListed ||= isWhole;
      isStale &&= !isWhole;
      isComplete ||= isWhole;
      const held: { tool: string; state: ReviewState }[] = [];
      for (const [tool, hash] of now) {
        const state = stateOf(gate, tool);
        if (state === "as-accepted" || reported.get(tool) === hash) continue;
        if (reported.size < TOOLS_MAX) reported.set(tool, hash);
        held.push({ tool, state });
      }
      return { held, first: first.size - before };
    },
    forget() {
      listed = new Map();
      isListed = isStale = false;
    },
    onChanged() {
      isListed = false;
      isStale = true;
    },
    judge(gate, tool) {
      if (gate.accepted === undefined) {
        if (isStale) return "unknown";
        if (listed.has(tool)) return stateOf(gate, tool);
        // Before a whole list there is no baseline, so a tool cannot have changed.
        return !isComplete || first.has(tool) ? "as-accepted" : "new";
      }
      if (!gate.accepted.has(tool)) return "new";
      return isListed ? stateOf(gate, tool) : "unknown";
    },
    withoutHeld(gate, value) {
      const { result } = value;
      if (!isRecord(result) || !Array.isArray(result["tools"])) return undefined;
      const tools: readonly unknown[] = result["tools"];
      const shown = tools.filter((tool) =>
        isRecord(tool) && typeof tool["name"] === "string" &&
        stateOf(gate, tool["name"]) === "as-accepted"
      );
      return shown.length === tools.length
        ? undefined
        : { ...value, result: { ...result, tools: shown } };
    },
  };
}

async function hashes({ result }: Readonly<Record<string, unknown>>) {
  const found = new Map<string, string>();
  const tools = isRecord(result) && Array.isArray(result["tools"]) ? result["tools"] : [];
  for (const tool of tools.slice(0, TOOLS_MAX) as readonly unknown[]) {
    if (!isRecord(tool) || typeof tool["name"] !== "string") continue;
    const { name } = tool;
    const hash = await toolHash(tool);
    found.set(name, (found.get(name) ?? hash) === hash ? hash : DUPLICATE);
  }
  return found;
}

/** Whether an answer to `tools/list` is the last page of a list. */
export function isLastPage({ result }: Readonly<Record<string, unknown>>): boolean {
  return isRecord(result) && Array.isArray(result["tools"]) && nextCursor(result) === undefined;
}

/** The cursor of the page after an answer. */
export function nextCursor(result: Readonly<Record<string, unknown>>): string | undefined {
  const { nextCursor } = result;
  return typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined;
}

/**
 * Returns the keys of the stateless revision in a request's `_meta`, for the proxy's own request.
 */
export function protocolMeta(meta: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(meta)) return {};
  const own = Object.entries(meta).filter(([key]) => key.startsWith("io.modelcontextprotocol/"));
  return own.length === 0 ? {} : { _meta: Object.fromEntries(own) };
}

/** Prints the proxy's own request for a page of the list. */
export function printListRequest(
  id: string,
  meta: Readonly<Record<string, unknown>>,
  cursor: string | undefined,
): Uint8Array<ArrayBuffer> {
  const params = { ...meta, ...defined({ cursor }) };
  return printMessage({ jsonrpc: "2.0", id, method: "tools/list", params });
}
