/**
 * Decides what the demo model answers. Pure. It states that it is a demo, calls only tools that the
 * request lists, and reports only real tool results.
 *
 * @module
 */

import { parseJsonObject } from "core/text/json_object.ts";
import { cutMiddle } from "core/text/cut_text.ts";
import { printCommit } from "units/agent_loop/demo/commit.ts";

/** A tool in the request. */
export interface DemoTool {
  readonly name: string;
  readonly description: string;
}

/** A message of the request, text only. */
export type DemoMessage =
  | { readonly role: "user" | "assistant" | "system"; readonly text: string }
  | { readonly role: "tool"; readonly callId: string; readonly text: string };

/** A request to the demo model. */
export interface DemoRequest {
  readonly messages: readonly DemoMessage[];
  readonly tools: readonly DemoTool[];
}

/** The environment of the demo model's agent. */
export interface DemoEnvironment {
  readonly agent: string;
  readonly cwd: string;
  readonly home: string;
  /** Folder that "this project" means. */
  readonly project: string;
  /** The command that runs `fleetctl` on this host. */
  readonly fleetctl: string;
}

/** An answer: text, optionally with one call. */
export interface DemoAnswer {
  readonly text: string;
  readonly call?: { readonly tool: string; readonly arguments: Readonly<Record<string, unknown>> };
}

const RESULT_BYTES_MAX = 4 * 1024;
const TOOLS_SHOWN_MAX = 60;
const CALL = /^\s*call\s+(\S+)(?:\s+([\s\S]*\S))?\s*$/i;
const LAST_COMMIT = /\blast\s+commit\b\s*(?:(?:of|in|on|for|from|at)\s+)?([\s\S]*)$/i;
const WHAT =
  /\bwhat\s+can\s+you\s+do\b|\b(?:which|what|list)\s+(?:the\s+)?tools\b|^\s*help\s*[?!.]*\s*$/i;
const THIS_PROJECT = /^(?:this|the|my|our)\s+(?:project|repo|repository|folder)$|^here$|^$/i;
const FAILED = /^\[(failed|denied|stopped)\] ?([\s\S]*)$/;

/** Decides the answer. */
export function answerDemo(request: DemoRequest, environment: DemoEnvironment): DemoAnswer {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const question = textAt(request, lastUser);
  const results = request.messages.slice(lastUser + 1).filter((message) => message.role === "tool");
  const result = results.at(-1);
  const intent = intentOf(question, environment);
  if (result !== undefined) return { text: reportResult(intent, result.text) };
  switch (intent.kind) {
    case "call":
      return startCall(request, intent);
    case "last-commit":
      return startLastCommit(request, intent.path, environment);
    case "what":
      return { text: describeTools(request.tools) };
    case "other":
      return { text: introduce(environment) };
  }
}

type Intent =
  | { readonly kind: "call"; readonly tool: string; readonly json: string }
  | { readonly kind: "last-commit"; readonly path: string }
  | { readonly kind: "what" }
  | { readonly kind: "other" };

function intentOf(question: string, environment: DemoEnvironment): Intent {
  const call = CALL.exec(question);
  if (call !== null) return { kind: "call", tool: call[1] ?? "", json: call[2] ?? "{}" };
  const commit = LAST_COMMIT.exec(question);
  if (commit !== null) return { kind: "last-commit", path: pathOf(commit[1] ?? "", environment) };
  return WHAT.test(question) ? { kind: "what" } : { kind: "other" };
}

function startCall(request: DemoRequest, intent: { tool: string; json: string }): DemoAnswer {
  const { tool, json } = intent;
  if (!request.tools.some((each) => each.name === tool)) {
    const names = request.tools.map((each) => each.name);
    const near = names.filter((name) => name.includes(tool) || tool.includes(name)).slice(0, 5);
    const hint = near.length > 0
      ? `Did you mean ${near.map(quoted).join(" or ")}?`
      : `I have ${names.slice(0, 12).map(quoted).join(", ") || "no tools"}.`;
    return { text: `There is no tool ${quoted(tool)}. ${hint}` };
  }
  const parsed = parseJsonObject(json);
  if (parsed === undefined) {
    return {
      text: `What follows ${quoted(tool)} is not a JSON object. ` +
        `Write it like this: call ${tool} {"path": "/folder"}`,
    };
  }
  return { text: `Calling ${quoted(tool)}.`, call: { tool, arguments: parsed } };
}

