/**
 * The check before a model call: whether the agent's spend ceilings allow it. The dial unit answers
 * over its local socket, at once or when the owner has decided. Without an answer the model is not
 * called.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { connectLocal, type LocalConnection } from "core/dial/local_connection.ts";
import type { LocalAnswer } from "core/dial/local_frames.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import type { AnswerTokens } from "units/agent_loop/model/answer.ts";
import type { TurnTokens } from "units/agent_loop/turn/turn_tokens.ts";

/** The answer: warnings to show, and why the model may not be called. */
export interface SpendAnswer {
  readonly notices: readonly string[];
  readonly stop?: Refusal;
}

/** Asks whether a call of a model is allowed, after what the turn has used so far. */
export type SpendCheck = (
  model: string,
  used: TurnTokens | undefined,
  of: { readonly turnId: string | undefined; readonly signal: AbortSignal },
) => Promise<SpendAnswer>;

/** Longest line that a dial unit answers with, in bytes. */
const LINE_BYTES_MAX = 64 * 1024;

/** Creates the check; closing the connection withdraws it. */
export function createSpendCheck(deps: {
  /** The dial unit's local socket. */
  readonly socket: string;
  connect(path: string): Promise<ByteStream>;
  /** Whether the agent or its host has a ceiling. */
  isLimited(): Promise<boolean>;
}): SpendCheck {
  return async (model, used, { turnId, signal }) => {
    if (!await deps.isLimited()) return { notices: [] };
    const connection = await connectLocal(deps.socket, deps.connect, LINE_BYTES_MAX);
    if (!connection.ok) return unchecked(connection.error);
    const close = () => connection.value.close();
    signal.addEventListener("abort", close, { once: true });
    if (signal.aborted) close();
    try {
      return await checkOnce(connection.value, { model, used, turnId });
    } catch (thrown) {
      return unchecked(`the connection to the dial unit was lost: ${errorText(thrown)}`);
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  };
}

async function checkOnce(
  connection: LocalConnection,
  { model, used, turnId }: {
    readonly model: string;
    readonly used: TurnTokens | undefined;
    readonly turnId: string | undefined;
  },
): Promise<SpendAnswer> {
  await connection.send({
    type: "spend_check",
    ...defined({ turn_id: turnId }),
    model,
    ...countsOf(used),
    ...(used === undefined || used.models.every((of) => of.model === model)
      ? {}
      : { models: used.models.map((of) => ({ model: of.model, ...countsOf(of) })) }),
  });
  return answerOf(await connection.receive());
}

function countsOf(tokens: AnswerTokens | undefined) {
  return {
    input_tokens: tokens?.input ?? 0,
    output_tokens: tokens?.output ?? 0,
    cached_read_tokens: tokens?.cachedRead ?? 0,
    cached_write_tokens: tokens?.cachedWrite ?? 0,
  };
}

function answerOf(answer: LocalAnswer): SpendAnswer {
  if (answer.type === "error") return unchecked(answer.message);
  if (answer.type !== "spend_answer") return unchecked(`it answered with ${answer.type}`);
  const { notices, stop } = answer;
  if (stop === undefined) return { notices };
  const { code, message, hints } = stop;
  return { notices, stop: { ...refusal("ceiling-reached", message, { hints }), code } };
}

function unchecked(why: string): SpendAnswer {
  return {
    notices: [],
    stop: refusal(
      "ceiling-unchecked",
      `Cannot use the model: its spend ceilings cannot be checked: ${why}`,
      { hints: ["fleetctl status"] },
    ),
  };
}
