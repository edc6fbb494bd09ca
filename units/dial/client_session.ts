/**
 * The dial unit's side of a connection as a pure state machine: state × input → state, effects.
 *
 * | State | Input | Next | Effects |
 * |---|---|---|---|
 * | opening | opened, known subprotocol | greeting | – |
 * | opening | opened, another or no subprotocol | registering | register without proof |
 * | greeting | challenge | proving | sign the nonce |
 * | proving | signed | registering | register with proof |
 * | registering | registered | registered | resume from the acknowledged number |
 * | registered | any other frame | registered | deliver it |
 * | any | closing | unchanged | deliver it |
 * | any but registered | time is up | ended | close 1008 |
 * | any | a frame that is not valid in this state | ended | close 1008 |
 * | any | closed | ended | – |
 *
 * Frames of unknown types are skipped in every state.
 *
 * @module
 */

import { CLOSE, decodeServerFrame, DIAL_SUBPROTOCOL, type ServerFrame } from "core/dial/frames.ts";

/** State of the connection. */
export type ClientState =
  | "opening"
  | "greeting"
  | "proving"
  | "registering"
  | "registered"
  | "ended";

/** Events of the connection. */
export type ClientInput =
  | { readonly kind: "opened"; readonly protocol: string }
  | { readonly kind: "signed"; readonly key: string; readonly proof: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "time-is-up" }
  | { readonly kind: "closed" };

/** Frames that are delivered once registered. `closing` is delivered before that, too. */
export type InboundFrame = Exclude<ServerFrame, { type: "challenge" | "registered" }>;

/** Effects that the caller must carry out. */
export type ClientEffect =
  | { readonly kind: "sign"; readonly nonce: string }
  | { readonly kind: "register"; readonly proof?: { readonly key: string; readonly proof: string } }
  | { readonly kind: "resume"; readonly ackedSeq: number; readonly version: string }
  | { readonly kind: "deliver"; readonly frame: InboundFrame }
  | { readonly kind: "skip"; readonly type: string }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

/** The next state and the effects to carry out. */
export interface ClientStep {
  readonly state: ClientState;
  readonly effects: readonly ClientEffect[];
}

/** Computes one step. */
export function stepClient(state: ClientState, input: ClientInput): ClientStep {
  if (state === "ended") return { state, effects: [] };
  switch (input.kind) {
    case "opened":
      if (state !== "opening") return { state, effects: [] };
      return input.protocol === DIAL_SUBPROTOCOL
        ? { state: "greeting", effects: [] }
        : { state: "registering", effects: [{ kind: "register" }] };
    case "signed":
      if (state !== "proving") return { state, effects: [] };
      return {
        state: "registering",
        effects: [{ kind: "register", proof: { key: input.key, proof: input.proof } }],
      };
    case "time-is-up":
      if (state === "registered") return { state, effects: [] };
      return end("the gateway did not answer in time");
    case "closed":
      return { state: "ended", effects: [] };
    case "text":
      return stepText(state, input.text);
  }
}

function stepText(state: ClientState, text: string): ClientStep {
  const decoded = decodeServerFrame(text);
  if (decoded.kind === "unknown") {
    return { state, effects: [{ kind: "skip", type: decoded.type }] };
  }
  if (decoded.kind === "garbage") return end("invalid frame");
  const { frame } = decoded;
  if (frame.type === "challenge") {
    if (state !== "greeting") return end("unexpected challenge");
    return { state: "proving", effects: [{ kind: "sign", nonce: frame.nonce }] };
  }
  if (frame.type === "registered") {
    if (state !== "registering") return end("unexpected registered");
    return {
      state: "registered",
      effects: [{ kind: "resume", ackedSeq: frame.acked_seq, version: frame.version }],
    };
  }
  if (state !== "registered" && frame.type !== "closing") return end(`unexpected ${frame.type}`);
  return { state, effects: [{ kind: "deliver", frame }] };
}

function end(reason: string): ClientStep {
  return { state: "ended", effects: [{ kind: "close", code: CLOSE.policyViolation, reason }] };
}