function startLastCommit(
  request: DemoRequest,
  path: string,
  environment: DemoEnvironment,
): DemoAnswer {
  const tool = request.tools.find((each) => each.name === "git_log") ??
    request.tools.find((each) => each.name.endsWith("git_log"));
  if (tool === undefined) {
    return {
      text: "I look up commits through the git MCP, and its tools are not available. " +
        "If it is wired, a notice in the first turn states the problem; if not, " +
        `this wires it: fleetctl mcp add git ${environment.agent}, ` +
        `then fleetctl agents restart ${environment.agent}`,
    };
  }
  return {
    text: `Looking up the last commit of ${path}.`,
    call: { tool: tool.name, arguments: { path, maxCount: 1 } },
  };
}

function reportResult(intent: Intent, result: string): string {
  const failure = FAILED.exec(result);
  const tool = intent.kind === "call"
    ? quoted(intent.tool)
    : intent.kind === "last-commit"
    ? "The git MCP"
    : "The tool";
  if (failure !== null) {
    const verb = failure[1] === "denied"
      ? "was refused"
      : failure[1] === "stopped"
      ? "was stopped"
      : "failed";
    return `${tool} ${verb}:\n\n${fenced(failure[2] ?? "")}`;
  }
  if (intent.kind === "last-commit") {
    const commit = printCommit(result);
    if (commit !== undefined) return `The last commit of ${intent.path}:\n\n${commit}`;
    return `The git MCP found no commit in ${intent.path}. It answered:\n\n${fenced(result)}`;
  }
  return `${tool} answered:\n\n${fenced(result)}`;
}

function describeTools(tools: readonly DemoTool[]): string {
  const shown = tools.slice(0, TOOLS_SHOWN_MAX).map((tool) =>
    `- ${quoted(tool.name)}: ${firstSentence(tool.description)}`
  );
  const rest = tools.length - shown.length;
  return [
    "I am the demo model: I understand only a few phrases, but my tools are real.",
    "",
    "- `last commit of <path>` looks it up through the git MCP",
    "- `call <tool> <json>` calls any of my tools",
    "- `what can you do` shows this",
    "",
    tools.length === 0 ? "I have no tools." : `My ${tools.length} tools:`,
    ...shown,
    ...(rest > 0 ? [`- and ${rest} more`] : []),
  ].join("\n");
}

function introduce(environment: DemoEnvironment): string {
  return [
    "I am the demo model that comes with fleetctl, not a language model: I cannot answer that. " +
    "I do run real tools: try `what can you do`, or `last commit of this project`.",
    "",
    `To connect a real model, choose "Model of ${environment.agent}" at the top of the page, or ` +
    "run this, which asks for its key:",
    "",
    "```",
    `${environment.fleetctl} agents model set ${environment.agent} --provider anthropic --model ` +
    "claude-sonnet-4-5",
    "```",
    "",
    "The providers are anthropic, openai and openai-compatible (any base URL).",
  ].join("\n");
}

/** Reads a path from the rest of a sentence. */
function pathOf(rest: string, environment: DemoEnvironment): string {
  const trimmed = rest.trim().replace(/[?!]+$/, "").trim();
  const quotedPath = /^(["'`])([\s\S]+)\1\.?$/.exec(trimmed)?.[2];
  const path = quotedPath ?? trimmed.replace(/(?<=[^./])\.$/, "").trim();
  if (quotedPath === undefined && THIS_PROJECT.test(path)) return environment.project;
  if (path === "~" || path.startsWith("~/")) return environment.home + path.slice(1);
  if (path.startsWith("/")) return path;
  return path === "." ? environment.cwd : `${environment.cwd}/${path.replace(/^\.\//, "")}`;
}

function textAt(request: DemoRequest, index: number): string {
  return request.messages[index]?.text ?? "";
}

function firstSentence(text: string): string {
  const line = text.split("\n", 1)[0]?.trim() ?? "";
  const end = line.search(/\.(\s|$)/);
  return (end === -1 ? line : line.slice(0, end)).slice(0, 160);
}

function quoted(name: string): string {
  return `\`${name.replaceAll("`", "'").slice(0, 80)}\``;
}

/** A fenced block whose fence is longer than any fence in the text. */
function fenced(text: string): string {
  const cut = cutMiddle(text, RESULT_BYTES_MAX).text;
  let fence = "```";
  while (cut.includes(fence)) fence += "`";
  return `${fence}\n${cut}\n${fence}`;
}
