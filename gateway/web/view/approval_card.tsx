/**
 * The cards above the composer: calls that wait for the owner, with all arguments, origin and
 * expiry. Calls of one turn share a card; each is decided separately. An agent at a spend ceiling
 * has a separate card.
 *
 * @module
 */

import { useState } from "preact/hooks";
import { clean, cleanLine } from "core/text/clean.ts";
import { approvalFaults, approvals, decideCall, deciding } from "gateway/web/app/approvals.ts";
import { now } from "gateway/web/app/model.ts";
import {
  type ApprovalItem,
  callName,
  expiryWords,
  groupApprovals,
} from "gateway/web/state/approvals.ts";
import { HoldButton } from "gateway/web/view/hold_button.tsx";
import { SpendCard } from "gateway/web/view/spend_card.tsx";

/** All cards of the open agent. */
export function ApprovalCards() {
  const groups = groupApprovals(approvals.value);
  return (
    <>
      {groups.map(({ key, items }) => {
        const [first] = items;
        return first?.spending === undefined
          ? <CallCard items={items} key={key} />
          : <SpendCard item={first} words={first.spending} key={key} />;
      })}
    </>
  );
}

function CallCard({ items }: { readonly items: readonly ApprovalItem[] }) {
  return (
    <section class="approval-card" aria-label={titleOf(items.length)}>
      <h2 class="approval-title">{titleOf(items.length)}</h2>
      <ul role="list">
        {items.map((item) => (
          <ApprovalRow
            item={item}
            name={cleanLine(callName(item, approvals.value))}
            key={item.id}
          />
        ))}
      </ul>
    </section>
  );
}

function titleOf(count: number): string {
  return count === 1 ? "A call needs your approval" : `${count} calls need your approval`;
}

function ApprovalRow(
  { item, name }: { readonly item: ApprovalItem; readonly name: string },
) {
  const [reason, setReason] = useState("");
  const isSending = deciding.value.has(item.id);
  const fault = approvalFaults.value.get(item.id);
  const from = item.mcp === "" ? "of the runtime" : `of ${item.mcp} ${item.version}`;
  return (
    <li class={`approval-row ${item.isDestructive ? "is-destructive" : ""}`}>
      <p class="approval-tool">
        <strong>{name}</strong> <span class="faint">{cleanLine(from)}</span>
      </p>
      <pre class="approval-arguments" tabIndex={0} aria-label={`Arguments of ${name}`}>
        {clean(item.arguments)}
      </pre>
      <p class="approval-facts">
        {cleanLine(item.origin)} · {expiryWords(item.expires, now.value)}
        {item.isDestructive ? " · destructive" : ""}
      </p>
      {fault === undefined ? null : <p class="approval-fault" role="alert">{cleanLine(fault)}</p>}
      {item.decision === undefined
        ? (
          <div class="approval-buttons">
            <label class="unseen" for={`reason-${item.id}`}>Reason for denying {name}</label>
            <input
              id={`reason-${item.id}`}
              type="text"
              maxLength={1000}
              value={reason}
              placeholder="Reason for denying (optional)"
              onInput={(event) => setReason(event.currentTarget.value)}
            />
            <button
              type="button"
              aria-label={`Deny ${name}`}
              disabled={isSending}
              onClick={() => void decideCall(item, "denied", reason)}
            >
              Deny
            </button>
            <HoldButton
              label="Approve"
              what={name}
              isHeld={item.isDestructive}
              isDisabled={isSending}
              onDone={() => void decideCall(item, "approved", "")}
            />
          </div>
        )
        : (
          <p class="approval-facts" role="status">
            {item.decision === "approved" ? "Approved" : "Denied"}: on its way to the agent
          </p>
        )}
    </li>
  );
}
