/**
 * Requests of this agent's programs to its gateways: messages to other agents, the names of those
 * agents, and messages to the owner. A request without an answer is sent again on a new connection
 * under the same id, and ends at its time limit.
 *
 * @module
 */

import type { ClientFrame, ServerFrame } from "core/dial/frames.ts";
import { byteLength } from "core/text/cut_text.ts";
import { refusal } from "core/errors.ts";
import { MESSAGE_LIMITS } from "core/limits/message.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";

type Answer = Extract<
  ServerFrame,
  { type: "message_result" | "agents_result" | "owner_message_result" }
>;
/** A request to a gateway. */
export type Question = Extract<ClientFrame, { type: "message" | "agents" | "owner_message" }>;

/** The outcome of a message to the owner; `pending` while the gateway does not know it. */
export interface OwnerDelivery {
  readonly outcome: string;
  readonly ids: readonly string[];
  readonly reason: string | undefined;
}

/** Requests to the gateways. */
export interface GatewayQuestions {
  /** Resolves when the message is a turn of the other agent, or with the reason why it is not. */
  sendMessage(
    message: { readonly to: string; readonly text: string; readonly id?: string | undefined },
  ): Promise<Result<void>>;
  agentNames(): Promise<Result<readonly string[]>>;
  /** Resolves with the outcome, or with the reason why the message was not sent. */
  sendToOwner(
    message: { readonly text: string; readonly id?: string | undefined },
  ): Promise<Result<OwnerDelivery>>;
  /** Delivers an answer; false when no caller waits for it. */
  answered(frame: Answer): boolean;
  /** Sends all unanswered requests again; called when a connection is registered. */
  resend(): void;
}

/** Maximum number of unanswered requests. */
const OPEN_MAX = 64;

/** Creates the requests; `send` passes a frame to the connection, if there is one. */
export function createQuestions(deps: {
  readonly clock: Clock;
  readonly random: Random;
  readonly send: (frame: Question) => void;
  /** Whether this agent has an owner at team chat. */
  readonly hasTeamchat: () => boolean;
}): GatewayQuestions {
  const open = new Map<string, { frame: Question; resolve: (answer: Result<Answer>) => void }>();

  async function ask(frame: Question): Promise<Result<Answer>> {
    if (open.size >= OPEN_MAX || open.has(frame.id)) return err(busy());
    const { promise, resolve } = Promise.withResolvers<Result<Answer>>();
    const stop = deps.clock.after(MESSAGE_LIMITS.answerSeconds * 1000, () => {
      resolve(err(unanswered()));
    });
    open.set(frame.id, { frame, resolve });
    deps.send(frame);
    const answer = await promise;
    stop();
    open.delete(frame.id);
    return answer;
  }

  return {
    sendMessage: async ({ to, text, id }) => {
      if (byteLength(text) > MESSAGE_LIMITS.textBytesMax) return err(tooLong());
      const answer = await ask({ type: "message", id: id ?? deps.random.uuid(), to, text });
      if (!answer.ok) return answer;
      if (answer.value.type !== "message_result") return err(unanswered());
      const { ok: isDone, code, message } = answer.value;
      return isDone
        ? ok(undefined)
        : err(refusal(code ?? "message-refused", message ?? "Cannot send the message"));
    },
    agentNames: async () => {
      const answer = await ask({ type: "agents", id: deps.random.uuid() });
      if (!answer.ok) return answer;
      return answer.value.type === "agents_result" ? ok(answer.value.names) : err(unanswered());
    },
    sendToOwner: async ({ text, id }) => {
      if (!deps.hasTeamchat()) return err(noTeamchat());
      if (byteLength(text) > MESSAGE_LIMITS.textBytesMax) return err(tooLong());
      const answer = await ask({ type: "owner_message", id: id ?? deps.random.uuid(), text });
      if (!answer.ok) {
        return answer.error.code === "gateway-silent"
          ? ok({ outcome: "pending", ids: [], reason: "the gateway does not know yet" })
          : answer;
      }
      if (answer.value.type !== "owner_message_result") return err(unanswered());
      const { outcome, ids, reason } = answer.value;
      return ok({ outcome, ids, reason });
    },
    answered: (frame) => {
      const question = open.get(frame.id);
      question?.resolve(ok(frame));
      return question !== undefined;
    },
    resend: () => {
      for (const { frame } of open.values()) deps.send(frame);
    },
  };
}

function busy() {
  return refusal(
    "message-busy",
    `Cannot send the message: ${OPEN_MAX} are being sent, or one with this id is`,
  );
}
function noTeamchat() {
  return refusal(
    "teamchat-absent",
    "Cannot send the message: this agent has no team-chat gateway, must have one",
  );
}
function tooLong() {
  return refusal(
    "message-too-long",
    `Cannot send the message: it is too long, must be at most ${MESSAGE_LIMITS.textBytesMax} bytes`,
  );
}
function unanswered() {
  return refusal(
    "gateway-silent",
    "Cannot send the message: the gateway did not answer in time, it may still be delivered",
  );
}
