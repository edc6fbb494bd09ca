/**
 * Opens, validates and ends browser sessions. A session is a signed token in a cookie and a row in
 * the store. An invalid token means no session, not an error.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import { defined } from "core/defined.ts";
import { HOUR_MS } from "core/text/duration.ts";
import type { DiskReserve } from "login/disk_reserve.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { createTtlCache } from "core/ttl_cache.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { type Signer, toBase64Url, type VerifiedFields } from "core/crypto/signed_value.ts";
import type { Fingerprints } from "login/session/fingerprint.ts";
import type { Leases } from "login/session/leases.ts";
import type { LoginStore, SessionRow } from "core/login/store.ts";

/** Purpose of the token, its first field. */
export const SESSION_PURPOSE = "session";
const ID_BYTES = 16;
const AGENT_LENGTH_MAX = 200;
/** Minimum interval between deletions of expired rows; they run when a session opens. */
const SWEEP_MS = HOUR_MS;

/** An active session. */
export interface Session {
  readonly id: string;
  readonly principal: string;
  /** Milliseconds since the epoch; the earlier of its expiry and its idle timeout. */
  readonly expires: number;
}

/** Why a token is rejected; for the log. */
export type SessionFault = "token" | "unknown" | "expired" | "idle" | "password-changed";

/** Origin of a login, and the family of its refresh references. */
export interface SessionOrigin {
  readonly client: string;
  readonly agent: string;
  readonly family?: string;
}

/** The browser's part of a session. */
export interface SessionToken {
  readonly token: string;
  readonly maxAgeSeconds: number;
}

/** A session whose row is not stored yet. */
export interface PreparedSession extends SessionToken {
  readonly row: SessionRow;
}

/** The sessions of this host. */
export interface Sessions {
  /** Stores a new session and returns its token and lifetime. */
  open(principal: string, from: SessionOrigin): Promise<Result<SessionToken>>;
  /**
   * Creates a session without storing its row. The caller stores it, and passes the evicted ids to
   * `ended`.
   */
  prepare(principal: string, from: SessionOrigin): Promise<Result<PreparedSession>>;
  /** Drops deleted sessions from the cache, and aborts their leases. */
  ended(ids: readonly string[]): void;
  read(token: string): Promise<Result<Session, SessionFault>>;
  /** Whether a session is still active. Call it after acquiring a lease for the session. */
  isActive(session: Session): Promise<boolean>;
  /** Re-signs a token of an old key, so that the key can be removed from the ring. */
  renew(token: string): Promise<SessionToken | undefined>;
  /** Lease target for requests with a Basic header, which have no session row. */
  leaseTargetOfBasic(principal: string): { readonly id: string; readonly expires: number };
  /** When a session ends without further requests; undefined if it has ended. */
  expiryOf(id: string): number | undefined;
  /** Active sessions of a principal, newest first. */
  list(principal: string): readonly SessionRow[];
  /**
   * Ends a session and all sessions of the same login, and aborts their leases. If this cannot be
   * stored, it takes effect in this process only and is stored later.
   */
  end(session: Session): Promise<Result<void>>;
  /**
   * Ends all sessions and refresh references of a principal. If this cannot be stored, the sessions
   * end in this process only, as in `end`.
   */
  endAll(principal: string): Promise<Result<void>>;
  /** Retries ends that could not be stored; returns how many remain. */
  storePendingEnds(): number;
  /** Aborts leases of sessions that another program has ended. */
  syncWithStore(): void;
}

/** Dependencies of the sessions. */
export interface SessionDeps {
  readonly store: LoginStore;
  readonly signer: Signer;
  readonly leases: Leases;
  readonly reserve: Pick<DiskReserve, "fill" | "retry">;
  /** Called when an end could not be stored. */
  readonly onUnstored?: () => void;
  readonly fingerprints: Fingerprints;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly random: Pick<Random, "bytes">;
  readonly ttlMs: number;
  readonly idleMs?: number | undefined;
}

/** The use of a session is recorded at most this often per idle timeout. */
const TOUCH_PART = 10;
/** Longest interval between two records; also applies without an idle timeout. */
const TOUCH_MS = 300_000;

