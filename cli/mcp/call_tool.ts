/**
 * Shared by `fleetctl mcp read` and `fleetctl mcp call`: one parser, one gate, and one connection
 * to the server on the agent's socket. The server starts as that agent with that agent's
 * credentials. Neither verb is read-only. They differ in who may run them for another agent
 * (`core/verbs/table_mcp.ts`).
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { explainFault } from "cli/mcp/call_fault.ts";
import { isOwnProxy, socketPlace, urlPlace } from "cli/mcp/call_endpoint.ts";
import { answererOf, parseAnswers } from "cli/mcp/questions.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { findEntry, readCatalog } from "core/catalog/catalog.ts";
import { deniedIn, deniedInSandbox } from "core/catalog/denied.ts";
import { versionOf } from "core/catalog/edit.ts";
import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";
import type { CallOrigin, CallVerb } from "core/mcp/call_origin.ts";
import { defined } from "core/defined.ts";
import { createApprovalRequest } from "core/dial/ask_human.ts";
import { errorText, refusal } from "core/errors.ts";
import { findAgent, readLedger } from "core/ledger/ledger.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { type AgentName, type McpName, parseMcpName } from "core/names.ts";
import type { McpAnswer, McpEndpoint } from "core/ports/mcp_client.ts";
import { quoteShell } from "core/text/quote.ts";
import { err, ok, type Result } from "core/result.ts";
import { callAdmitted } from "core/risk/admission.ts";
import { createGateReader, gatePolicy } from "core/risk/gate_file.ts";
import { callerAgent, callerText, seesHost } from "core/verbs/caller.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";
import { verbName } from "core/verbs/verb.ts";

/** Options of a call. The agent is the context's target. */
export interface Options {
  readonly verb: CallVerb;
  readonly mcp: McpName;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Number of the only content block to print, from 1. */
  readonly block: number | undefined;
  readonly timeoutMs: number;
  /** Answers to the server's questions, by field name. */
  readonly answers: ReadonlyMap<string, string>;
}

/** Longest accepted name of a tool. */
const TOOL_NAME_LENGTH_MAX = 128;

