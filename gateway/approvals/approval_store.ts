/**
 * The gateway's copy of the agents' approvals, and the decisions made here. The dial unit is the
 * authority: its events overwrite this copy. A decision is on disk before it is acknowledged, and
 * is sent again until the agent has confirmed its outcome.
 *
 * @module
 */

import type { EVENT_PAYLOADS } from "core/dial/event.ts";
import { refusal } from "core/errors.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { Database, SqlValue } from "core/ports/databases.ts";
import { err, ok, type Result } from "core/result.ts";
import type { ApprovalState } from "core/risk/approval.ts";
import { writeSql } from "core/store/sql_write.ts";
import type { z } from "zod";

/** Tables of the approval store. */
export const APPROVAL_TABLES = `
create table if not exists approvals (
  place integer primary key autoincrement,
  approval_id text not null unique,
  agent text not null,
  turn_id text,
  at integer not null,
  expires integer not null,
  digest text not null,
  state text not null,
  asked text not null,
  decision text,
  decided_by text,
  surface text,
  reason text,
  is_confirmed integer not null default 0
) strict;
create index if not exists approvals_open on approvals (agent, place)
  where state in ('asked', 'decided');
`;

/** Payload of an agent's request for approval. */
export type ApprovalRequest = z.infer<typeof EVENT_PAYLOADS["approval_asked"]>;

/** An approval as the gateway knows it. */
export interface StoredApproval {
  readonly id: string;
  readonly agent: string;
  readonly turnId: string | undefined;
  /** Time of the request, by the agent's clock. */
  readonly at: number;
  readonly asked: ApprovalRequest;
  readonly state: ApprovalState;
  readonly decision: "approved" | "denied" | undefined;
  readonly by: string | undefined;
  readonly surface: string | undefined;
  readonly reason: string | undefined;
  /** Whether the agent has confirmed this decision. */
  readonly isConfirmed: boolean;
}

/** A decision made at this gateway. */
export interface GatewayDecision {
  readonly agent: string;
  readonly id: string;
  readonly digest: string;
  readonly decision: "approved" | "denied";
  readonly by: string;
  readonly surface: string;
  readonly reason?: string | undefined;
  readonly now: number;
}

/** The approval store. */
export interface ApprovalStore {
  /** Approvals that are undecided, or decided and not ended; oldest first. */
  openOf(agents: readonly string[], now: number): Promise<readonly StoredApproval[]>;
  /**
   * Records the first decision. Refuses an approval that is not open, is another agent's, or is
   * for another call.
   */
  decide(decision: GatewayDecision): Promise<Result<StoredApproval>>;
  /** Decisions made here that the agent has not confirmed. */
  unconfirmedOf(agent: string): Promise<readonly StoredApproval[]>;
}

/** Applies an agent's event to its approval. Call it only inside the transaction that stores it. */
export type ApplyToApproval = (
  agent: string,
  event: {
    readonly kind: string;
    readonly turnId: string | undefined;
    readonly at: number;
    readonly payload: Readonly<Record<string, unknown>>;
  },
) => void;

/** Opens the approval store of a prepared database, and its hook for agents' events. */
export function openApprovalStore(
  db: Database,
): { readonly store: ApprovalStore; readonly applyToApproval: ApplyToApproval } {
  const sql = statements(db);
  const find = (id: string) => readRow(sql.find.get(id));
  return {
    applyToApproval: (agent, event) => applyEvent(sql, agent, event),
    store: {
      openOf: async (agents, now) =>
        sql.open.all(JSON.stringify(agents), Math.trunc(now)).flatMap((row) => readRow(row) ?? []),
      unconfirmedOf: async (agent) =>
        sql.unconfirmed.all(agent).flatMap((row) => readRow(row) ?? []),
      decide: async (decision) => {
        const { id, by, surface, reason } = decision;
        const fault = decisionFault(find(id), decision);
        if (fault !== undefined) return err(fault);
        const written = writeSql(db, "the decision", () => {
          sql.decide.run(decision.decision, by, surface, reason ?? null, id);
        });
        if (!written.ok) return written;
        const decided = find(id);
        return decided === undefined ? err(unknownApproval(decision)) : ok(decided);
      },
    },
  };
}

