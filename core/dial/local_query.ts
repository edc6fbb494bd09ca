/**
 * One query to a dial unit's local socket that needs no human: one request, one answer, within a
 * time limit. The process behind the socket belongs to the agent, so it may answer anything.
 *
 * @module
 */

import { connectLocal } from "core/dial/local_connection.ts";
import type { LocalAnswer, LocalRequest } from "core/dial/local_frames.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";

/**
 * Time limit of a query that needs no human. A dial unit answers from memory, but an agent may have
 * put another program at its socket.
 */
export const ANSWER_MS_MAX = 3_000;

/** Target of a query that needs no human. */
export interface QueryTarget {
  /** The dial unit's local socket. */
  readonly socket: string;
  connect(path: string): Promise<ByteStream>;
  readonly clock: Clock;
}

/** Sends one query; fails if there is no answer in time, or if it is longer than `answerBytesMax`. */
export async function query(
  target: QueryTarget,
  request: LocalRequest,
  answerBytesMax: number,
  answerMs = ANSWER_MS_MAX,
): Promise<Result<LocalAnswer>> {
  const late = Promise.withResolvers<Result<LocalAnswer>>();
  const giveUp = new AbortController();
  const cancel = target.clock.after(answerMs, () => {
    giveUp.abort();
    late.resolve(err(unreachable(`it did not answer within ${answerMs / 1_000} s`)));
  });
  try {
    return await Promise.race([
      late.promise,
      exchange(target, request, { answerBytesMax, giveUp: giveUp.signal }),
    ]);
  } finally {
    cancel();
  }
}

/** Sends a request and returns its answer. Never rejects, because the caller may have timed out. */
async function exchange(
  target: QueryTarget,
  request: LocalRequest,
  of: { readonly answerBytesMax: number; readonly giveUp: AbortSignal },
): Promise<Result<LocalAnswer>> {
  const { answerBytesMax, giveUp } = of;
  const connection = await connectLocal(target.socket, target.connect, answerBytesMax);
  if (!connection.ok) return err(unreachable(connection.error));
  giveUp.addEventListener("abort", () => connection.value.close(), { once: true });
  try {
    giveUp.throwIfAborted();
    await connection.value.send(request);
    const answer = await connection.value.receive();
    return answer.type === "error" ? err(refusalOf(answer)) : ok(answer);
  } catch (thrown) {
    return err(unreachable(errorText(thrown)));
  } finally {
    connection.value.close();
  }
}

/** Returns the refusal that a dial unit answered with. */
export function refusalOf(answer: Extract<LocalAnswer, { type: "error" }>): Refusal {
  const code = /^[a-z][a-z0-9-]{0,63}$/.test(answer.code) ? answer.code : "dial-refused";
  const kind = code.endsWith("-not-yours") ? "denied" : "refused";
  const [noun] = /^(approval|question|ceiling)(?=-)/.exec(code) ?? [];
  const hints = noun === undefined ? [] : [`fleetctl ${noun}s list`];
  return { ...refusal("dial-refused", answer.message, { kind, hints }), code };
}

/** Returns the refusal for an answer that belongs to another request. */
export function unexpected(answer: LocalAnswer): Refusal {
  return unreachable(`it answered with ${answer.type}`);
}

/** Returns the refusal for a dial unit that cannot be reached. */
export function unreachable(state: string): Refusal {
  return refusal("dial-unreachable", `Cannot reach the agent's dial unit: ${state}`, {
    hints: ["fleetctl status"],
  });
}