/** Parses the arguments of either verb. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const { args, options } = invocation;
  const verb = verbName(invocation.verb) === "mcp call" ? "mcp call" : "mcp read";
  const mcp = parseMcpName(args.mcp ?? "");
  if (!mcp.ok) return mcp;
  const tool = args.tool ?? "";
  const bad = (found: string, shown = tool) =>
    err(badArguments({ verb, mcp: mcp.value, found, tool: shown, agent: args.agent }));
  if (tool === "" || tool.length > TOOL_NAME_LENGTH_MAX) {
    return bad("the name of the tool is unusable", tool.slice(0, 20));
  }
  const parsed = parseArguments(options.args ?? "{}");
  if (!parsed.ok) return bad(parsed.error);
  const block = wholeNumber(options.out, 1, 1_000);
  if (block === "bad") return bad("--out is not the number of a content block, from 1");
  const seconds = wholeNumber(options.timeout, 1, MCP_LIMITS.callSeconds);
  if (seconds === "bad") {
    return bad(`--timeout is not a number of seconds, from 1 to ${MCP_LIMITS.callSeconds}`);
  }
  const timeoutMs = (seconds ?? MCP_LIMITS.callSeconds) * 1000;
  const answers = parseAnswers(repeated(invocation, "answer"));
  if (!answers.ok) return answers;
  return ok({
    verb,
    mcp: mcp.value,
    tool,
    arguments: parsed.value,
    block,
    timeoutMs,
    answers: answers.value,
  });
}

/** Calls the tool. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths, target, caller } = context;
  const { verb, mcp, tool } = options;
  if (target.kind !== "agent") throw new Error(`${verb} needs an agent as its target`);
  const catalog = await readCatalog(ports, paths);
  if (!catalog.ok) return catalog;
  const manifest = findEntry(catalog.value, mcp);
  if (!manifest.ok) return manifest;
  const socket = await socketOf(context, manifest.value, target.agent);
  if (!socket.ok) return socket;
  // Reads the file that the proxy reads, not the manifest: a manifest takes effect only with
  // `apply`.
  const gate = await createGateReader(ports.files, paths.gate(mcp), mcp).current();
  if (!gate.ok) return gate;
  const endpoint: Result<McpEndpoint> = socket.value === undefined
    ? await urlPlace(context, gate.value, target.agent)
    : ok(socketPlace(context, mcp, { socket: socket.value, agent: target.agent }));
  if (!endpoint.ok) return endpoint;
  const at = endpoint.value;
  const isOwn = callerAgent(caller) === target.agent;
  const origin: CallOrigin = isOwn ? { kind: "verb", verb } : {
    kind: "relayed",
    verb,
    by: callerText(caller),
    ...(caller.kind === "operator" ? { root: true } : {}),
  };
  const call = {
    agent: target.agent,
    mcp,
    version: gate.value.version,
    tool,
    origin,
    arguments: options.arguments,
    timeoutMs: options.timeoutMs,
  };
  const client = await ports.openMcpClient();
  // The agent's own proxy asks for approval itself. Asking here too would ask twice about one call.
  const ask = isOwnProxy(context)
    ? () => Promise.resolve(ok(undefined))
    : askerOf(context, mcp, target.agent);
  const answerer = answererOf(context, mcp, options.answers);
  const answer = await callAdmitted(gate.value, call, {
    client,
    at,
    ask,
    ...defined({ answer: answerer }),
  });
  if (!answer.ok) {
    return err(await explainFault(context, manifest.value, target.agent, answer.error));
  }
  const done = report(options, target.agent, answer.value);
  const denied = answer.value.isError
    ? deniedOf(manifest.value, answer.value.text, paths.home(target.agent))
    : [];
  return done.ok && denied.length > 0
    ? ok({ ...done.value, warnings: [...done.value.warnings ?? [], ...denied] })
    : done;
}

/**
 * Deno prints its own permission errors. A sandboxed server reports errors of the system instead.
 */
function deniedOf(manifest: Manifest, text: string, home: string) {
  if (isSandboxed(manifest)) return deniedInSandbox(manifest, text, home);
  return deniedIn({ mcp: manifest.name, version: versionOf(manifest.source), home }, text);
}

/**
 * Requests approval. Prints the command that decides while it waits. Ctrl-C closes the connection,
 * which withdraws the request.
 */
function askerOf({ ports, paths, progress }: VerbContext, mcp: McpName, agent: AgentName) {
  return createApprovalRequest({
    socket: paths.dialSocket(agent),
    connect: (path) => ports.sockets.connectUnix(path),
    policy: gatePolicy(createGateReader(ports.files, paths.gate(mcp), mcp)),
    onAsked: ({ id }) =>
      progress.note(`waits for a human: fleetctl approvals show ${id.slice(0, 8)}`),
  });
}

function report(options: Options, agent: AgentName, answer: McpAnswer): Result<VerbReport> {
  const { mcp, tool, block } = options;
  const { isError, result } = answer;
  const content: readonly unknown[] = Array.isArray(result["content"]) ? result["content"] : [];
  if (block !== undefined && block > content.length) {
    return err(refusal(
      "content-block-absent",
      `Cannot print content block ${block} of tool "${tool}": the answer has ${content.length}`,
      { details: content.map((each, at) => `${at + 1}: ${blockKind(each)}`) },
    ));
  }
  const lines: readonly Cell[] = block === undefined
    ? content.flatMap((each, at) => blockLines(each, at + 1))
    : blockText(content[block - 1]).split("\n");
  const found: VerbReport = {
    json: { mcp, tool, agent, is_error: isError, result },
    blocks: [{ kind: "lines", lines, isVerbatim: true }],
  };
  return ok(isError ? { ...found, faults: [toolFailed(options, agent)] } : found);
}

