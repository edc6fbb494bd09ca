/**
 * One turn: its message, the agent's steps and answers, and its end. An unchanged turn is not
 * rendered again.
 *
 * @module
 */

import { memo } from "preact/compat";
import { clean, cleanLine } from "core/text/clean.ts";
import { loadSteps } from "gateway/web/app/actions.ts";
import { approvals } from "gateway/web/app/approvals.ts";
import { questions } from "gateway/web/app/questions.ts";
import { NEEDS_ANSWER, NEEDS_APPROVAL } from "gateway/web/state/agents.ts";
import { cutWords, type Truncation as CutTurn } from "gateway/web/state/truncations.ts";
import type { Preview } from "gateway/web/state/transcript.ts";
import type { Outcome, Step, TurnView } from "gateway/web/state/turns.ts";
import { tokenWords, type TurnTokens } from "gateway/web/state/usage.ts";
import { headOf, LongText } from "gateway/web/view/long_text.tsx";
import { LiveMarkdown, Markdown } from "gateway/web/view/markdown.tsx";
import { Icon } from "gateway/web/view/icons.tsx";
import { QuestionView } from "gateway/web/view/question_step.tsx";
import { keepFocus } from "gateway/web/view/focus.ts";
import { PlanList } from "gateway/web/view/plan_list.tsx";
import { MessageState } from "gateway/web/view/send_now.tsx";
import { SummaryRow } from "gateway/web/view/summary_row.tsx";
import { Cut, ToolFold, ToolRow } from "gateway/web/view/tool_row.tsx";

interface TurnProps {
  readonly turn: TurnView;
  readonly agent: string;
  readonly position: number;
  readonly previews: readonly Preview[];
}

/** One turn as an article of the feed. */
export const Turn = memo(function Turn({ turn, agent, position, previews }: TurnProps) {
  const { ask } = turn;
  const isAlive = turn.kind === "turn" && turn.state !== "ended";
  if (turn.kind === "aside") {
    return (
      <article class="turn" data-article tabIndex={-1} aria-posinset={position} aria-setsize={-1}>
        {turn.steps.map((step) => <StepView step={step} agent={agent} key={step.key} />)}
      </article>
    );
  }
  const head = ask === undefined ? "An earlier message" : cleanLine(ask.text.slice(0, 80));
  return (
    <article
      class="turn"
      data-article
      tabIndex={-1}
      aria-posinset={position}
      aria-setsize={-1}
      aria-label={head}
      aria-busy={isAlive && previews.length > 0}
    >
      {ask === undefined ? null : (
        <div class={`ask ${ask.isOwner ? "" : "is-agent"}`}>
          <h2 class="unseen">{ask.isOwner ? "You" : `Message from ${ask.from}`}</h2>
          <div class="bubble">
            {ask.isOwner ? null : <p class="bubble-from">from {ask.from}</p>}
            <AskText text={clean(ask.text)} />
          </div>
          <p class="ask-under">
            <time dateTime={new Date(turn.at).toISOString()}>{formatTime(turn.at)}</time>
            <MessageState turn={turn} />
          </p>
        </div>
      )}
      <div class="answer">
        <h2 class="unseen">{agent}</h2>
        {turn.cut === undefined ? null : <EarlierSteps cut={turn.cut} />}
        {turn.steps.map((step) => <StepView step={step} agent={agent} key={step.key} />)}
        {previews.map((preview) => (
          <LiveMarkdown
            key={preview.messageId}
            text={preview.start > 0 ? `…${preview.text}` : preview.text}
          />
        ))}
        {turn.state === "working" && previews.length === 0
          ? <Working turnId={turn.turnId} />
          : null}
        {turn.outcome === undefined ? null : <OutcomeLine outcome={turn.outcome} />}
        {turn.tokens === undefined ? null : <TokenLine tokens={turn.tokens} />}
      </div>
    </article>
  );
});

/** Placeholder for the omitted steps of a long turn; a click fetches the next batch. */
function EarlierSteps({ cut }: { readonly cut: CutTurn }) {
  const words = cutWords(cut.counts);
  if (words === "") return null;
  const isLoading = cut.phase === "loading";
  return (
    <p class="earlier">
      <button
        type="button"
        class="quiet"
        // A disabled button would lose the focus while it loads.
        aria-disabled={isLoading}
        onClick={(event) => void keepFocus(event.currentTarget, () => loadSteps(cut.turnId))}
      >
        <Icon name="more" /> {words}
        {isLoading ? " · loading…" : null}
        {cut.phase === "failed" ? " · could not load, try again" : null}
      </button>
    </p>
  );
}

/** What the agent does now: it works, or waits for a person's decision. */
function Working({ turnId }: { readonly turnId: string }) {
  const words =
    approvals.value.some((item) => item.turnId === turnId && item.decision === undefined)
      ? NEEDS_APPROVAL
      : questions.value.some((item) => item.turnId === turnId && item.action === undefined)
      ? NEEDS_ANSWER
      : undefined;
  return (
    <p class={words === undefined ? "working" : "working is-waiting"}>
      <span class="dots" aria-hidden="true"></span> {words ?? "working"}
    </p>
  );
}

function AskText({ text }: { readonly text: string }) {
  return headOf(text).isWhole
    ? <p class="ask-text">{text}</p>
    : <LongText text={text} label="Message" />;
}

function StepView({ step, agent }: { readonly step: Step; readonly agent: string }) {
  switch (step.kind) {
    case "tool":
      return <ToolRow step={step} />;
    case "fold":
      return <ToolFold step={step} />;
    case "message":
      return (
        <>
          <Markdown text={step.text} />
          <Cut bytes={step.cut} />
        </>
      );
    case "notice":
      return <p class="notice">{clean(step.text)}</p>;
    case "steer":
      return (
        <p class="steer">
          <span class="faint">Message read:</span> {clean(headOf(step.text).head)}
        </p>
      );
    case "plan":
      return <PlanList step={step} />;
    case "summary":
      return <SummaryRow step={step} />;
    case "question":
      return <QuestionView step={step} agent={agent} />;
    case "sent":
      return (
        <div class={`sent is-${step.status}`}>
          <p class="bubble-from">
            {step.status === "failed" || step.status === "denied" ? "Not sent" : "Sent"} through
            {" "}
            {cleanLine(step.via)}
            {step.to === "" ? null : ` to ${cleanLine(step.to)}`}
          </p>
          <Markdown text={step.text} />
        </div>
      );
  }
}

const OUTCOME_WORDS = {
  cancelled: "Stopped",
  failed: "Failed",
  interrupted: "Interrupted",
} as const;

function OutcomeLine({ outcome }: { readonly outcome: Outcome }) {
  if (outcome.outcome === "completed") return null;
  return (
    <p class={`outcome is-${outcome.outcome}`}>
      <strong>{OUTCOME_WORDS[outcome.outcome]}</strong>
      {outcome.reason === "" ? null : <span>{clean(outcome.reason)}</span>}
      {outcome.code === "" ? null : <code>{cleanLine(outcome.code)}</code>}
    </p>
  );
}

function TokenLine({ tokens }: { readonly tokens: TurnTokens }) {
  return <p class="tokens" title={cleanLine(tokens.models.join(", "))}>{tokenWords(tokens)}</p>;
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

/** Formats a time of day. */
function formatTime(at: number): string {
  return TIME.format(at);
}
