/**
 * What a thread of `codex app-server` is opened with: the folder, the approval policy, the sandbox,
 * and the MCPs as settings of this thread alone. So no file of the person is written, and no
 * setting of the workspace counts. Pure.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { McpEntry } from "core/runtimes/mcp_entries.ts";
import { fieldsOf, type Message, textOf } from "units/dial/runtimes/message.ts";

/** What a thread is opened with. */
export interface ThreadSite {
  readonly cwd: string;
  /** `read-only`, `workspace-write` or `danger-full-access`; the program's default when absent. */
  readonly mode: string | undefined;
  readonly entries: readonly McpEntry[];
}

/** What would happen without a question, or without a line in the transcript. */
const FEATURES_OFF = {
  // What is typed into a running command is not asked about, so no command takes input.
  unified_exec_tty: false,
  // Helpers of the model, and turns that the program begins by itself, are not shown.
  multi_agent: false,
  goals: false,
  // Tools and MCPs from elsewhere.
  plugins: false,
  apps: false,
};
/** How long an MCP server may take to start. */
const MCP_START_SECONDS = 20;
/** A call waits for a person's decision; our own gate ends it much earlier. */
const MCP_CALL_SECONDS = 7 * 24 * 60 * 60;
/** Every command is asked about; what a person decides is not left to a model. */
const POLICY = { approvalPolicy: "untrusted", approvalsReviewer: "user" };
const SANDBOX_TYPES: Readonly<Record<string, string>> = {
  "read-only": "readOnly",
  "workspace-write": "workspaceWrite",
  "danger-full-access": "dangerFullAccess",
};

/** Parameters of `thread/start`, and the same of `thread/resume`, which forgets them. */
export function threadParams({ cwd, mode, entries }: ThreadSite): Message {
  return {
    cwd,
    ...POLICY,
    ...defined({ sandbox: mode }),
    config: {
      // The program would trust this folder by itself, and then take MCPs and rules from it.
      projects: { [cwd]: { trust_level: "untrusted" } },
      features: FEATURES_OFF,
      mcp_servers: Object.fromEntries(entries.map((entry) => [entry.name, serverOf(entry)])),
    },
  };
}

function serverOf(entry: McpEntry): Message {
  const common = {
    startup_timeout_sec: MCP_START_SECONDS,
    tool_timeout_sec: MCP_CALL_SECONDS,
    supports_parallel_tool_calls: true,
    // Our proxy decides about each call of its own; everything else is asked about.
    default_tools_approval_mode: entry.isProxied ? "approve" : "prompt",
  };
  return entry.kind === "stdio"
    ? { command: entry.command, args: entry.args, env: entry.env, ...common }
    : { url: entry.url, http_headers: entry.headers, ...common };
}

/** Returns why an opened thread cannot be used, when it did not take what it was opened with. */
export function looserThan(opened: Message, { mode }: ThreadSite): string | undefined {
  for (const [key, wanted] of Object.entries(POLICY)) {
    if (opened[key] !== wanted) return `it does not take ${key} ${JSON.stringify(wanted)}`;
  }
  const sandbox = textOf(fieldsOf(opened.sandbox).type);
  return mode === undefined || SANDBOX_TYPES[mode] === sandbox
    ? undefined
    : `it does not take the mode ${JSON.stringify(mode)}`;
}