function statements(db: Database) {
  return {
    find: db.prepare("select * from approvals where approval_id = ?"),
    open: db.prepare(
      "select * from approvals where agent in (select value from json_each(?)) " +
        "and state in ('asked', 'decided') and (state = 'decided' or expires > ?) order by place",
    ),
    unconfirmed: db.prepare(
      "select * from approvals where agent = ? and state = 'decided' and is_confirmed = 0 " +
        "order by place",
    ),
    ask: db.prepare(
      "insert or ignore into approvals (approval_id, agent, turn_id, at, expires, digest, state, " +
        "asked) values (?, ?, ?, ?, ?, ?, 'asked', ?)",
    ),
    decide: db.prepare(
      "update approvals set state = 'decided', decision = ?, decided_by = ?, surface = ?, " +
        "reason = ? where approval_id = ? and state = 'asked'",
    ),
    confirm: db.prepare(
      "update approvals set state = 'decided', decision = ?, decided_by = ?, surface = ?, " +
        "reason = ?, is_confirmed = 1 where approval_id = ? and agent = ? " +
        "and state in ('asked', 'decided')",
    ),
    end: db.prepare(
      "update approvals set state = ? where approval_id = ? and agent = ? " +
        "and state in ('asked', 'decided')",
    ),
    forget: db.prepare(
      "delete from approvals where state not in ('asked', 'decided') and agent = ? and place <= " +
        "(select max(place) from approvals) - ?",
    ),
  };
}

function applyEvent(
  sql: ReturnType<typeof statements>,
  ...[agent, { kind, payload, turnId, at }]: Parameters<ApplyToApproval>
): void {
  // The payload is validated: for these kinds, `readAgentEvent` returns nothing else.
  const id = String(payload.approval_id);
  const text = (value: unknown) => typeof value === "string" ? value : null;
  if (kind === "approval_asked") {
    const asked = payload as ApprovalRequest;
    const when = [Math.round(at), Math.round(asked.expires)] as const;
    sql.ask.run(id, agent, turnId ?? null, ...when, asked.digest, JSON.stringify(asked));
  } else if (kind === "approval_decided") {
    const { decision, by, surface, reason } = payload;
    sql.confirm.run(text(decision), text(by), text(surface), text(reason), id, agent);
  } else if (kind === "approval_ended") {
    sql.end.run(text(payload.state), id, agent);
    sql.forget.run(agent, APPROVAL_LIMITS.endedKept);
  }
}

function readRow(
  row: Readonly<Record<string, SqlValue>> | undefined,
): StoredApproval | undefined {
  if (row === undefined) return undefined;
  const text = (value: SqlValue | undefined) => value === null ? undefined : String(value);
  const decision = text(row.decision);
  return {
    id: String(row.approval_id),
    agent: String(row.agent),
    turnId: text(row.turn_id),
    at: Number(row.at),
    asked: JSON.parse(String(row.asked)) as ApprovalRequest,
    state: String(row.state) as ApprovalState,
    decision: decision === "approved" || decision === "denied" ? decision : undefined,
    by: text(row.decided_by),
    surface: text(row.surface),
    reason: text(row.reason),
    isConfirmed: Number(row.is_confirmed) === 1,
  };
}

function decisionFault(approval: StoredApproval | undefined, decision: GatewayDecision) {
  // Another agent's approval is reported as not found: only its owner may know that it exists.
  if (approval === undefined || approval.agent !== decision.agent) {
    return unknownApproval(decision);
  }
  if (approval.asked.digest !== decision.digest) {
    return cannot("approval-other-call", decision, "it is about another call than the one shown");
  }
  if (approval.state === "expired" || approval.asked.expires <= decision.now) {
    return cannot("approval-expired", decision, "it has expired, and the call was denied");
  }
  if (approval.state === "superseded") {
    return cannot("approval-superseded", decision, "the agent no longer waits for it");
  }
  if (approval.state !== "asked") {
    const { by, decision: earlier = "decided" } = approval;
    const found = by === undefined
      ? "it was already decided"
      : `it was already ${earlier} by ${by}`;
    return cannot("approval-decided", decision, found);
  }
  return undefined;
}

function cannot(code: string, { id }: GatewayDecision, found: string) {
  return refusal(code, `Cannot decide about approval ${JSON.stringify(id)}: ${found}`);
}

function unknownApproval(decision: GatewayDecision) {
  return cannot("approval-unknown", decision, "the agent has no such approval");
}
