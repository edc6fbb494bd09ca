/**
 * A runtime's permission request, for any wire protocol, and the answer to
 * `session/request_permission`. Denies by default on every path: no decider, a decider that throws,
 * or a program that offers no suitable option. No I/O.
 *
 * @module
 */

import { byteLength, cutText } from "core/text/cut_text.ts";
import type { ToolAct } from "core/risk/builtin_tools.ts";
import { isEmptyInput, type KnownCall } from "units/dial/runtimes/acp_updates.ts";
import { type McpTool, mcpToolOf } from "units/dial/runtimes/mcp_tool_name.ts";
import { acpAct } from "units/dial/runtimes/tool_acts.ts";
import type { RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";

/** A permission request: the call that the runtime wants to make. */
export interface PermissionAsk {
  readonly callId: string;
  /** The MCP that offers the tool, if the tool's name identifies it. */
  readonly mcp?: string | undefined;
  /** Calls of that MCP go through the MCP proxy, which decides about each by the gate's rule. */
  readonly isProxied?: boolean;
  readonly tool: string;
  readonly title: string;
  readonly arguments: unknown;
  /** What a tool of the program itself would do; unknown when absent. */
  readonly act?: ToolAct;
}

/** Maximum sizes of a request: names of the tool and its server, and title. */
const NAME_BYTES_MAX = 256;
const TITLE_BYTES_MAX = 64 * 1024;
/** Maximum size of a denial's sentence that a runtime receives. */
const REASON_BYTES_MAX = 8 * 1024;

/** The decision. The reason of a denial is a sentence for the model. */
export type PermissionAnswer =
  | { readonly decision: "allow" }
  | { readonly decision: "deny"; readonly reason: string };

/**
 * Decides one request; only `allow` permits the action, once. `signal` aborts when the runtime no
 * longer waits for the answer.
 */
export type PermissionDecider = (
  ask: PermissionAsk,
  signal?: AbortSignal,
) => Promise<PermissionAnswer>;

/**
 * Identifies the tool of a request. A call counts as proxied only when its name cannot belong to
 * another server.
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

/**
 * Calls `decide`. Denies without a decider, when `decide` throws, and when the request is too long
 * to read.
 */
export async function decideSafely(
  decide: PermissionDecider | undefined,
  ask: PermissionAsk,
  signal?: AbortSignal,
): Promise<PermissionAnswer> {
  if (decide === undefined) return denied(ask, "permissions cannot be decided here");
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
    return denied(ask, "the request could not be decided");
  }
}

function denied({ tool }: PermissionAsk, why: string): PermissionAnswer {
  const shown = JSON.stringify(cutText(tool, NAME_BYTES_MAX).text);
  return { decision: "deny", reason: `Cannot call tool ${shown}: ${why}` };
}

/** What an ACP session knows that helps to interpret a permission request. */
export interface AskContext {
  /** Names of the MCPs that the program received, and which of them go through the MCP proxy. */
  readonly servers: readonly string[];
  readonly proxied: ReadonlySet<string>;
  /** What the updates of the running turn have reported about a call. */
  callOf(callId: string): KnownCall | undefined;
  /** Called for each denial. */
  onDenied(callId: string, reason: string): void;
  /** Aborts when the running turn is cancelled. */
  signal(): AbortSignal | undefined;
}

/**
 * Calls `decide` and answers in the protocol's terms. Never selects an option that allows
 * permanently.
 */
export async function answerPermission(
  { toolCall, options }: RequestPermissionRequest,
  decide: PermissionDecider | undefined,
  context: AskContext,
): Promise<RequestPermissionResponse> {
  const signal = context.signal();
  const answer = await Promise.race([
    decideSafely(decide, askOf(toolCall, context), signal),
    whenAborted(signal),
  ]);
  if (answer === undefined) return { outcome: { outcome: "cancelled" } };
  if (answer.decision === "deny") context.onDenied(toolCall.toolCallId, answer.reason);
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

/**
 * Completes a request from earlier updates: programs often leave out the tool's name and arguments.
 */
function askOf(call: RequestPermissionRequest["toolCall"], context: AskContext): PermissionAsk {
  const title = call.title ?? "";
  const known = context.callOf(call.toolCallId);
  const name = call.name ?? (title === "" ? "tool" : title);
  const given = isEmptyInput(call.rawInput) ? known?.arguments ?? call.rawInput : call.rawInput;
  return {
    callId: call.toolCallId,
    ...namedTool(known?.tool ?? name, foundTool(known, name, context), context.proxied),
    title,
    arguments: given,
    act: acpAct({
      kind: call.kind ?? known?.kind,
      locations: (call.locations ?? []).length > 0 ? call.locations : known?.locations,
      content: call.content,
      arguments: given,
    }),
  };
}

function foundTool(
  known: KnownCall | undefined,
  name: string,
  { servers }: AskContext,
): McpTool | undefined {
  if (known === undefined) return mcpToolOf(name, servers);
  const { mcp, tool, isClear } = known;
  return mcp === undefined ? undefined : { mcp, tool, isClear };
}
