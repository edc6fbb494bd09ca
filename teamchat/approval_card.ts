/**
 * An approval request as an Adaptive Card, and parsing of its button presses. Pure. The buttons
 * carry the approval's id and digest, so a press applies to this call only. A press is sent to the
 * agent of the person who pressed. That agent does not know approvals of other agents. Source:
 * Teams "Universal Actions for Adaptive Cards" (`adaptiveCard/action`, `Action.Execute`).
 *
 * @module
 */

import * as z from "zod";
import { type SpendCard, spendCardOf } from "core/usage/spend_card.ts";

/** An approval request. */
export interface ApprovalRequest {
  readonly id: string;
  readonly digest: string;
  readonly mcp: string | undefined;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isDestructive: boolean;
}

/** A person's decision. */
export interface CardDecision {
  readonly id: string;
  readonly digest: string;
  readonly decision: "approved" | "denied";
}

const VERB = "fleetctl.approval";
/** What every card begins with. */
const CARD = {
  type: "AdaptiveCard",
  $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
  version: "1.4",
} as const;
/**
 * How many characters of the arguments a card shows. A person approves a longer call on the
 * command line: the agent's dial unit sends the request to team chat only, not to the cockpit.
 */
const SHOWN_LENGTH_MAX = 4_000;

/** Returns the card. */
export function approvalCard(request: ApprovalRequest): Readonly<Record<string, unknown>> {
  const spending = spendCardOf(request);
  return spending === undefined ? callCard(request) : spendingCard(request, spending);
}

/** A card that asks the owner to allow more spending. */
function spendingCard(request: ApprovalRequest, words: SpendCard) {
  const line = (text: string) => ({ type: "TextBlock", wrap: true, text });
  return {
    ...CARD,
    body: [
      { ...line(words.title), weight: "bolder" },
      ...[words.spent, words.mayAllow, words.otherwise].map(line),
    ],
    actions: [
      button(request, { title: words.allow, decision: "approved", style: "positive" }),
      button(request, { title: "Deny", decision: "denied", style: "destructive" }),
    ],
  };
}

function callCard(request: ApprovalRequest) {
  const shown = JSON.stringify(request.arguments, null, 2);
  const isWhole = shown.length <= SHOWN_LENGTH_MAX;
  const where = request.mcp === undefined ? "" : ` of ${request.mcp}`;
  return {
    ...CARD,
    body: [
      {
        type: "TextBlock",
        weight: "bolder",
        wrap: true,
        text: `May I call ${request.tool}${where}?`,
      },
      ...(request.isDestructive
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
        text: "The arguments are too long to show here. An operator can approve the call on the " +
          `agent's host: fleetctl approvals approve ${request.id}`,
      }]),
    ],
    // A call whose arguments are not fully visible must not be approved with one press.
    actions: [
      ...(isWhole
        ? [button(request, { title: "Approve", decision: "approved", style: "positive" })]
        : []),
      button(request, { title: "Deny", decision: "denied", style: "destructive" }),
    ],
  };
}

function button(
  { id, digest }: ApprovalRequest,
  { title, decision, style }: {
    readonly title: string;
    readonly decision: CardDecision["decision"];
    readonly style: string;
  },
) {
  const data = { approval_id: id, digest, decision };
  return { type: "Action.Execute", title, style, verb: VERB, data };
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

/** Parses the value of an invoke; undefined when it is not a press of these buttons. */
export function parsePress(value: unknown): CardDecision | undefined {
  const parsed = press.safeParse(value);
  if (!parsed.success) return undefined;
  const { approval_id: id, digest, decision } = parsed.data.action.data;
  return { id, digest, decision };
}

/** Returns the answer to a press: a text that the platform shows to the person who pressed. */
export function pressAnswer(text: string): string {
  return JSON.stringify({
    statusCode: 200,
    type: "application/vnd.microsoft.activity.message",
    value: text,
  });
}
