/**
 * A runtime's question whether it may, whatever its wire protocol, and the answer to
 * `session/request_permission`. Deny is the default on every path: no decider, a decider that
 * throws, or an agent that offers no fitting option. No I/O.
 *
 * @module
 */

import { byteLength, cutText } from "core/text/cut_text.ts";
import { isEmptyInput, type KnownCall } from "units/dial/runtimes/acp_updates.ts";
import { type McpTool, mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";

/** What the runtime wants to do. */
export interface PermissionAsk {
  readonly callId: string;
  /** The MCP whose tool it is, as far as the name of the tool says. */
  readonly mcp?: string | undefined;
  /** Calls of that MCP pass our proxy, which decides about each by the gate's rule. */
  readonly isProxied?: boolean;
  readonly tool: string;
  readonly title: string;
  readonly arguments: unknown;
}

/** Longest names of a tool and of its server that are asked about, and longest title. */
const NAME_BYTES_MAX = 256;
const TITLE_BYTES_MAX = 64 * 1024;
/** Longest sentence of a denial that a runtime is given. */
const REASON_BYTES_MAX = 8 * 1024;

/** What was decided. The reason of a denial is a sentence for the model. */
export type PermissionAnswer =
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly reason: string };

/**
 * Decides one request; only `allow` lets the runtime go on, once. `signal` aborts when the runtime
 * does not wait for the answer any more.
 */
export type PermissionDecider = (
  ask: PermissionAsk,
  signal?: AbortSignal,
) => Promise<PermissionAnswer>;

/**
 * Names the tool of a question. A call counts as one behind our proxy only when its name can be of
 * no other server.
 */
export function namedTool(
  name: string,
  found: McpTool | undefined,
  proxied: ReadonlySet<string>,
): Pick<PermissionAsk, "mcp" | "isProxied" | "tool"> {
  if (found === undefined) return { tool: name };
  const { mcp, tool, isClear } = found;
  return { mcp, isProxied: isClear && proxied.has(mcp), tool };
}

/** Asks `decide`; denies without a decider, when deciding fails, and what nobody could read. */
export async function decideSafely(
  decide: PermissionDecider | undefined,
  ask: PermissionAsk,
  signal?: AbortSignal,
): Promise<PermissionAnswer> {
  if (decide === undefined) return denied(ask, "no permission is given here");
  const long = [ask.tool, ask.mcp ?? ""].some((name) => byteLength(name) > NAME_BYTES_MAX);
  if (long) return denied(ask, `its name has more than ${NAME_BYTES_MAX} bytes`);
  if (byteLength(ask.title) > TITLE_BYTES_MAX) return denied(ask, "its title is too long to read");
  try {
    const answer = await decide(ask, signal);
    return answer.decision === "allow"
      ? answer
      : { decision: "deny", reason: cutText(answer.reason, REASON_BYTES_MAX).text };
  } catch {
    // The decider reports its own faults.
    return denied(ask, "the question could not be decided");
  }
}

function denied({ tool }: PermissionAsk, why: string): PermissionAnswer {
  const shown = JSON.stringify(cutText(tool, NAME_BYTES_MAX).text);
  return { decision: "deny", reason: `Cannot call tool ${shown}: ${why}` };
}

/** What an ACP session knows that its permission requests are held against. */
export interface AskSight {
  /** Names of the MCPs that the program was given, and those of them that pass our proxy. */
  readonly servers: readonly string[];
  readonly proxied: ReadonlySet<string>;
  /** What the updates of the running turn have told of a call. */
  callOf(callId: string): KnownCall | undefined;
  /** Hears of each denial. */
  onDenied(callId: string, reason: string): void;
  /** Aborts when the running turn is cancelled. */
  signal(): AbortSignal | undefined;
}

/** Asks `decide` and answers in the words of the protocol; nothing is ever allowed for good. */
export async function answerPermission(
  { toolCall, options }: RequestPermissionRequest,
  decide: PermissionDecider | undefined,
  sight: AskSight,
): Promise<RequestPermissionResponse> {
  const signal = sight.signal();
  const answer = await Promise.race([
    decideSafely(decide, askOf(toolCall, sight), signal),
    whenAborted(signal),
  ]);
  if (answer === undefined) return { outcome: { outcome: "cancelled" } };
  if (answer.decision === "deny") sight.onDenied(toolCall.toolCallId, answer.reason);
  const kind = answer.decision === "allow" ? "allow_once" : "reject_once";
  const option = options.find((offered) => offered.kind === kind);
  return option === undefined
    ? { outcome: { outcome: "cancelled" } }
    : { outcome: { outcome: "selected", optionId: option.optionId } };
}

function whenAborted(signal: AbortSignal | undefined): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) resolve(undefined);
    signal?.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}

/** Programs ask with less than their updates tell: no name, no arguments. */
function askOf(call: RequestPermissionRequest["toolCall"], sight: AskSight): PermissionAsk {
  const title = call.title ?? "";
  const known = sight.callOf(call.toolCallId);
  const name = call.name ?? (title === "" ? "tool" : title);
  return {
    callId: call.toolCallId,
    ...namedTool(known?.tool ?? name, foundTool(known, name, sight), sight.proxied),
    title,
    arguments: isEmptyInput(call.rawInput) ? known?.arguments ?? call.rawInput : call.rawInput,
  };
}

function foundTool(
  known: KnownCall | undefined,
  name: string,
  { servers }: AskSight,
): McpTool | undefined {
  if (known === undefined) return mcpToolOf(name, servers);
  const { mcp, tool, isClear } = known;
  return mcp === undefined ? undefined : { mcp, tool, isClear };
}
