/**
 * Approval storage for an agent with several gateways. An approval is stored with the turn that
 * requested it, so that the owner is asked in the same conversation. Reads all stores, writes to
 * one.
 *
 * @module
 */

import type { Approval } from "core/risk/approval.ts";
import type { ApprovalDeps } from "units/dial/approvals.ts";
import type { DialStore } from "units/dial/store.ts";

type ApprovalStore = ApprovalDeps["store"];

/** Joins the stores of all gateways. The first one keeps the approvals that no turn requested. */
export function joinApprovalStores(first: DialStore, ...more: readonly DialStore[]): ApprovalStore {
  const all = [first, ...more];
  const holderOf = (id: string) => all.find((store) => store.approvals.find(id) !== undefined);
  const runningStore = () => all.find((store) => store.runningTurns().length > 0);
  return {
    runningTurns: () => all.flatMap((store) => store.runningTurns()),
    append: (drafts, move, held) => {
      const holder = held?.approval === undefined ? undefined : holderOf(held.approval.id);
      return (holder ?? runningStore() ?? first).append(drafts, move, held);
    },
    approvals: {
      find: (id) => holderOf(id)?.approvals.find(id),
      open: () => byTime(all.flatMap((store) => [...store.approvals.open()])),
      ofTurn: (turnId) => all.flatMap((store) => [...store.approvals.ofTurn(turnId)]),
      newest: (count) => {
        // The order of a store stays, where the time is equal.
        const oldestFirst = all.flatMap((store) => store.approvals.newest(count).toReversed());
        return byTime(oldestFirst).slice(-count).toReversed();
      },
    },
  };
}

function byTime(approvals: readonly Approval[]): readonly Approval[] {
  return approvals.toSorted((one, other) => one.askedAt - other.askedAt);
}
