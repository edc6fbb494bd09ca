/**
 * The summary that replaces earlier messages for the model: one line that opens to its text, which
 * the owner can change. A change is a message `/summary` to the agent.
 *
 * @module
 */

import { useState } from "preact/hooks";
import { clean } from "core/text/clean.ts";
import { sendText } from "gateway/web/app/actions.ts";
import type { SummaryStep } from "gateway/web/state/summaries.ts";
import { Icon } from "gateway/web/view/icons.tsx";
import { LongText } from "gateway/web/view/long_text.tsx";

/** One summary. Its text is rendered when it is opened. */
export function SummaryRow({ step }: { readonly step: SummaryStep }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="tool" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="stack" />
        <span class="summary-title">
          {step.isByOwner ? "The summary was changed" : "Earlier messages were summarised"}
        </span>
        <Icon name="chevron" />
      </summary>
      {isOpen ? <SummaryText step={step} /> : null}
    </details>
  );
}

function SummaryText({ step }: { readonly step: SummaryStep }) {
  const [edited, setEdited] = useState<string>();
  const text = clean(step.text);
  if (edited === undefined) {
    return (
      <div class="tool-detail">
        <p class="faint">The agent continues with this text instead of the earlier messages.</p>
        <LongText text={text} label="Summary" />
        {step.isEditable
          ? (
            <p>
              <button type="button" class="small" onClick={() => setEdited(text)}>Edit</button>
            </p>
          )
          : null}
      </div>
    );
  }
  const canSave = edited.trim() !== "" && edited.trim() !== text.trim();
  return (
    <form
      class="tool-detail"
      onSubmit={(event) => {
        event.preventDefault();
        if (!canSave) return;
        void sendText(`/summary\n${edited.trim()}`);
        setEdited(undefined);
      }}
    >
      <textarea
        class="summary-text"
        aria-label="Summary"
        rows={12}
        value={edited}
        onInput={(event) => setEdited(event.currentTarget.value)}
      />
      <p class="summary-buttons">
        <button type="button" class="small" onClick={() => setEdited(undefined)}>Cancel</button>
        <button type="submit" class="small" disabled={!canSave}>Save</button>
      </p>
    </form>
  );
}
