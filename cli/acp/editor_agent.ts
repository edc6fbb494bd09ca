/**
 * An agent of the fleet as an ACP agent (protocol version 1) for an editor. Serves threads, prompts
 * and cancels. A new thread begins a conversation of the agent, whose name its id contains. The
 * agent works in its own workspace with its own MCPs: those of the editor are not used, and the
 * first prompt of a thread says so.
 *
 * @module
 */

import {
  agent,
  type AgentApp,
  type InitializeRequest,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
  RequestError,
} from "@agentclientprotocol/sdk";
import { newConversation, threadId, threadOf } from "cli/acp/thread_id.ts";
import { type EditorAbilities, EditorSession, type SessionDeps } from "cli/acp/editor_session.ts";
import { requestError } from "cli/acp/turn_end.ts";
import { defined } from "core/defined.ts";
import type { Refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Result } from "core/result.ts";

/** Dependencies of `createEditorAgent`. */
export interface EditorAgentDeps extends SessionDeps {
  readonly host: string;
  readonly version: string;
  readonly clock: Pick<Clock, "after" | "now">;
  newId(): string;
  /** Returns a refusal with hints that work here. */
  localized(reason: Refusal): Refusal;
  /** Aborted when the connection ends, which cancels no turn. */
  readonly leave: AbortSignal;
}

/** Creates the agent; it serves the stream that its app is connected to. */
export function createEditorAgent(deps: EditorAgentDeps): AgentApp {
  const sessions = new Map<string, EditorSession>();
  let abilities: EditorAbilities = { hasNotices: false, hasForms: false, hasUrls: false };
  const open = (sessionId: string, of: { readonly cwd: string; readonly servers: number }) => {
    const conversation = threadOf(deps.name, sessionId)?.conversation;
    const welcome = welcomeText(deps, { conversation, ...of });
    const start = { sessionId, welcome, ...defined({ conversation }), ...abilities };
    sessions.set(sessionId, new EditorSession(deps, start));
  };
  const unwrap = <T>(result: Result<T>): T => {
    if (result.ok) return result.value;
    throw requestError(deps.localized(result.error));
  };
  const app = agent({ name: "fleetctl" });
  app.onRequest(methods.agent.initialize, ({ params }) => {
    abilities = abilitiesOf(params.clientCapabilities);
    return initializeAnswer(deps);
  });
  app.onRequest(methods.agent.session.new, async ({ params: { cwd, mcpServers } }) => {
    unwrap(await deps.ready());
    const sessionId = threadId(deps.name, newConversation(deps.clock.now(), deps.newId()));
    open(sessionId, { cwd, servers: mcpServers.length });
    return { sessionId };
  });
  // The id says everything about a thread, so one of an earlier process continues unchanged.
  app.onRequest(methods.agent.session.resume, async ({ params: { sessionId, cwd, ...of } }) => {
    if (threadOf(deps.name, sessionId) === undefined) {
      throw RequestError.sessionNotFound(sessionId);
    }
    unwrap(await deps.ready());
    if (!sessions.has(sessionId)) open(sessionId, { cwd, servers: of.mcpServers?.length ?? 0 });
    return {};
  });
  app.onRequest(methods.agent.session.close, ({ params: { sessionId } }) => {
    sessions.get(sessionId)?.cancel();
    sessions.delete(sessionId);
    return {};
  });
  app.onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
    const session = sessions.get(params.sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(params.sessionId);
    // The signal also aborts when the connection ends, which must not cancel the turn.
    const cancel = () => deps.leave.aborted || session.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    const { leave } = deps;
    return { stopReason: unwrap(await session.prompt(params.prompt, { client, leave })) };
  });
  app.onNotification(methods.agent.session.cancel, ({ params }) => {
    sessions.get(params.sessionId)?.cancel();
  });
  return app;
}

function initializeAnswer({ name, version }: EditorAgentDeps): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "fleetctl", title: `${name} (fleetctl)`, version },
    agentCapabilities: {
      // The transcript is at the gateway, so an earlier thread cannot be shown again.
      loadSession: false,
      promptCapabilities: { image: false, audio: false, embeddedContext: true },
      mcpCapabilities: { http: false, sse: false },
      sessionCapabilities: { resume: {}, close: {} },
    },
    authMethods: [],
  };
}

/** Returns what a person must know about a thread before its first answer. */
function welcomeText(
  { name, host, command }: EditorAgentDeps,
  of: {
    readonly conversation: string | undefined;
    readonly cwd: string;
    readonly servers: number;
  },
): string {
  const servers = of.servers === 0
    ? ""
    : ` and its ${of.servers} MCP ${of.servers === 1 ? "server" : "servers"}`;
  const thread = of.conversation === undefined
    ? "continues the agent's default conversation"
    : `is the conversation "${of.conversation}" of the agent`;
  return `Agent "${name}" on host "${host}" answers here. This thread ${thread}. ` +
    `The agent works in its own workspace with its own MCPs: the editor's ` +
    `folder "${of.cwd}"${servers} ${of.servers === 0 ? "is" : "are"} not used ` +
    `(\`${command(`fleetctl agents show ${name}`)}\`).`;
}

function abilitiesOf(given: InitializeRequest["clientCapabilities"]): EditorAbilities {
  return {
    hasNotices: isGiven(given?.session?.notices),
    hasForms: isGiven(given?.elicitation?.form),
    hasUrls: isGiven(given?.elicitation?.url),
  };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
