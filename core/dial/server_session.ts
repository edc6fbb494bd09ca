/**
 * The gateway's side of a connection as a pure state machine: state × input → state, effects.
 *
 * | State | Input | Next | Effects |
 * |---|---|---|---|
 * | waiting | first frame is a register | checking | check it |
 * | waiting | anything else, or the time limit | ended | reject with its reason |
 * | checking | accepted | registered | – |
 * | checking | rejected | ended | close 1008 "not authorized" |
 * | checking | any frame | checking | – ; kept until the check is done |
 * | checking | more than `EARLY_FRAMES_MAX` frames | ended | reject with its reason |
 * | registered | any known frame but a register | registered | deliver it |
 * | registered | register again, or garbage | ended | close 1008 |
 * | any | closed | ended | – |
 *
 * Unknown frame types are skipped once registered.
 *
 * @module
 */

import { type ClientFrame, CLOSE, decodeClientFrame } from "core/dial/frames.ts";

/** Close reason of every refused registration; the peer gets no further detail. */
export const NOT_AUTHORIZED = "not authorized";

/** Frames that are delivered once the session is registered. */
export type AgentFrame = Exclude<ClientFrame, { type: "register" }>;
/** The frame that opens a session. */
export type RegisterFrame = Extract<ClientFrame, { type: "register" }>;

/** State of the connection. */
export type ServerState =
  | { readonly phase: "waiting" }
  /** `early` contains frames that the peer sent before the answer to `register`. */
  | { readonly phase: "checking"; readonly early: readonly string[] }
  | { readonly phase: "registered" }
  | { readonly phase: "ended" };

/** An event of the connection. */
export type ServerInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "accepted" }
  | { readonly kind: "rejected" }
  | { readonly kind: "time-is-up" }
  | { readonly kind: "closed" };

/** An action for the caller to run. */
export type ServerEffect =
  | { readonly kind: "check"; readonly frame: RegisterFrame }
  /** Log this reason; the closing effect follows. */
  | { readonly kind: "reject"; readonly reason: string }
  | { readonly kind: "deliver"; readonly frame: AgentFrame }
  | { readonly kind: "skip"; readonly type: string }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

/** The next state and the effects to run. */
export interface ServerStep {
  readonly state: ServerState;
  readonly effects: readonly ServerEffect[];
}

/** Frames that may arrive before the answer to `register`. */
const EARLY_FRAMES_MAX = 8;
const ENDED: ServerState = { phase: "ended" };
const CLOSE_UNAUTHORIZED: ServerEffect = {
  kind: "close",
  code: CLOSE.policyViolation,
  reason: NOT_AUTHORIZED,
};

/** Computes the next state and the effects of one input. */
export function stepServer(state: ServerState, input: ServerInput): ServerStep {
  if (state.phase === "ended") return { state, effects: [] };
  switch (input.kind) {
    case "closed":
      return { state: ENDED, effects: [] };
    case "time-is-up":
      return state.phase === "waiting" ? reject("first-frame-late") : { state, effects: [] };
    case "rejected":
      return { state: ENDED, effects: [CLOSE_UNAUTHORIZED] };
    case "accepted":
      return state.phase === "checking" ? admit(state.early) : { state, effects: [] };
    case "text":
      return stepText(state, input.text);
  }
}

function stepText(state: Exclude<ServerState, { phase: "ended" }>, text: string): ServerStep {
  switch (state.phase) {
    case "waiting": {
      const decoded = decodeClientFrame(text);
      if (decoded.kind !== "frame") return reject("first-frame-invalid");
      if (decoded.frame.type !== "register") return reject("first-frame-not-register");
      return {
        state: { phase: "checking", early: [] },
        effects: [{ kind: "check", frame: decoded.frame }],
      };
    }
    case "checking":
      if (state.early.length >= EARLY_FRAMES_MAX) return reject("too-many-early-frames");
      return { state: { phase: "checking", early: [...state.early, text] }, effects: [] };
    case "registered":
      return receive(text);
  }
}

function receive(text: string): ServerStep {
  const state: ServerState = { phase: "registered" };
  const decoded = decodeClientFrame(text);
  if (decoded.kind === "unknown") {
    return { state, effects: [{ kind: "skip", type: decoded.type }] };
  }
  if (decoded.kind === "garbage" || decoded.frame.type === "register") {
    return {
      state: ENDED,
      effects: [{ kind: "close", code: CLOSE.policyViolation, reason: "invalid frame" }],
    };
  }
  return { state, effects: [{ kind: "deliver", frame: decoded.frame }] };
}

function admit(early: readonly string[]): ServerStep {
  let state: ServerState = { phase: "registered" };
  const effects: ServerEffect[] = [];
  for (const text of early) {
    const step = stepServer(state, { kind: "text", text });
    state = step.state;
    effects.push(...step.effects);
  }
  return { state, effects };
}

function reject(reason: string): ServerStep {
  return { state: ENDED, effects: [{ kind: "reject", reason }, CLOSE_UNAUTHORIZED] };
}
