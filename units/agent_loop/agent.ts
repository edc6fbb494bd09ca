/**
 * The built-in runtime as an ACP agent (protocol version 1): begins, loads and resumes sessions,
 * runs prompts as turns, and cancels them. A session runs one turn at a time. MCP servers come from
 * the agent's own client config, never from the client.
 *
 * @module
 */

import {
  agent,
  type AgentApp,
  type AgentContext,
  type ContentBlock,
  methods,
  type PromptRequest,
  type PromptResponse,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import type { Result } from "core/result.ts";
import { STEER_METHOD, steerRequest } from "core/dial/steer.ts";
import { promptImages } from "units/agent_loop/media/prompt_images.ts";
import { pdfOf, promptPdfs } from "units/agent_loop/media/prompt_pdfs.ts";
import { acpSink } from "units/agent_loop/acp_sink.ts";
import { replay } from "units/agent_loop/replay.ts";
import { createSessions, type SessionContext, type Sessions } from "units/agent_loop/sessions.ts";
import type { AnswerTokens } from "units/agent_loop/model/answer.ts";
import type { TurnTokens } from "units/agent_loop/turn/turn_tokens.ts";

/** Dependencies of the agent. */
export interface AgentDeps extends SessionContext {
  readonly version: string;
  /** Shown once, with the first turn of the process. */
  readonly greeting: string | undefined;
}

/** The agent and its shutdown. */
export interface RuntimeAgent {
  readonly app: AgentApp;
  /** Stops running turns, which stay open, and closes the sessions. */
  close(): Promise<void>;
}

/** JSON-RPC error code of a failed turn; `data` contains fleetctl's code, reason and hints. */
const TURN_FAILED = -32000;
const INVALID_PARAMS = -32602;

/** Creates the agent; it serves the stream that its app is connected to. */
export function createAgent(deps: AgentDeps): RuntimeAgent {
  const sessions = createSessions(deps);
  const app = agent({ name: "fleetctl-runtime" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "fleetctl-runtime", version: deps.version },
      agentCapabilities: {
        loadSession: true,
        sessionCapabilities: { resume: {}, close: {} },
        promptCapabilities: { embeddedContext: true, image: true },
        // A prompt with the id of a turn that an earlier runtime began continues it.
        _meta: { fleetctl: { continues_turns: true, steers: true, reads_pdfs: true } },
      },
      authMethods: [],
    }));
  serveSessions(app, sessions);
  serveTurns(app, sessions, deps.greeting);
  return { app, close: () => sessions.endAll() };
}

function serveSessions(app: AgentApp, sessions: Sessions): void {
  app.onRequest(methods.agent.session.new, async ({ params }) => {
    refuseServers(params.mcpServers);
    return { sessionId: unwrap(await sessions.begin(params.cwd)) };
  });
  app.onRequest(methods.agent.session.load, async ({ params, client }) => {
    refuseServers(params.mcpServers);
    const conversation = unwrap(await sessions.reopen(params.sessionId, params.cwd));
    await replay(conversation.records(), params.sessionId, client);
    return {};
  });
  app.onRequest(methods.agent.session.resume, async ({ params }) => {
    refuseServers(params.mcpServers ?? []);
    unwrap(await sessions.reopen(params.sessionId, params.cwd));
    return {};
  });
  app.onRequest(methods.agent.session.close, async ({ params }) => {
    await sessions.end(params.sessionId);
    return {};
  });
}

function serveTurns(app: AgentApp, sessions: Sessions, greeting: string | undefined): void {
  let pendingGreeting = greeting;
  app.onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
    const shown = pendingGreeting;
    pendingGreeting = undefined;
    return await answerPrompt(params, { sessions, client, signal, greeting: shown });
  });
  app.onNotification(
    methods.agent.session.cancel,
    ({ params }) => sessions.cancel(params.sessionId),
  );
  app.onRequest(STEER_METHOD, steerRequest, ({ params }) => {
    sessions.steer(params.sessionId, params.turnId, params);
    return {};
  });
}

async function answerPrompt(
  params: PromptRequest,
  context: {
    readonly sessions: Sessions;
    readonly client: AgentContext;
    readonly signal: AbortSignal;
    readonly greeting: string | undefined;
  },
): Promise<PromptResponse> {
  const sink = acpSink(context.client, params.sessionId);
  if (context.greeting !== undefined) await sink.notice("info", context.greeting);
  const end = unwrap(
    await context.sessions.run(params.sessionId, {
      text: params.prompt.map(promptText).filter((text) => text !== "").join("\n"),
      images: unwrap(promptImages(params.prompt)),
      pdfs: promptPdfs(params.prompt),
      turnId: turnIdOf(params._meta),
      sink,
      signal: context.signal,
    }),
  );
  const tokens = end.tokens === undefined ? {} : printTokens(end.tokens);
  if (end.kind === "stopped") return { stopReason: end.stop, ...tokens };
  const hints = end.hints.length === 0 ? "" : ` (try: ${end.hints.join("; ")})`;
  throw new RequestError(TURN_FAILED, end.reason, {
    code: end.code,
    reason: end.reason + hints,
    hints: end.hints,
    ...tokens,
  });
}

/**
 * Returns a turn's tokens as ACP's `usage`, and the models in `_meta`: ACP has no field for them.
 */
function printTokens(of: TurnTokens): Readonly<Record<string, unknown>> {
  const [first = { model: of.model }, ...others] = of.models;
  const models = of.models.map((each) => ({ model: each.model, usage: printUsage(each) }));
  return {
    usage: printUsage(of),
    _meta: {
      fleetctl: {
        model: first.model,
        ...(others.length === 0 ? {} : { models }),
        ...(of.isPartial ? { is_partial: true } : {}),
      },
    },
  };
}

function printUsage({ input, output, cachedRead, cachedWrite }: AnswerTokens) {
  return {
    inputTokens: input,
    outputTokens: output,
    cachedReadTokens: cachedRead,
    cachedWriteTokens: cachedWrite,
    totalTokens: input + output + cachedRead + cachedWrite,
  };
}

function unwrap<T>(result: Result<T>): T {
  if (result.ok) return result.value;
  const { code, message } = result.error;
  throw new RequestError(INVALID_PARAMS, message, { code, reason: message });
}

function refuseServers(servers: readonly unknown[]): void {
  if (servers.length === 0) return;
  const reason = "MCP servers come from the agent's own client config";
  throw new RequestError(INVALID_PARAMS, reason, { code: "servers-not-accepted", reason });
}

function promptText(block: ContentBlock): string {
  // The model sees the PDF itself, or a text in its place.
  if (pdfOf(block) !== undefined) return "";
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name}](${block.uri})`;
    case "resource":
      return "text" in block.resource
        ? `${block.resource.uri}:\n${block.resource.text}`
        : `[${block.resource.uri}]`;
    default:
      return "";
  }
}

function turnIdOf(meta: Readonly<Record<string, unknown>> | null | undefined): string | undefined {
  const own = meta?.fleetctl as { turn_id?: unknown } | undefined;
  return typeof own?.turn_id === "string" ? own.turn_id : undefined;
}
