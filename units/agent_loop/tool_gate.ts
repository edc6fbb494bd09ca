/**
 * The runtime's own endpoint of the gate, for calls that do not pass through `fleetctl-mcp`. These
 * are commands of `bash`, and tools of MCPs that the client config names by URL. Reads the rendered
 * gate files again whenever they change. Refuses a call of an MCP without a gate file.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import { DIRECT } from "core/mcp/call_origin.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import type { AskHuman } from "core/risk/admission.ts";
import type { ToolCall } from "core/risk/call.ts";
import { commandBlocked, ruledCommand } from "core/risk/command.ts";
import { approvalUnavailable, decideCall } from "core/risk/decide.ts";
import { createGateReader, type GateReader, readGates } from "core/risk/gate_file.ts";
import type { Tool, ToolOutcome } from "units/agent_loop/tools/tool.ts";

/** Dependencies of the endpoint. */
export interface ToolGateContext {
  readonly agent: string;
  readonly paths: Paths;
  readonly files: Pick<Files, "readText" | "stat" | "list">;
  /** Names of the MCPs that are reached by URL. */
  readonly byUrl: ReadonlySet<string>;
  /** Requests a human's decision about a call of an MCP; `gate` is that MCP's gate. */
  readonly ask?: (
    call: ToolCall,
    at: { readonly gate: GateReader; readonly signal: AbortSignal },
  ) => ReturnType<AskHuman>;
}

/** Creates the endpoint. It wraps a tool, so that the gate decides before each run. */
export function toolGate(context: ToolGateContext): (tool: Tool) => Tool {
  const readers = new Map<string, GateReader>();
  const readerOf = (mcp: string) => {
    const reader = readers.get(mcp) ??
      createGateReader(context.files, context.paths.gate(mcp), mcp);
    readers.set(mcp, reader);
    return reader;
  };
  return (tool) => {
    const check = checkOf(tool, context, readerOf);
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

function checkOf(
  tool: Tool,
  context: ToolGateContext,
  readerOf: (mcp: string) => GateReader,
): Check | undefined {
  if (tool.mcp === undefined) {
    return tool.kind === "execute" ? (input) => checkCommand(input, context) : undefined;
  }
  const { mcp } = tool;
  return context.byUrl.has(mcp)
    ? (input, signal) => {
      const at = { gate: readerOf(mcp), signal };
      return checkCall({ mcp, tool: tool.tool, input }, context, at);
    }
    : undefined;
}

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
  return context.ask === undefined ? err(approvalUnavailable(call)) : await context.ask(call, at);
}

function denied(reason: Refusal): ToolOutcome {
  return { status: "denied", text: reason.message };
}
