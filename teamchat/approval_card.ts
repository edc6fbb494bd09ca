/**
 * The question whether a call may happen, as an Adaptive Card, and what a press of its
 * buttons says. Pure. The buttons carry the approval's id and digest: a press counts for this
 * call and no other, and it goes to the agent of whoever pressed, who knows no approval of
 * somebody else's agent. Source: Teams "Universal Actions for Adaptive Cards"
 * (`adaptiveCard/action`, `Action.Execute`).
 *
 * @module
 */

import { z } from "zod";

/** What is asked. */
export interface AskedApproval {
  readonly id: string;
  readonly digest: string;
  readonly mcp: string | undefined;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isDestructive: boolean;
}

/** What somebody decided. */
export interface CardDecision {
  readonly id: string;
  readonly digest: string;
  readonly decision: "approved" | "denied";
}

const VERB = "fleetctl.approval";
/** Arguments as they are shown; a call with longer ones is decided in the cockpit. */
const SHOWN_LENGTH_MAX = 4_000;

/** Returns the card. */
export function approvalCard(asked: AskedApproval): Readonly<Record<string, unknown>> {
  const shown = JSON.stringify(asked.arguments, null, 2);
  const isWhole = shown.length <= SHOWN_LENGTH_MAX;
  const where = asked.mcp === undefined ? "" : ` of ${asked.mcp}`;
  const button = (title: string, decision: CardDecision["decision"], style: string) => ({
    type: "Action.Execute",
    title,
    style,
    verb: VERB,
    data: { approval_id: asked.id, digest: asked.digest, decision },
  });
  return {
    type: "AdaptiveCard",
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    version: "1.4",
    body: [
      {
        type: "TextBlock",
        weight: "bolder",
        wrap: true,
        text: `May I call ${asked.tool}${where}?`,
      },
      ...(asked.isDestructive
        ? [{ type: "TextBlock", color: "attention", wrap: true, text: "It cannot be undone." }]
        : []),
      {
        type: "TextBlock",
        fontType: "monospace",
        wrap: true,
        text: shown.slice(0, SHOWN_LENGTH_MAX),
      },
      ...(isWhole ? [] : [{
        type: "TextBlock",
        wrap: true,
        text: "There is more than fits here: see the cockpit to approve it.",
      }]),
    ],
    // What nobody could read is not approved with one press.
    actions: [
      ...(isWhole ? [button("Approve", "approved", "positive")] : []),
      button("Deny", "denied", "destructive"),
    ],
  };
}

const press = z.object({
  action: z.object({
    verb: z.literal(VERB),
    data: z.object({
      approval_id: z.string().min(1).max(64),
      digest: z.string().min(1).max(128),
      decision: z.enum(["approved", "denied"]),
    }),
  }),
});

/** Reads the value of an invoke; undefined when it is not a press of these buttons. */
export function readPress(value: unknown): CardDecision | undefined {
  const parsed = press.safeParse(value);
  if (!parsed.success) return undefined;
  const { approval_id: id, digest, decision } = parsed.data.action.data;
  return { id, digest, decision };
}

/** Prints the answer to a press: a line that the platform shows to whoever pressed. */
export function pressAnswer(text: string): string {
  return JSON.stringify({
    statusCode: 200,
    type: "application/vnd.microsoft.activity.message",
    value: text,
  });
}
