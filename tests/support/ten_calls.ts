/**
 * A turn with ten calls, two of which need approval: the model's script, and the check that no call
 * was made twice. Tests that kill programs in mid-turn share it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { ModelReply, ModelRequest } from "tests/fakes/model_endpoint.ts";
import type { ShownEvent } from "tests/support/cockpit_reader.ts";
import { UNKNOWN_TEXT } from "units/agent_loop/journal/plan.ts";

/** Calls of a turn. */
export const CALLS = 10;
/** Places of the calls that need approval. */
export const ASKING: ReadonlySet<number> = new Set([3, 7]);

/** Why a person denies a call. */
export const DENIAL = "not now";

/** The tools of the MCP server that counts executions. */
export interface CountedTools {
  /** A tool that runs at once, and one that needs approval. */
  readonly step: string;
  readonly approve: string;
  readonly argumentsOf: (n: number) => unknown;
  /** The result of a call that was made. */
  readonly resultOf: (n: number, tool: string) => string;
}

/** The message that begins turn `round`. */
export function messageOf(round: number): string {
  return `round ${round}`;
}

/** The number of a call, which no other turn has. */
export function numberOf(round: number, place: number): number {
  return round * 100 + place;
}

/** The model's next step follows from what it is sent, so that a request may be repeated. */
export function tenCalls(tools: CountedTools): (request: ModelRequest) => ModelReply {
  return ({ body }) => {
    const messages: readonly { readonly role: string; readonly content: string }[] = body.messages;
    const from = messages.findLastIndex(({ role }) => role === "user");
    const round = Number(/round (\d+)/.exec(messages[from]?.content ?? "")?.[1]);
    assert.ok(Number.isInteger(round), JSON.stringify(messages));
    const place = messages.slice(from).filter(({ role }) => role === "tool").length;
    if (place >= CALLS) return { kind: "answer", text: answerOf(round) };
    const tool = ASKING.has(place) ? tools.approve : tools.step;
    const call = { tool, arguments: tools.argumentsOf(numberOf(round, place)) };
    return { kind: "answer", calls: [call] };
  };
}

/** The answer of turn `round`. */
export function answerOf(round: number): string {
  return `round ${round} is done`;
}

/** Checks the events of turn `round` and the executed calls; returns the places of unknown ones. */
export function checkTurn(
  events: readonly ShownEvent[],
  executed: readonly number[],
  of: {
    readonly round: number;
    readonly tools: CountedTools;
    /** Numbers of the calls that a person denies, with `DENIAL`. */
    readonly denied?: (n: number) => boolean;
    readonly about?: unknown;
  },
): readonly number[] {
  const { round, tools } = of;
  const told = JSON.stringify({
    about: of.about ?? round,
    executed,
    events: events.map(({ kind, payload }) => [kind, payload]),
  });
  const all = (kind: string) => events.filter((event) => event.kind === kind);
  assert.deepEqual(all("turn_ended").map(({ payload }) => payload.outcome), ["completed"], told);
  assert.deepEqual(all("message").map(({ payload }) => payload.text), [answerOf(round)], told);
  const made = all("tool_call").map(({ payload }) => payload);
  const numbers = Array.from({ length: CALLS }, (_, place) => numberOf(round, place));
  assert.deepEqual(made.map((call) => call.arguments), numbers.map(tools.argumentsOf), told);
  const unknown: number[] = [];
  for (const [place, call] of made.entries()) {
    const n = numberOf(round, place);
    const results = all("tool_result").filter(({ payload }) => payload.call_id === call.call_id);
    assert.equal(results.length, 1, `call ${n}: ${told}`);
    const count = executed.filter((each) => each === n).length;
    const { status, text } = results[0]!.payload;
    if (status === "completed") {
      assert.notEqual(of.denied?.(n), true, `call ${n} was denied: ${told}`);
      const tool = ASKING.has(place) ? tools.approve : tools.step;
      assert.deepEqual([text, count], [tools.resultOf(n, tool), 1], told);
      continue;
    }
    if (of.denied?.(n) === true) assert.equal(count, 0, `call ${n} was denied: ${told}`);
    if (status === "denied") {
      assert.ok(of.denied?.(n) === true && String(text).includes(`denied it: ${DENIAL}`), told);
      continue;
    }
    assert.deepEqual([status, text], ["stopped", UNKNOWN_TEXT], `call ${n}: ${told}`);
    assert.ok(count <= 1, `call ${n} was made twice: ${told}`);
    unknown.push(place);
  }
  const notices = all("notice").filter(({ payload }) => /unknown whether/.test(`${payload.text}`));
  assert.equal(notices.length, unknown.length, told);
  return unknown;
}
