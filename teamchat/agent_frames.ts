/**
 * Frames that the gateway sends to an agent about its owner's messages and actions. Pure.
 *
 * @module
 */

import type { ServerFrame, TurnFile } from "core/dial/frames.ts";
import type { CardDecision } from "teamchat/approval_card.ts";
import type { AgentEvent } from "teamchat/store/owner_events.ts";
import type { Turn } from "teamchat/store/turn.ts";

/** Origin of turns, as the agent receives it. */
const ORIGIN = "teamchat";

/** Returns the frame of a turn with its files. */
export function turnFrame(
  { turnId, text, created }: Turn,
  files: readonly TurnFile[],
): ServerFrame {
  return {
    type: "turn",
    turn_id: turnId,
    text,
    origin: ORIGIN,
    created,
    ...(files.length === 0 ? {} : { files: [...files] }),
  };
}

/** Returns the frame of an owner's answer to an approval. */
export function decisionFrame(owner: string, { id, digest, decision }: CardDecision): ServerFrame {
  return {
    type: "approval_decision",
    approval_id: id,
    digest,
    decision,
    by: owner,
    surface: ORIGIN,
  };
}

/** Returns the frame for an owner's action on an answer. */
export function ownerEventFrame({ id, kind, created, payload, turn }: AgentEvent): ServerFrame {
  return {
    type: "owner_event",
    id,
    kind,
    at: created,
    payload: { ...payload },
    ...(turn === undefined ? {} : { turn_id: turn.turnId, turn_created: turn.created }),
  };
}
