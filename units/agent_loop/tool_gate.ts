/**
 * Applies the gate to calls that do not pass through `fleetctl-mcp`: tools of MCPs that the client
 * config names by URL, and the built-in tools. Reads the rendered gate files again whenever they
 * change. Refuses a call of an MCP without a gate file. A mode in the agent's record makes built-in
 * tools ask, by the table that other programs use too.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { DIRECT } from "core/mcp/call_origin.ts";
import type { AskMode } from "core/ledger/agent.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import type { AskHuman } from "core/risk/admission.ts";
import { builtInPolicy, decideBuiltIn, type ToolClass } from "core/risk/builtin_tools.ts";
import type { ToolCall } from "core/risk/call.ts";
import { commandBlocked, ruledCommand } from "core/risk/command.ts";
import { approvalUnavailable, decideCall } from "core/risk/decide.ts";
import { createGateReader, gatePolicy, type GateReader, readGates } from "core/risk/gate_file.ts";
import { argumentPaths, placeOf, type Workspace } from "core/risk/tool_place.ts";
import { isRecord } from "core/text/json_object.ts";
import type { Tool, ToolOutcome } from "units/agent_loop/tools/tool.ts";

/** Dependencies of the endpoint. */
export interface ToolGateContext {
  readonly agent: string;
  /** Name of the runtime definition; shown with a question about a built-in tool. */
  readonly runtime: string;
  /** Which built-in tools ask. */
  readonly mode: AskMode;
  readonly paths: Paths;
  readonly files: Pick<Files, "readText" | "stat" | "list" | "realPath" | "readLink">;
  /** Names of the MCPs that are reached by URL. */
  readonly byUrl: ReadonlySet<string>;
  /** Requests a human's decision about a call; `policy` identifies the rules behind it. */
  readonly ask?: (
    call: ToolCall,
    by: { readonly policy: Policy; readonly signal: AbortSignal },
  ) => ReturnType<AskHuman>;
}

type Policy = (call: ToolCall) => Promise<Result<string>>;

/**
 * Creates the endpoint. It wraps a tool, so that the gate decides before each run. In the workspace
 * edits may pass without a question.
 */
export function toolGate(
  context: ToolGateContext,
): (tool: Tool, workspace: Workspace | undefined) => Tool {
  const readers = new Map<string, GateReader>();
  const readerOf = (mcp: string) => {
    const reader = readers.get(mcp) ??
      createGateReader(context.files, context.paths.gate(mcp), mcp);
    readers.set(mcp, reader);
    return reader;
  };
  return (tool, workspace) => {
    const check = checkOf(tool, { ...context, workspace }, readerOf);
    if (check === undefined) return tool;
    return {
      ...tool,
      async run(input, signal) {
        const allowed = await check(input, signal);
        if (allowed.ok) return await tool.run(input, signal);
        return signal.aborted ? STOPPED : denied(allowed.error);
      },
    };
  };
}

type Check = (input: unknown, signal: AbortSignal) => Promise<Result<void>>;

const STOPPED: ToolOutcome = {
  status: "stopped",
  text: "[cancelled while it waited for approval]",
};

interface CheckContext extends ToolGateContext {
  readonly workspace: Workspace | undefined;
}

function checkOf(
  tool: Tool,
  context: CheckContext,
  readerOf: (mcp: string) => GateReader,
): Check | undefined {
  const { mcp } = tool;
  if (mcp === undefined) return (input, signal) => checkBuiltIn(tool, input, { context, signal });
  return context.byUrl.has(mcp)
    ? (input, signal) => {
      const at = { gate: readerOf(mcp), signal };
      return checkCall({ mcp, tool: tool.tool, input }, context, at);
    }
    : undefined;
}

/** A blocked command is refused in every mode; what else asks depends on the mode. */
async function checkBuiltIn(
  { tool, kind }: Tool,
  input: unknown,
  { context, signal }: { readonly context: CheckContext; readonly signal: AbortSignal },
): Promise<Result<void>> {
  const { agent, runtime, mode, workspace, files } = context;
  const allowed = kind === "execute" ? await checkCommand(input, context) : ok(undefined);
  if (!allowed.ok) return allowed;
  const given = isRecord(input) ? input : {};
  const toolClass = CLASSES[kind];
  const place = await placeOf({ toolClass, paths: argumentPaths(given) }, workspace, files);
  const hasArguments = Object.keys(given).length > 0;
  // Without arguments a tool of this runtime only reports that they are missing.
  if (!hasArguments || decideBuiltIn({ toolClass, place, hasArguments }, mode) === "allow") {
    return ok(undefined);
  }
  const call: ToolCall = {
    agent,
    mcp: "",
    version: runtime,
    tool,
    arguments: given,
    origin: DIRECT,
  };
  const policy = async () => ok(await builtInPolicy(mode));
  return context.ask === undefined
    ? err(approvalUnavailable(call))
    : await context.ask(call, { policy, signal });
}

/** Kinds of built-in tools, as the table names them. */
const CLASSES: Readonly<Record<Tool["kind"], ToolClass>> = {
  read: "read",
  edit: "edit",
  execute: "command",
  other: "other",
};

/**
 * Refuses only blocked commands. A command that reaches a tool which needs approval may run: the
 * verb in it requests the approval, with the actual arguments. A second request here would be about
 * the same call.
 */
async function checkCommand(input: unknown, context: ToolGateContext): Promise<Result<void>> {
  const { command } = (input ?? {}) as { readonly command?: unknown };
  if (typeof command !== "string") return ok(undefined);
  const ruled = ruledCommand(await readGates(context.files, context.paths), command);
  return ruled?.decision === "block" ? err(commandBlocked(ruled)) : ok(undefined);
}

async function checkCall(
  of: { readonly mcp: string; readonly tool: string; readonly input: unknown },
  context: ToolGateContext,
  at: { readonly gate: GateReader; readonly signal: AbortSignal },
): Promise<Result<void>> {
  const gate = await at.gate.current();
  if (!gate.ok) return gate;
  const call: ToolCall = {
    agent: context.agent,
    mcp: of.mcp,
    version: gate.value.version,
    tool: of.tool,
    arguments: (of.input ?? {}) as Readonly<Record<string, unknown>>,
    origin: DIRECT,
  };
  const verdict = decideCall(gate.value, call);
  if (verdict.decision === "block") return err(verdict.why);
  if (verdict.decision === "allow") return ok(undefined);
  if (context.ask === undefined) return err(approvalUnavailable(call));
  return await context.ask(call, { policy: gatePolicy(at.gate), signal: at.signal });
}

function denied(reason: Refusal): ToolOutcome {
  return { status: "denied", text: reason.message };
}
