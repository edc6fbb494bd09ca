/**
 * Notes about what a gateway reports on an agent's messages. The runtime reads them before the text
 * of its next turn. Each is in brackets on a separate line, so that the runtime can tell it from
 * the owner's words. Pure.
 *
 * @module
 */

import type { InboundFrame } from "units/dial/client_session.ts";

/** Outcomes that need no note. */
const EXPECTED: ReadonlySet<string> = new Set(["delivered", "cancelled"]);
const TEXT_LENGTH_MAX = 2_000;

/** The note about a delivery; undefined when it succeeded. */
export function deliveryNote(
  { outcome, reason }: Pick<Extract<InboundFrame, { type: "delivery" }>, "outcome" | "reason">,
  what = "previous answer",
): string | undefined {
  if (EXPECTED.has(outcome)) return undefined;
  const why = reason === undefined ? "" : `: ${oneLine(reason, 200)}`;
  return outcome === "ambiguous"
    ? `[delivery: whether the owner received all of the ${what} is not known${why}]`
    : `[delivery: the owner did not receive the ${what}, ${oneLine(outcome, 40)}${why}]`;
}

/** The note about an event; undefined for a kind from a newer gateway. */
export function ownerEventNote(
  frame: Extract<InboundFrame, { type: "owner_event" }>,
): string | undefined {
  const { kind, payload } = frame;
  const which = frame.turn_created === undefined
    ? "one of your messages"
    : `your answer to the message of ${new Date(frame.turn_created).toISOString()}`;
  switch (kind) {
    case "feedback": {
      const how = payload.reaction === "like" ? "helpful" : "not helpful";
      const text = typeof payload.text === "string" ? payload.text : "";
      const comment = text === "" ? "" : `: "${oneLine(text, TEXT_LENGTH_MAX)}"`;
      return `[feedback: the owner marked ${which} as ${how}${comment}]`;
    }
    case "reaction": {
      const changes = [
        ...types(payload.added).map((type) => `added ${type}`),
        ...types(payload.removed).map((type) => `removed ${type}`),
      ];
      return changes.length === 0
        ? undefined
        : `[reaction: the owner ${changes.join(", ")} on ${which}]`;
    }
    case "file": {
      const name = oneLine(String(payload.name), 120);
      const why = typeof payload.reason === "string" ? `: ${oneLine(payload.reason, 200)}` : "";
      return `[file: ${name} was ${fileResult(String(payload.result))}${why}]`;
    }
    default:
      return undefined;
  }
}

function fileResult(result: string): string {
  switch (result) {
    case "accepted":
      return "accepted by the owner";
    case "declined":
      return "declined by the owner";
    case "expired":
      return "not accepted in time";
    case "ambiguous":
      return "accepted, and whether it was delivered is not known";
    default:
      return "accepted and could not be delivered";
  }
}

function types(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map((type) => oneLine(String(type), 64)) : [];
}

/** Removes line breaks and brackets, so that a text can neither end its note nor imitate one. */
function oneLine(text: string, max: number): string {
  return text.replace(/[\p{Cc}\s[\]]+/gu, " ").trim().slice(0, max);
}
