/**
 * The sessions of a runtime process: begins and reopens them, runs one turn at a time in each, ends
 * them. A session that cannot be opened or run is refused. A turn that fails is not a refusal:
 * `TurnEnd` says how it ended.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  type Conversation,
  createConversation,
  openConversation,
} from "units/agent_loop/conversation/store.ts";
import { MediaMemory } from "units/agent_loop/media/refusal.ts";
import type { MediaStore, NewPdf } from "units/agent_loop/media/store.ts";
import type { McpPool } from "units/agent_loop/mcp/pool.ts";
import { createGuidance } from "units/agent_loop/prompt/system_prompt.ts";
import type { SpendCheck } from "units/agent_loop/spend_check.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { type ModelSource, runTurn, type TurnContext } from "units/agent_loop/turn/run_turn.ts";
import { createInbox, type SteerInbox, type SteerMessage } from "units/agent_loop/turn/steering.ts";
import type { TurnEnd, TurnSink } from "units/agent_loop/turn/sink.ts";

/** What every session of a runtime shares. */
export interface SessionContext {
  readonly agent: string;
  readonly home: string;
  /** The agent's role and manner, as its record says. */
  readonly persona?: string | undefined;
  readonly sessionsDir: string;
  readonly model: ModelSource;
  readonly stepsMax: number;
  readonly prepareTools: McpPool["prepare"];
  readonly media: MediaStore;
  readonly journals: TurnContext["journals"];
  readonly approvals: TurnContext["approvals"];
  /**
   * Returns the tools for a working folder and further built-in ones, under the names that the
   * model sees.
   */
  readonly toolsFor: (cwd: string, more: readonly Tool[]) => readonly Tool[];
  /** Asks before each model call whether the agent may spend more; absent without a ceiling. */
  readonly checkSpend?: SpendCheck | undefined;
  readonly ports: {
    readonly files: Files;
    readonly clock: Clock;
    readonly random: Random;
    readonly log: Log;
  };
}

/** A request for a turn. */
export interface TurnRequest {
  readonly turnId: string | undefined;
  readonly text: string;
  /** Images of the message in base64, each within the limits. */
  readonly images: readonly string[];
  readonly pdfs: readonly NewPdf[];
  readonly sink: TurnSink;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

/** The sessions of one process. */
export interface Sessions {
  /** Begins a conversation and returns its id. */
  begin(cwd: string): Promise<Result<string>>;
  /** Opens a stored conversation; returns an open one unchanged. */
  reopen(id: string, cwd: string): Promise<Result<Conversation>>;
  /** Runs a turn to its end; refuses while another one runs in the session. */
  run(id: string, request: TurnRequest): Promise<Result<TurnEnd>>;
  /** Passes a message to the running turn with this id; ignored when there is none. */
  steer(id: string, turnId: string, message: SteerMessage): void;
  /** Stops the running turn, if there is one. */
  cancel(id: string): void;
  /** Ends a session; a running turn stays open if a later runtime can name it. */
  end(id: string): Promise<void>;
  endAll(): Promise<void>;
}

interface Session {
  readonly turns: TurnContext;
  running: {
    readonly turnId: string | undefined;
    readonly abort: AbortController;
    readonly inbox: SteerInbox;
    readonly done: Promise<unknown>;
  } | undefined;
  isEnding: boolean;
}

/** Creates the sessions of a process; at first none is open. */
export function createSessions(context: SessionContext): Sessions {
  const open = new Map<string, Session>();

  const adopt = (conversation: Conversation, cwd: string) =>
    void open.set(conversation.id, {
      turns: turnContext(context, conversation, cwd),
      running: undefined,
      isEnding: false,
    });
  const end = async (id: string) => {
    const session = open.get(id);
    if (session === undefined) return;
    open.delete(id);
    session.isEnding = true;
    session.running?.abort.abort();
    await session.running?.done;
    await session.turns.conversation.close();
  };

  return {
    async begin(cwd) {
      const id = `session-${context.ports.random.uuid()}`;
      const begun = await createConversation(context.sessionsDir, { id, cwd }, context.ports);
      if (!begun.ok) return begun;
      adopt(begun.value, cwd);
      return ok(id);
    },
    async reopen(id, cwd) {
      const known = open.get(id);
      if (known !== undefined) return ok(known.turns.conversation);
      const opened = await openConversation(context.sessionsDir, id, context.ports);
      if (opened.ok) adopt(opened.value, cwd);
      return opened;
    },
    async run(id, request) {
      const session = open.get(id);
      if (session === undefined) {
        return err(refusal("session-unknown", "Cannot run the turn: there is no such session"));
      }
      if (session.running !== undefined) {
        return err(refusal("turn-running", "Cannot run the turn: another one is still running"));
      }
      return ok(await runInSession(session, request));
    },
    steer(id, turnId, message) {
      const running = open.get(id)?.running;
      if (running?.turnId === turnId) running.inbox.add(message);
    },
    cancel: (id) => open.get(id)?.running?.abort.abort(),
    end,
    async endAll() {
      await Promise.all([...open.keys()].map(end));
    },
  };
}

function turnContext(
  context: SessionContext,
  conversation: Conversation,
  cwd: string,
): TurnContext {
  const { agent, home, persona, ports } = context;
  const guidance = createGuidance({ agent, home, cwd, persona, ports });
  return {
    agent,
    conversation,
    prompt: guidance.prompt,
    model: context.model,
    stepsMax: context.stepsMax,
    media: context.media,
    mediaMemory: new MediaMemory(),
    prepareTools: context.prepareTools,
    tools: () => context.toolsFor(cwd, guidance.tools()),
    journals: context.journals,
    approvals: context.approvals,
    checkSpend: context.checkSpend,
    ports: context.ports,
  };
}

async function runInSession(session: Session, request: TurnRequest): Promise<TurnEnd> {
  const abort = new AbortController();
  const inbox = createInbox();
  const onGone = () => abort.abort();
  request.signal.addEventListener("abort", onGone, { once: true });
  const turn = runTurn(session.turns, {
    turnId: request.turnId,
    text: request.text,
    images: request.images,
    pdfs: request.pdfs,
    sink: request.sink,
    signal: abort.signal,
    inbox,
    isEnding: () => session.isEnding || request.signal.aborted,
  });
  session.running = { turnId: request.turnId, abort, inbox, done: turn };
  const end = await turn;
  session.running = undefined;
  request.signal.removeEventListener("abort", onGone);
  return end;
}
