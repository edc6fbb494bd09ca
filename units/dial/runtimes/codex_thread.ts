/**
 * Parameters of a `codex app-server` thread: the folder, the approval policy, the sandbox, and the
 * MCPs as settings of this thread only. So no file of the user is written, and no setting of the
 * workspace applies. Pure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AskMode } from "core/ledger/agent.ts";
import { decideBuiltIn } from "core/risk/builtin_tools.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";

/** Inputs of the thread's parameters. */
export interface ThreadInputs {
  readonly cwd: string;
  /** `read-only`, `workspace-write` or `danger-full-access`; the program's default when absent. */
  readonly mode: string | undefined;
  /** Mode in the agent's record. */
  readonly ask: AskMode | undefined;
  readonly entries: readonly McpEntry[];
}

/** Features that would act without a question or without a trace in the transcript. */
const FEATURES_OFF = {
  // Input typed into a running command needs no approval, so commands accept no input.
  unified_exec_tty: false,
  // Sub-agents, and turns that the program begins by itself, would not be shown.
  multi_agent: false,
  goals: false,
  // These would add tools and MCPs from other sources.
  plugins: false,
  apps: false,
};
/** How long an MCP server may take to start. */
const MCP_START_SECONDS = 20;
/** Long enough for a person's decision; the gate ends the call much earlier. */
const MCP_CALL_SECONDS = 7 * 24 * 60 * 60;
/** Sandbox that keeps what a command writes in the workspace, and has no network. */
const HOLDING_SANDBOX = "workspace-write";
const SANDBOX_TYPES: Readonly<Record<string, string>> = {
  "read-only": "readOnly",
  "workspace-write": "workspaceWrite",
  "danger-full-access": "dangerFullAccess",
};

/**
 * Returns when the program asks. With `untrusted` it asks about every command. An allowed one may
 * then run without the sandbox, so the sandbox does not replace the question. With
 * `on-request` it runs commands in the sandbox and asks about what needs more. No model may approve
 * in the person's place.
 */
function policyOf({ mode, ask }: Pick<ThreadInputs, "mode" | "ask">): Message {
  const inside = { toolClass: "command", place: "inside", hasArguments: true } as const;
  const isFree = ask !== undefined && decideBuiltIn(inside, ask) === "allow";
  const approvalPolicy = isFree && mode === HOLDING_SANDBOX ? "on-request" : "untrusted";
  return { approvalPolicy, approvalsReviewer: "user" };
}

/** The model's provider runs a web search, so nothing could ask about it. */
function webSearchOf(ask: AskMode | undefined): Message {
  const search = { toolClass: "web", place: "outside", hasArguments: true } as const;
  const isAsked = ask !== undefined && decideBuiltIn(search, ask) === "ask";
  return isAsked ? { web_search: "disabled" } : {};
}

/** Parameters of `thread/start` and of `thread/resume`, which does not remember them. */
export function threadParams({ cwd, mode, ask, entries }: ThreadInputs): Message {
  return {
    cwd,
    ...policyOf({ mode, ask }),
    ...defined({ sandbox: mode }),
    config: {
      // Otherwise the program would trust this folder and load MCPs and rules from it.
      projects: { [cwd]: { trust_level: "untrusted" } },
      features: FEATURES_OFF,
      ...webSearchOf(ask),
      mcp_servers: Object.fromEntries(entries.map((entry) => [entry.name, serverOf(entry)])),
    },
  };
}

function serverOf(entry: McpEntry): Message {
  const common = {
    startup_timeout_sec: MCP_START_SECONDS,
    tool_timeout_sec: MCP_CALL_SECONDS,
    supports_parallel_tool_calls: true,
    // The MCP proxy decides about each of its calls; all others need an approval.
    default_tools_approval_mode: entry.isProxied ? "approve" : "prompt",
  };
  return entry.kind === "stdio"
    ? { command: entry.command, args: entry.args, env: entry.env, ...common }
    : { url: entry.url, http_headers: entry.headers, ...common };
}

/** Returns why an opened thread cannot be used: it did not apply a required parameter. */
export function refusedParameter(
  opened: Message,
  { mode, ask }: Pick<ThreadInputs, "mode" | "ask">,
): string | undefined {
  for (const [key, wanted] of Object.entries(policyOf({ mode, ask }))) {
    if (opened[key] !== wanted) return `it does not accept ${key} ${JSON.stringify(wanted)}`;
  }
  const sandbox = textOf(fieldsOf(opened.sandbox).type);
  return mode === undefined || SANDBOX_TYPES[mode] === sandbox
    ? undefined
    : `it does not accept the mode ${JSON.stringify(mode)}`;
}
