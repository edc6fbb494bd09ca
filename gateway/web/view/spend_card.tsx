/**
 * The card of an agent at a spend ceiling: what is spent, who may allow how much more, and the
 * button that allows it.
 *
 * @module
 */

import { approvalFaults, decideCall, deciding } from "gateway/web/app/approvals.ts";
import { now } from "gateway/web/app/model.ts";
import { cleanLine } from "core/text/clean.ts";
import type { SpendCard as Words } from "core/usage/spend_card.ts";
import { type ApprovalItem, expiryWords } from "gateway/web/state/approvals.ts";

/** The card. */
export function SpendCard(
  { item, words }: { readonly item: ApprovalItem; readonly words: Words },
) {
  const isSending = deciding.value.has(item.id);
  const fault = approvalFaults.value.get(item.id);
  return (
    <section class="approval-card" aria-label={words.title}>
      <h2 class="approval-title">{words.title}</h2>
      <div class="approval-row">
        <p>{words.spent}</p>
        <p>{words.mayAllow}</p>
        <p class="approval-facts">{words.otherwise}</p>
        <p class="approval-facts">The request {expiryWords(item.expires, now.value)}.</p>
        {fault === undefined ? null : <p class="approval-fault" role="alert">{cleanLine(fault)}</p>}
        {item.decision === undefined
          ? (
            <div class="approval-buttons is-spending">
              <button
                type="button"
                disabled={isSending}
                onClick={() => void decideCall(item, "denied", "")}
              >
                Do not allow
              </button>
              <button
                type="button"
                class="approve"
                disabled={isSending}
                onClick={() => void decideCall(item, "approved", "")}
              >
                {words.allow}
              </button>
            </div>
          )
          : (
            <p class="approval-facts" role="status">
              {item.decision === "approved" ? "Allowed" : "Not allowed"}: on its way to the agent
            </p>
          )}
      </div>
    </section>
  );
}
