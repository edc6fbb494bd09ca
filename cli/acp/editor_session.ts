/**
 * One thread of an editor: its prompts become turns of one conversation of the agent, one at a
 * time.
 *
 * @module
 */

import {
  type AgentContext,
  type ContentBlock,
  methods,
  type SendRequestOptions,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import { TurnApprovals } from "cli/acp/turn_approvals.ts";
import type { AskedQuestion, FormAbilities, PersonAnswer } from "cli/acp/elicitation_form.ts";
import type { AskedCall, Decision } from "cli/acp/permission.ts";
import { promptText } from "cli/acp/prompt_text.ts";
import { TurnQuestions } from "cli/acp/turn_questions.ts";
import { stopReason } from "cli/acp/turn_end.ts";
import { createTurnView, type NoteWeight } from "cli/acp/turn_view.ts";
import type { EndedTurn, TurnWatcher } from "cli/ask_turn.ts";
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import { err, ok, type Result } from "core/result.ts";

/** A turn as a thread sends it. */
export interface PromptedTurn {
  readonly text: string;
  /** Absent for the default conversation. */
  readonly conversation?: string;
}

/** What a thread uses of this host. */
export interface SessionDeps {
  /** Name of the agent. */
  readonly name: string;
  readonly clock: Pick<Clock, "after">;
  /** Whether the caller of this program may decide about calls that wait for a human. */
  readonly mayDecide: boolean;
  /** Refuses when the agent accepts no turns now. */
  ready(): Promise<Result<unknown>>;
  runTurn(turn: PromptedTurn, watcher: TurnWatcher): Promise<Result<EndedTurn>>;
  decide(call: AskedCall, decision: Decision): Promise<Result<unknown>>;
  answer(question: AskedQuestion, answer: PersonAnswer): Promise<Result<unknown>>;
  /** Returns a command as it must be typed here. */
  command(line: string): string;
}

/** What the editor declared that it can show. */
export interface EditorAbilities extends FormAbilities {
  readonly hasNotices: boolean;
}

/** A thread as the editor opened it. */
export interface SessionStart extends EditorAbilities {
  readonly sessionId: string;
  /** The agent's conversation; absent for the default one. */
  readonly conversation?: string;
  /** Shown once, with the first prompt. */
  readonly welcome: string;
}

/** The editor's side during one prompt. */
export interface PromptContext {
  readonly client: Pick<AgentContext, "notify" | "request">;
  /** Aborting it stops watching; the turn continues. */
  readonly leave: AbortSignal;
}

/** After this time without an update of the turn, the editor shows that it waits. */
const QUIET_MS = 2_000;
/** Exceeds the time after which a dial unit kills a program that does not end its turn. */
const CANCEL_MS = 20_000;

/** One thread. */
export class EditorSession {
  readonly #deps: SessionDeps;
  readonly #start: SessionStart;
  #turn: AbortController | undefined;
  #turns = 0;

  constructor(deps: SessionDeps, start: SessionStart) {
    this.#deps = deps;
    this.#start = start;
  }

  /** Runs a prompt as a turn; refuses a second one while it runs. */
  async prompt(
    blocks: readonly ContentBlock[],
    context: PromptContext,
  ): Promise<Result<StopReason>> {
    if (this.#turn !== undefined) return err(promptRunning());
    const text = promptText(blocks);
    if (!text.ok) return text;
    const stop = new AbortController();
    this.#turn = stop;
    try {
      const ready = await this.#deps.ready();
      if (!ready.ok) return ready;
      return stop.signal.aborted ? ok("cancelled") : await this.#run(text.value, stop, context);
    } finally {
      this.#turn = undefined;
    }
  }

  /** Cancels the running turn, if there is one. */
  cancel(): void {
    this.#turn?.abort();
  }

  async #run(
    text: string,
    stop: AbortController,
    { client, leave }: PromptContext,
  ): Promise<Result<StopReason>> {
    const { clock, runTurn } = this.#deps;
    const { sessionId, conversation, welcome, hasNotices } = this.#start;
    const view = createTurnView({ prefix: `${++this.#turns}/`, hasNotices });
    const send = async (updates: readonly SessionUpdate[]) => {
      for (const update of updates) {
        await client.notify(methods.client.session.update, { sessionId, update });
      }
    };
    // Sent without waiting. A failure means that the editor is gone, which ends the watch too.
    const sendSoon = (updates: readonly SessionUpdate[]) => void send(updates).catch(() => {});
    const note = (text: string, weight: NoteWeight) => sendSoon(view.note(text, weight));
    const shared = {
      ...this.#deps,
      ...this.#start,
      isCancelled: () => stop.signal.aborted,
      send: (update: SessionUpdate) => sendSoon([update]),
      note,
    };
    const approvals = new TurnApprovals({
      ...shared,
      openCall: (call) => view.openCall(call),
      requestPermission: (request, signal) =>
        client.request(methods.client.session.requestPermission, request, until(signal)),
    });
    const questions = new TurnQuestions({
      ...shared,
      elicit: (request, signal) =>
        client.request(methods.client.elicitation.create, request, until(signal)),
    });
    if (this.#turns === 1) await send(view.note(welcome, "plain"));
    const forget = clock.after(QUIET_MS, () => note(WAITS, "aside"));
    try {
      const ended = await runTurn({ text, ...defined({ conversation }) }, {
        stop: stop.signal,
        leave,
        cancelMs: CANCEL_MS,
        async onUpdate(update) {
          const asked = update.type === "turn_event" && update.kind === "turn_asked";
          if (!asked) forget();
          else if (isElsewhere(conversation, update.payload)) note(DEFAULT_ONLY, "plain");
          await send(view.take(update));
          approvals.take(update);
          questions.take(update);
        },
      });
      if (ended.ok) return stopReason(ended.value.end);
      if (!stop.signal.aborted) return ended;
      // ACP requires this answer to a cancel, whatever became of the turn.
      note(ended.error.message, "plain");
      return ok("cancelled");
    } finally {
      forget();
      approvals.close();
      questions.close();
    }
  }
}

/** Returns the options of a request that is withdrawn, without an answer, when `signal` aborts. */
function until(signal: AbortSignal): SendRequestOptions {
  return { cancellationSignal: signal, stopWaitingOnCancel: true };
}

/** A dial unit that knows only the default conversation omits the name from the turn's event. */
function isElsewhere(
  conversation: string | undefined,
  asked: Readonly<Record<string, unknown>>,
): boolean {
  return conversation !== undefined && asked.conversation !== conversation;
}

const DEFAULT_ONLY = "The agent's dial unit is of an older version. This prompt continues the " +
  "agent's default conversation. To get a conversation for each thread, restart the agent.";
const WAITS = "The turn has not begun yet: the agent is busy with another one, or its program " +
  "is starting.";

function promptRunning(): Refusal {
  return refusal(
    "prompt-running",
    "Cannot accept the prompt: the thread's last one is still running, must end or be cancelled",
  );
}