/** Creates the sessions over a store. */
export function createSessions(deps: SessionDeps): Sessions {
  const { store, signer, leases, reserve, fingerprints, clock, random, ttlMs, idleMs } = deps;
  /** Sessions that ended here and whose rows are still in the store. */
  const unstored = new Set<string>();
  const find = (id: string) => unstored.has(id) ? undefined : store.find(id);
  let sweptAt = -Infinity;
  // A valid signature stays valid: keys do not change at run time. The row is checked separately.
  const verifiedCache = createTtlCache<VerifiedFields>(LOGIN_LIMITS.signaturesKept);
  const verify = async (token: string) => {
    const now = clock.now();
    const known = verifiedCache.get(token, now);
    if (known !== undefined) return ok(known);
    const fields = await signer.verify(token, now);
    if (fields.ok) verifiedCache.keep(token, fields.value, fields.value.expiresAt * 1000);
    return fields;
  };
  // A session stays active for `storePollMs` after a check, unless this process ends it.
  const activeCache = createTtlCache<{ readonly session: Session; readonly at: number }>(
    LOGIN_LIMITS.signaturesKept,
  );
  const isFingerprintCurrent = async ({ principal, fingerprint }: SessionRow) => {
    const wanted = await fingerprints(principal);
    return wanted !== undefined && isEqualInConstantTime(fingerprint, wanted);
  };
  let version = store.version();
  const syncWithStore = () => {
    const now = store.version();
    if (now === version) return;
    version = now;
    // A cached session could get a new lease that nothing would abort.
    activeCache.clear();
    for (const id of leases.sessions()) {
      const row = find(id);
      if (row === undefined) leases.abort(id);
      else void isFingerprintCurrent(row).then((isSo) => isSo ? undefined : leases.abort(id));
    }
  };
  const expiryOfRow = (row: SessionRow) =>
    Math.min(row.expires, idleMs === undefined ? Infinity : row.seen + idleMs);
  /** Records a request as a use. Traffic on an open stream is not a use. */
  const recordUse = (row: SessionRow, now: number): SessionRow => {
    const pace = idleMs === undefined ? TOUCH_MS : Math.min(TOUCH_MS, idleMs / TOUCH_PART);
    if (now - row.seen < pace) return row;
    // If it cannot be stored the session ends sooner, which is safe.
    return store.touch(row.id, now).ok ? { ...row, seen: now } : row;
  };
  const prepare = async (
    principal: string,
    from: SessionOrigin,
  ): Promise<Result<PreparedSession>> => {
    const now = clock.now();
    const id = toBase64Url(random.bytes(ID_BYTES));
    const expiresAt = Math.ceil((now + ttlMs) / 1000);
    const token = await signer.sign({ expiresAt, principal, id });
    if (!token.ok) return token;
    const row = {
      id,
      principal,
      fingerprint: await fingerprints(principal) ?? "",
      created: now,
      expires: expiresAt * 1000,
      client: from.client,
      agent: from.agent.slice(0, AGENT_LENGTH_MAX),
      family: from.family ?? "",
      seen: now,
    };
    return ok({ row, token: token.value, maxAgeSeconds: expiresAt - Math.floor(now / 1000) });
  };
  const ended = (ids: readonly string[]) => {
    for (const id of ids) {
      activeCache.forget(id);
      leases.abort(id);
    }
  };
  return {
    prepare,
    ended,
    open: async (principal, from) => {
      const now = clock.now();
      if (now - sweptAt >= SWEEP_MS) {
        sweptAt = now;
        const swept = store.sweep(now);
        if (!swept.ok) return swept;
      }
      const made = await prepare(principal, from);
      if (!made.ok) return made;
      const added = store.add(made.value.row);
      if (!added.ok) return added;
      ended(added.value);
      void reserve.fill();
      return made;
    },
    read: async (token) => {
      const fields = await verify(token);
      if (!fields.ok) return err(fields.error === "expired" ? "expired" : "token");
      const { id, principal, expiresAt } = fields.value;
      if (id === undefined) return err("unknown");
      const now = clock.now();
      const known = activeCache.get(id, now);
      // Skip entries from the future, which exist after the clock was set back.
      if (known !== undefined && known.session.principal === principal && known.at <= now) {
        return ok(known.session);
      }
      const row = find(id);
      if (row === undefined || row.principal !== principal) return err("unknown");
      if (row.expires <= now) return err("expired");
      if (expiryOfRow(row) <= now) return err("idle");
      if (!await isFingerprintCurrent(row)) return err("password-changed");
      // It may have ended concurrently; then its leases and cache entry are gone already.
      if (find(id) === undefined) return err("unknown");
      const end = expiryOfRow(recordUse(row, now));
      const session = { id: row.id, principal, expires: Math.min(end, expiresAt * 1000) };
      const until = Math.min(session.expires, now + LOGIN_LIMITS.storePollMs);
      activeCache.keep(id, { session, at: now }, until);
      return ok(session);
    },
    isActive: async (session) => {
      const now = clock.now();
      if (activeCache.get(session.id, now)?.session === session) return true;
      const row = find(session.id);
      return row !== undefined && expiryOfRow(row) > now && await isFingerprintCurrent(row);
    },
    renew: async (token) => {
      const fields = await verify(token);
      if (!fields.ok || !fields.value.isOldKey) return undefined;
      const { expiresAt, principal, id } = fields.value;
      const signed = await signer.sign({
        expiresAt,
        principal,
        ...defined({ id }),
      });
      if (!signed.ok) return undefined;
      return {
        token: signed.value,
        maxAgeSeconds: expiresAt - Math.floor(clock.now() / 1000),
      };
    },
    // Session ids contain no colon, so this id is never in the store. A change of the store by
    // another program therefore aborts the lease, and the client authenticates again.
    leaseTargetOfBasic: (principal) => ({ id: `basic:${principal}`, expires: clock.now() + ttlMs }),
    syncWithStore,
    expiryOf: (id) => {
      const row = find(id);
      return row === undefined ? undefined : expiryOfRow(row);
    },
    list: (principal) => {
      const now = clock.now();
      return store.list(principal).filter((row) => !unstored.has(row.id) && expiryOfRow(row) > now);
    },
    end: async (session) => {
      const { id } = session;
      // Before the first await, so that no new lease is acquired.
      unstored.add(id);
      ended([id]);
      const done = await reserve.retry(() => store.end(id));
      if (!done.ok) {
        deps.onUnstored?.();
        return done;
      }
      unstored.delete(id);
      ended(done.value);
      return ok(undefined);
    },
    endAll: async (principal) => {
      const ids = new Set<string>();
      const note = () => {
        const rows = store.list(principal).filter(({ id }) => !ids.has(id));
        for (const { id } of rows) {
          ids.add(id);
          unstored.add(id);
        }
        ended(rows.map(({ id }) => id));
      };
      const done = await reserve.retry(() => {
        // A session may have opened while the reserve was deleted.
        note();
        return store.endAll(principal);
      });
      if (!done.ok) {
        deps.onUnstored?.();
        return done;
      }
      for (const id of ids) unstored.delete(id);
      return ok(undefined);
    },
    storePendingEnds: () => {
      for (const id of unstored) {
        const done = store.end(id);
        if (!done.ok) break;
        unstored.delete(id);
        ended(done.value);
      }
      return unstored.size;
    },
  };
}
