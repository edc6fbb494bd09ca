/**
 * The composer: the draft, the outgoing messages above it, Send beside it, and Stop during a turn.
 *
 * @module
 */

import { useEffect, useRef } from "preact/hooks";
import { cleanLine } from "core/text/clean.ts";
import { discardItem, retryItem, sendDraft, stopTurn } from "gateway/web/app/actions.ts";
import { approvals } from "gateway/web/app/approvals.ts";
import { type as typeWords } from "gateway/web/app/drafts.ts";
import {
  connection,
  draft,
  isKept,
  ownOutbox,
  running,
  stopFault,
  transcript,
} from "gateway/web/app/model.ts";
import { questions } from "gateway/web/app/questions.ts";
import type { OutboxItem } from "gateway/web/state/outbox.ts";
import { ApprovalCards } from "gateway/web/view/approval_card.tsx";
import { Icon } from "gateway/web/view/icons.tsx";
import { QuestionCards } from "gateway/web/view/question_card.tsx";

/** Bytes that the gateway accepts in one message. */
const TEXT_BYTES_MAX = 256 * 1024;

/** The composer. */
export function Composer({ agent }: { readonly agent: string }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const isTouch = matchMedia("(pointer: coarse)").matches;
  useEffect(() => {
    // On a touch screen the keyboard would cover the transcript.
    if (!isTouch) field.current?.focus();
  }, []);
  if (transcript.value.phase === "refused") return null;
  const words = draft.value;
  const isTooLong = words.length > TEXT_BYTES_MAX / 4 &&
    new TextEncoder().encode(words).length > TEXT_BYTES_MAX;
  const canSend = words.trim() !== "" && !isTooLong;
  const send = () => {
    if (canSend) void sendDraft();
    field.current?.focus();
  };
  return (
    <div class="composer">
      <Pending />
      <Queue />
      <Notes isTooLong={isTooLong} />
      <form
        class="composer-box"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <label class="unseen" for="composer">Message to {agent}</label>
        <textarea
          id="composer"
          ref={field}
          rows={1}
          value={words}
          placeholder={`Message ${agent}`}
          enterkeyhint={isTouch ? "enter" : "send"}
          onInput={(event) => typeWords(event.currentTarget.value)}
          onKeyDown={(event) => {
            const isSend = event.key === "Enter" && !event.shiftKey && !event.isComposing &&
              !isTouch;
            if (!isSend) return;
            event.preventDefault();
            send();
          }}
        />
        <StopButton />
        <button
          type="submit"
          class="square send"
          aria-label="Send"
          title="Send"
          disabled={!canSend}
        >
          <Icon name="send" />
        </button>
      </form>
    </div>
  );
}

/** What the person must know before sending. */
function Notes({ isTooLong }: { readonly isTooLong: boolean }) {
  return (
    <>
      {stopFault.value === ""
        ? null
        : <p class="composer-note is-fault" role="alert">{stopFault}</p>}
      {isKept.value ? null : (
        <p class="composer-note">
          This browser stores nothing: unsent messages are lost when the page closes.
        </p>
      )}
      {isTooLong
        ? <p class="composer-note is-fault" role="alert">Too long: at most 256 KiB can be sent.</p>
        : null}
    </>
  );
}

/** Stops the running turn; renders nothing without one. */
function StopButton() {
  if (running.value === undefined) return null;
  return (
    <button
      type="button"
      class="square stop"
      aria-label="Stop"
      title="Stop"
      onClick={() => void stopTurn()}
    >
      <Icon name="stop" />
    </button>
  );
}

/** What waits for the owner. */
function Pending() {
  if (approvals.value.length + questions.value.length === 0) return null;
  return (
    <div class="approvals">
      <ApprovalCards />
      <QuestionCards />
    </div>
  );
}

function Queue() {
  const items = ownOutbox.value;
  if (items.length === 0) return null;
  return (
    <ul class="queue" role="list" aria-label="Outgoing messages">
      {items.map((item) => <QueueRow item={item} key={item.key} />)}
    </ul>
  );
}

function QueueRow({ item }: { readonly item: OutboxItem }) {
  const isHere = item.state === "queued" || item.state === "refused" ||
    item.state === "unconfirmed";
  return (
    <li class={`queue-row is-${item.state}`}>
      <span class="queue-text">{cleanLine(item.text.slice(0, 200))}</span>
      <span class="queue-state">{stateWords(item)}</span>
      {item.state === "refused"
        ? <button type="button" class="small" onClick={() => void retryItem(item)}>Retry</button>
        : null}
      {isHere
        ? (
          <button type="button" class="small" onClick={() => void discardItem(item)}>
            {item.state === "unconfirmed" ? "Discard" : "Edit"}
          </button>
        )
        : null}
    </li>
  );
}

function stateWords(item: OutboxItem): string {
  switch (item.state) {
    case "queued":
      return connection.value.kind === "online" ? "queued" : "queued until the connection returns";
    case "sending":
      return "sending";
    case "unconfirmed":
      return "unconfirmed: resent automatically, delivered once";
    case "sent":
      return "sent";
    case "refused":
      return cleanLine(item.reason ?? "not accepted");
  }
}
