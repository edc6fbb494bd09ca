/**
 * Bodies of the activities that the gateway posts. Pure. Sources: Teams "Stream bot messages"
 * (entity `streaminfo`), "Bot messages with AI-generated content" (label, citations, feedback).
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import { approvalCard, type ApprovalRequest } from "teamchat/approval_card.ts";
import type { Citation } from "teamchat/reply/citations.ts";
import type { ReplyContext } from "teamchat/store/turn.ts";

type Body = Readonly<Record<string, unknown>>;

/** A request of a stream. */
export interface StreamStep {
  readonly kind: "informative" | "streaming";
  readonly sequence: number;
  /** Id of the stream; absent in the first request. */
  readonly stream: string | undefined;
  readonly text: string;
}

const AI_LABEL = {
  type: "https://schema.org/Message",
  "@type": "Message",
  "@context": "https://schema.org",
  additionalType: ["AIGeneratedContent"],
} as const;

/** A chunk or a progress line of a stream. */
export function streamBody(context: ReplyContext, step: StreamStep): Body {
  const { kind, sequence, stream, text } = step;
  return {
    ...envelope(context),
    type: "typing",
    text: kind === "informative" ? text.slice(0, TEAMCHAT_LIMITS.informativeLengthMax) : text,
    entities: [{
      type: "streaminfo",
      streamType: kind,
      streamSequence: sequence,
      ...defined({ streamId: stream }),
    }],
  };
}

/** Properties of a message besides its text. */
export interface MessageOptions {
  /** The stream that this message ends. */
  readonly stream?: string;
  readonly replyTo?: string | undefined;
  /** Text of the model: it gets the AI label and feedback buttons. */
  readonly isAnswer?: boolean;
  /** Sources that this message cites. */
  readonly citations?: readonly Citation[];
  /** The last message of an answer asks for feedback. */
  readonly isLast?: boolean;
}

/** A message. */
export function messageBody(
  context: ReplyContext,
  text: string,
  options: MessageOptions = {},
): Body {
  const { stream, replyTo, isAnswer = false, isLast = false, citations = [] } = options;
  const entities = [
    ...(stream === undefined
      ? []
      : [{ type: "streaminfo", streamType: "final", streamId: stream }]),
    ...(isAnswer ? [answerEntity(citations)] : []),
  ];
  return {
    ...envelope(context),
    type: "message",
    textFormat: "markdown",
    text,
    ...(stream === undefined && replyTo !== undefined ? { replyToId: replyTo } : {}),
    ...(entities.length === 0 ? {} : { entities }),
    ...(isAnswer && isLast ? { channelData: { feedbackLoop: { type: "default" } } } : {}),
  };
}

/** The entity with label and citations: the platform accepts only one of this type. */
function answerEntity(citations: readonly Citation[]): Body {
  if (citations.length === 0) return AI_LABEL;
  return {
    ...AI_LABEL,
    citation: citations.map(({ position, name, url, abstract }) => ({
      "@type": "Claim",
      position,
      appearance: { "@type": "DigitalDocument", name, url, abstract },
    })),
  };
}

/** Placeholder for a text until the platform has returned the message's id. */
export const LINE = "Writing the answer…";

/** A message that is the placeholder of an answer's text. */
export function lineBody(context: ReplyContext, replyTo: string | undefined): Body {
  return messageBody(context, LINE, { replyTo });
}

/** A card. */
export function cardBody(context: ReplyContext, attachment: Body): Body {
  return { ...envelope(context), type: "message", attachments: [attachment] };
}

/** An approval request as a card. */
export function approvalBody(context: ReplyContext, approval: ApprovalRequest): Body {
  return cardBody(context, {
    contentType: "application/vnd.microsoft.card.adaptive",
    content: approvalCard(approval),
  });
}

/** A typing indicator, where there is no stream. */
export function typingBody(context: ReplyContext): Body {
  return { ...envelope(context), type: "typing" };
}

function envelope(context: ReplyContext): Body {
  return {
    from: context.bot,
    recipient: { id: context.user.id },
    conversation: { id: context.conversation },
    ...defined({ locale: context.locale }),
  };
}
