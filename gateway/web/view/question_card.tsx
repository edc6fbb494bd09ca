/**
 * The cards above the composer: questions of programs to the owner, each a form with a field for
 * each value, or an address to open. Answers are checked here and again by the gateway.
 *
 * @module
 */

import { useState } from "preact/hooks";
import { clean, cleanLine } from "core/text/clean.ts";
import type { QuestionForm } from "core/questions/form.ts";
import { checkValues } from "core/questions/values.ts";
import { connection, now, selected } from "gateway/web/app/model.ts";
import { answering, answerQuestion, questions } from "gateway/web/app/questions.ts";
import { expiryWords } from "gateway/web/state/approvals.ts";
import {
  askerOf,
  faultsByField,
  type Filled,
  filledValues,
  type QuestionItem,
} from "gateway/web/state/questions.ts";
import { QuestionFields } from "gateway/web/view/question_fields.tsx";

/** All questions of the open agent. */
export function QuestionCards() {
  return <>{questions.value.map((item) => <QuestionCard item={item} key={item.id} />)}</>;
}

const NO_FAULTS: ReadonlyMap<string, string> = new Map();

/** State and actions of one card. */
function useAnswer(item: QuestionItem) {
  const [faults, setFaults] = useState(NO_FAULTS);
  const { form } = item;
  const finish = (found: readonly string[], element: HTMLFormElement) => {
    setFaults(faultsByField(form, found));
    if (found.length > 0) {
      return requestAnimationFrame(() =>
        element.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
      );
    }
    // The card disappears with the focus, so the focus moves on.
    if (!matchMedia("(pointer: coarse)").matches) document.getElementById("composer")?.focus();
  };
  return {
    faults,
    send: async (element: HTMLFormElement) => {
      const checked = checkValues(form, filledValues(form, filledOf(element)));
      finish(
        checked.ok
          ? await answerQuestion(item, { action: "answered", values: checked.value })
          : checked.error,
        element,
      );
    },
    decline: async (element: HTMLFormElement) =>
      finish(await answerQuestion(item, { action: "declined" }), element),
  };
}

function filledOf(element: HTMLFormElement): Filled {
  const data = new FormData(element);
  return new Map(
    [...new Set(data.keys())].map((name) => [name, data.getAll(name).map((one) => String(one))]),
  );
}

function QuestionCard({ item }: { readonly item: QuestionItem }) {
  const { id, form, expires } = item;
  const { faults, send, decline } = useAnswer(item);
  const title = `${cleanLine(askerOf(form, selected.value ?? ""))} asks`;
  const isOffline = connection.value.kind !== "online";
  const isIdle = !isOffline && !answering.value.has(id);
  return (
    <section class="question-card" aria-labelledby={`${id}-title`}>
      <div class="question-head">
        <h2 class="question-title" id={`${id}-title`}>{title}</h2>
        <p class="approval-facts">
          {isOffline ? "offline" : expiryWords(expires, now.value)}
        </p>
      </div>
      {form.message === "" ? null : <p class="question-message">{clean(form.message)}</p>}
      {form.url === undefined ? null : <Address url={form.url} />}
      {item.action === undefined
        ? (
          <form
            class="question-form"
            noValidate
            autocomplete="off"
            onSubmit={(event) => {
              event.preventDefault();
              if (isIdle) void send(event.currentTarget);
            }}
          >
            <fieldset class="question-fields" disabled={!isIdle}>
              <legend class="unseen">{title}</legend>
              <QuestionFields id={id} form={form} faults={faults} />
            </fieldset>
            {isOffline ? <p class="approval-facts">Answer when the connection returns.</p> : null}
            {faults.has("")
              ? <p class="approval-fault" role="alert">{cleanLine(faults.get("") ?? "")}</p>
              : null}
            <div class="question-end">
              <button
                type="button"
                class="quiet"
                disabled={!isIdle}
                onClick={({ currentTarget: { form: element } }) =>
                  void (element !== null && decline(element))}
              >
                Decline
              </button>
              <button type="submit" class="primary" disabled={!isIdle}>{sendWords(form)}</button>
            </div>
          </form>
        )
        : (
          <p class="approval-facts" role="status">
            {item.action === "answered" ? "Answered" : "Declined"}: on its way to the agent
          </p>
        )}
    </section>
  );
}

function sendWords({ url, fields }: QuestionForm): string {
  if (url !== undefined) return "I have opened it";
  return fields.length === 0 ? "Accept" : "Send";
}

/** An address as text: the page does not open it. */
function Address({ url }: { readonly url: string }) {
  const host = URL.canParse(url) ? new URL(url).host : "";
  return (
    <div class="question-address">
      <p>
        It asks you to open this address at{" "}
        <strong>{cleanLine(host)}</strong>. Open it only if you expect it.
      </p>
      <code tabIndex={0}>{cleanLine(url)}</code>
    </div>
  );
}
