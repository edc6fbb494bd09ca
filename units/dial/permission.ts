/**
 * The dial unit's answer to a runtime's permission request. A command that reaches a blocked tool
 * is denied. A call of an MCP that fleetctl wired is decided by the gate's rule. A call behind the
 * MCP proxy needs no approval here, because the proxy requests one with the arguments of the call
 * itself. A call of a built-in tool is decided by the table of built-in tools and the agent's mode.
 * What the rules do not decide becomes an approval for a human. The runtime asks before it acts, so
 * the decision is about what it intends to do.
 *
 * @module
 */

import { DIRECT } from "core/mcp/call_origin.ts";
import { cutText } from "core/text/cut_text.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AskMode } from "core/ledger/agent.ts";
import { parseMcpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { deniedByHuman, undecidedRefusal } from "core/risk/approval.ts";
import { unreviewedRefusal } from "core/risk/accepted.ts";
import { builtInPolicy, decideBuiltIn } from "core/risk/builtin_tools.ts";
import { policyDigest, type ToolCall } from "core/risk/call.ts";
import { commandBlocked, ruledCommand } from "core/risk/command.ts";
import { decideCall, toolText } from "core/risk/decide.ts";
import { createGateReader, readGates } from "core/risk/gate_file.ts";
import { placeOf, type Workspace } from "core/risk/tool_place.ts";
import type {
  PermissionAnswer,
  PermissionAsk,
  PermissionDecider,
} from "units/dial/runtimes/acp_permission.ts";
import type { Approvals } from "units/dial/approvals.ts";

/** Answers permission requests; denies those that need an approval until the approvals are open. */
export interface PermissionEndpoint {
  readonly decide: PermissionDecider;
  open(approvals: Approvals): void;
}

/** Maximum size of a blocked tool's name in the log; the name is a word of the command. */
const RULE_BYTES_MAX = 256;
/** Version that a gate file states for an MCP at a URL. */
const BY_URL = "http";

/** Note for programs that ask before they know the arguments of the call. */
const NO_ARGUMENTS_NOTE = "the program asks without the arguments of the call";

/** Creates the permission endpoint of one agent. */
export function createPermissionEndpoint(deps: {
  readonly runtime: string;
  /** Which built-in tools ask. */
  readonly mode: AskMode;
  /**
   * Returns where reads and edits may pass without an approval; undefined: every path is outside.
   * It changes with the conversation.
   */
  readonly workspace: () => Workspace | undefined;
  readonly paths: Paths;
  readonly files: Pick<Files, "readText" | "stat" | "list" | "realPath" | "readLink">;
  readonly log: Log;
}): PermissionEndpoint {
  const { paths, files, log } = deps;
  let approvals: Approvals | undefined;
  return {
    open: (opened) => {
      approvals = opened;
    },
    decide: async (request, signal) => {
      const command = commandOf(request);
      const ruled = command === undefined
        ? undefined
        : ruledCommand(await readGates(files, paths), command);
      if (ruled?.decision === "block") {
        log.info("permission denied", {
          tool: request.tool,
          rule: cutText(ruled.tool, RULE_BYTES_MAX).text,
        });
        return deny(commandBlocked(ruled));
      }
      const question = await questionOf(request, deps);
      if ("decision" in question) return question;
      if (approvals === undefined) return deny(notOpenYet(question.call));
      return await requestApproval(question, approvals, signal);
    },
  };
}

/** A call that needs an approval, and the rules behind it. */
interface Question {
  readonly call: Omit<ToolCall, "agent">;
  readonly policy: string;
  /** Policy at the time of use. An approval does not count if the policy has changed since. */
  readonly policyNow: () => Promise<string | undefined>;
}

type QuestionContext = Parameters<typeof createPermissionEndpoint>[0];

/** Decides by rule, or returns the call that needs an approval. */
async function questionOf(
  request: PermissionAsk,
  context: QuestionContext,
): Promise<PermissionAnswer | Question> {
  const { mcp = "", isProxied = false } = request;
  // The model supplies the name; only a valid MCP name may become a file name.
  const name = parseMcpName(mcp);
  const file = name.ok ? context.paths.gate(name.value) : undefined;
  const isGated = file !== undefined && await context.files.stat(file) !== undefined;
  if (file !== undefined && (isGated || isProxied)) {
    return await decideByGate(request, file, context);
  }
  return await runtimeTool(request, context);
}

/**
 * Decides about a tool of the program itself. A tool of a server that fleetctl did not wire always
 * needs an approval: it has no marks, and it is not built in.
 */
async function runtimeTool(
  request: PermissionAsk,
  context: QuestionContext,
): Promise<PermissionAnswer | Question> {
  const { mcp = "", act = { toolClass: "other", paths: [] } } = request;
  const { mode, workspace, files, log } = context;
  const given = argumentsOf(request.arguments);
  if (mcp === "") {
    const hasArguments = Object.keys(given).length > 0;
    const place = await placeOf(act, workspace(), files);
    if (decideBuiltIn({ toolClass: act.toolClass, place, hasArguments }, mode) === "allow") {
      log.info("permission allowed", { tool: request.tool, mode });
      return { decision: "allow" };
    }
  }
  const policy = await builtInPolicy(mode);
  const tool = mcp === "" ? request.tool : `${mcp}.${request.tool}`;
  return {
    call: {
      mcp: "",
      version: context.runtime,
      tool,
      origin: DIRECT,
      arguments: Object.keys(given).length > 0
        ? given
        : { title: request.title, note: NO_ARGUMENTS_NOTE },
    },
    policy,
    policyNow: () => Promise.resolve(policy),
  };
}

/**
 * Decides by the gate's rule. A call behind the MCP proxy passes unless it is blocked, because the
 * proxy requests the approval.
 */
async function decideByGate(
  request: PermissionAsk,
  file: string,
  context: QuestionContext,
): Promise<PermissionAnswer | Question> {
  const { mcp = "", isProxied = false, tool, arguments: given } = request;
  const reader = createGateReader(context.files, file, mcp);
  const gate = await reader.current();
  if (!gate.ok) return deny(gate.error);
  const { version, accepted } = gate.value;
  const call = { mcp, version, tool, arguments: argumentsOf(given), origin: DIRECT };
  const verdict = decideCall(gate.value, { ...call, agent: "" });
  if (verdict.decision === "block") return deny(verdict.why);
  // Also checked behind the MCP proxy: a built-in tool of the program must not pass because its
  // name looks like a tool of this MCP.
  if (accepted?.has(tool) === false) return deny(unreviewedRefusal({ ...call, agent: "" }, "new"));
  if (isProxied) return { decision: "allow" };
  if (verdict.decision === "allow") {
    // Only a server at a URL is reached without the MCP proxy. Any other server merely uses that
    // name.
    return version === BY_URL ? { decision: "allow" } : await runtimeTool(request, context);
  }
  return {
    call,
    policy: await policyDigest(gate.value),
    policyNow: async () => {
      const now = await reader.current();
      return now.ok ? await policyDigest(now.value) : undefined;
    },
  };
}

async function requestApproval(
  { call, policy, policyNow }: Question,
  approvals: Approvals,
  signal: AbortSignal | undefined,
): Promise<PermissionAnswer> {
  const question = await approvals.ask(call, { policy, isDestructive: true });
  if (!question.ok) return deny(question.error);
  const { approval, outcome, delivered, use, withdraw } = question.value;
  // The runtime withdrew its request, so the approval is withdrawn too.
  signal?.addEventListener("abort", withdraw, { once: true });
  if (signal?.aborted === true) withdraw();
  try {
    const found = await outcome;
    const stored = delivered();
    if (!stored.ok) return deny(stored.error);
    if (found.kind === "denied") return deny(deniedByHuman(call, found.verdict));
    if (found.kind !== "approved") return deny(undecidedRefusal(call, found.kind));
    if (await policyNow() !== policy) return deny(undecidedRefusal(call, "superseded"));
    const used = use(approval.digest);
    return used.ok ? { decision: "allow" } : deny(used.error);
  } finally {
    signal?.removeEventListener("abort", withdraw);
    withdraw();
  }
}

function notOpenYet(call: Question["call"]): Refusal {
  return refusal(
    "approval-unavailable",
    `Cannot call tool ${toolText(call)}: the agent is starting and cannot request approval yet; ` +
      "nothing was done",
    { kind: "denied" },
  );
}

function deny({ message }: Refusal): PermissionAnswer {
  return { decision: "deny", reason: message };
}

function argumentsOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return value === undefined ? {} : { value };
  return Array.isArray(value) ? { value } : value as Readonly<Record<string, unknown>>;
}

/** The shell command of a request, in the spellings that runtimes use; its title otherwise. */
function commandOf({ arguments: given, title }: PermissionAsk): string | undefined {
  const { command, cmd } = argumentsOf(given);
  const found = command ?? cmd;
  if (typeof found === "string") return found;
  return Array.isArray(found) ? found.join(" ") : title === "" ? undefined : title;
}