interface ContentBlock {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly data?: unknown;
  readonly mimeType?: unknown;
  readonly uri?: unknown;
  readonly resource?: { readonly text?: unknown; readonly blob?: unknown; readonly uri?: unknown };
}

/** Returns a text as its lines; for anything else its kind and the option that prints it. */
function blockLines(value: unknown, number: number): readonly Cell[] {
  const { type, text, resource, uri } = value as ContentBlock;
  if (type === "text" && typeof text === "string") return text.split("\n");
  if (typeof resource?.text === "string") return resource.text.split("\n");
  if (type === "resource_link") return [`[${number}: link to ${String(uri)}]`];
  const dim = `[${number}: ${blockKind(value)}; --out ${number} prints it in base64]`;
  return [{ text: dim, tone: "dim" }];
}

/** Returns what `--out` prints: a text verbatim, anything else in base64. */
function blockText(value: unknown): string {
  const { text, data, resource, uri } = value as ContentBlock;
  for (const found of [text, data, resource?.text, resource?.blob, uri]) {
    if (typeof found === "string") return found;
  }
  return JSON.stringify(value);
}

function blockKind(value: unknown): string {
  const { type, mimeType } = value as ContentBlock;
  return [type, mimeType].filter((word) => typeof word === "string").join(" ") || "unknown";
}

function wholeNumber(text: string | undefined, min: number, max: number) {
  if (text === undefined) return undefined;
  const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  return value >= min && value <= max ? value : "bad";
}

function parseArguments(text: string): Result<Readonly<Record<string, unknown>>, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    return err(`--args is no JSON (${errorText(thrown).slice(0, 80)}), must be one JSON object`);
  }
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? ok(value as Readonly<Record<string, unknown>>)
    : err("--args is JSON of another kind, must be one JSON object");
}

/** Returns the socket of the MCP; undefined for one that is reached by URL. */
async function socketOf(
  { paths, ports, caller }: VerbContext,
  { name, transport, sharing }: Manifest,
  agent: AgentName,
): Promise<Result<string | undefined>> {
  if (transport === "http") return ok(undefined);
  const socket = sharing === "shared"
    ? paths.sharedMcpSocket(name)
    : paths.agentMcpSocket(name, agent);
  if (await ports.files.stat(socket) !== undefined) return ok(socket);
  // Only a caller that may read the ledger learns that the agent does not exist.
  const ledger = seesHost(caller) ? await readLedger(ports.files, paths) : undefined;
  const known = ledger?.ok ? findAgent(ledger.value, agent) : ok(undefined);
  return known.ok ? err(noSocket(name, agent)) : known;
}

function badArguments({ verb, mcp, found, tool, agent }: {
  readonly verb: CallVerb;
  readonly mcp: McpName;
  readonly found: string;
  readonly tool: string;
  readonly agent: string | undefined;
}) {
  const args = [
    tool === "" ? "<tool>" : quoteShell(tool),
    ...(agent === undefined ? [] : [agent]),
  ];
  return refusal("arguments-invalid", `Cannot call a tool of MCP "${mcp}": ${found}`, {
    kind: "usage",
    hints: [`fleetctl ${verb} ${mcp} ${args.join(" ")} --args '{"key":"value"}'`],
  });
}

function noSocket(mcp: McpName, agent: AgentName) {
  return refusal(
    "mcp-not-wired",
    `Cannot call MCP "${mcp}" as agent "${agent}": its socket is missing, must be wired first`,
    { hints: [`fleetctl mcp wired ${agent}`, `fleetctl mcp add ${mcp} ${agent}`] },
  );
}

/** The refusal for an answer with an error. The answer itself is printed on stdout. */
function toolFailed({ mcp, tool }: Options, agent: AgentName) {
  return refusal(
    "tool-failed",
    `Cannot finish tool "${tool}" of MCP "${mcp}": the server answered with an error`,
    { hints: [`fleetctl mcp doctor ${mcp} ${agent}`] },
  );
}
