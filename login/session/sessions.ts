/**
 * Opens, validates and ends browser sessions. A session is a signed token in a cookie and a row in
 * the store. An invalid token means no session, not an error.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import { HOUR_MS } from "core/text/duration.ts";
import type { DiskReserve } from "login/disk_reserve.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import { createTtlCache } from "core/ttl_cache.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { type Signer, toBase64Url } from "core/crypto/signed_value.ts";
import { SessionEnds } from "login/session/ends.ts";
import type { Fingerprints } from "login/session/fingerprint.ts";
import type { Leases } from "login/session/leases.ts";
import { type SessionToken, SessionTokens } from "login/session/tokens.ts";
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
  return new StoredSessions(deps);
}

/** A session that was active at the last check. */
interface CheckedSession {
  readonly session: Session;
  /** Time of the check. */
  readonly at: number;
}

class StoredSessions implements Sessions {
  readonly #deps: SessionDeps;
  readonly #tokens: SessionTokens;
  readonly #ends: SessionEnds;
  // A session stays active for `storePollMs` after a check, unless this process ends it.
  readonly #activeCache = createTtlCache<CheckedSession>(LOGIN_LIMITS.signaturesKept);
  #sweptAt = -Infinity;
  #version: number;

  constructor(deps: SessionDeps) {
    const { store, signer, reserve, onUnstored, clock } = deps;
    this.#deps = deps;
    this.#tokens = new SessionTokens(signer, clock);
    const onEnded = (ids: readonly string[]) => this.ended(ids);
    this.#ends = new SessionEnds({ store, reserve, onEnded, onUnstored });
    this.#version = store.version();
  }

  async open(principal: string, from: SessionOrigin): Promise<Result<SessionToken>> {
    const { store, reserve, clock } = this.#deps;
    const now = clock.now();
    if (now - this.#sweptAt >= SWEEP_MS) {
      this.#sweptAt = now;
      const swept = store.sweep(now);
      if (!swept.ok) return swept;
    }
    const made = await this.prepare(principal, from);
    if (!made.ok) return made;
    const added = store.add(made.value.row);
    if (!added.ok) return added;
    this.ended(added.value);
    void reserve.fill();
    return made;
  }

  async prepare(principal: string, from: SessionOrigin): Promise<Result<PreparedSession>> {
    const { fingerprints, clock, random, ttlMs } = this.#deps;
    const now = clock.now();
    const id = toBase64Url(random.bytes(ID_BYTES));
    const expiresAt = Math.ceil((now + ttlMs) / 1000);
    const token = await this.#tokens.sign({ expiresAt, principal, id });
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
    return ok({ row, ...token.value });
  }

  ended(ids: readonly string[]): void {
    for (const id of ids) {
      this.#activeCache.forget(id);
      this.#deps.leases.abort(id);
    }
  }

  async read(token: string): Promise<Result<Session, SessionFault>> {
    const fields = await this.#tokens.verify(token);
    if (!fields.ok) return err(fields.error === "expired" ? "expired" : "token");
    const { id, principal, expiresAt } = fields.value;
    if (id === undefined) return err("unknown");
    const now = this.#deps.clock.now();
    const known = this.#activeCache.get(id, now);
    // Skip entries from the future, which exist after the clock was set back.
    if (known !== undefined && known.session.principal === principal && known.at <= now) {
      return ok(known.session);
    }
    const row = this.#find(id);
    if (row === undefined || row.principal !== principal) return err("unknown");
    if (row.expires <= now) return err("expired");
    if (this.#expiryOfRow(row) <= now) return err("idle");
    if (!await this.#isFingerprintCurrent(row)) return err("password-changed");
    // It may have ended concurrently; then its leases and cache entry are gone already.
    if (this.#find(id) === undefined) return err("unknown");
    const end = this.#expiryOfRow(this.#recordUse(row, now));
    const session = { id: row.id, principal, expires: Math.min(end, expiresAt * 1000) };
    const until = Math.min(session.expires, now + LOGIN_LIMITS.storePollMs);
    this.#activeCache.keep(id, { session, at: now }, until);
    return ok(session);
  }

  async isActive(session: Session): Promise<boolean> {
    const now = this.#deps.clock.now();
    if (this.#activeCache.get(session.id, now)?.session === session) return true;
    const row = this.#find(session.id);
    return row !== undefined && this.#expiryOfRow(row) > now &&
      await this.#isFingerprintCurrent(row);
  }

  renew(token: string): Promise<SessionToken | undefined> {
    return this.#tokens.renew(token);
  }

  // Session ids contain no colon, so this id is never in the store. A change of the store by
  // another program therefore aborts the lease, and the client authenticates again.
  leaseTargetOfBasic(principal: string): { readonly id: string; readonly expires: number } {
    const { clock, ttlMs } = this.#deps;
    return { id: `basic:${principal}`, expires: clock.now() + ttlMs };
  }

  expiryOf(id: string): number | undefined {
    const row = this.#find(id);
    return row === undefined ? undefined : this.#expiryOfRow(row);
  }

  list(principal: string): readonly SessionRow[] {
    const { store, clock } = this.#deps;
    const now = clock.now();
    return store.list(principal)
      .filter((row) => !this.#ends.isUnstored(row.id) && this.#expiryOfRow(row) > now);
  }

  end({ id }: Session): Promise<Result<void>> {
    return this.#ends.end(id);
  }

  endAll(principal: string): Promise<Result<void>> {
    return this.#ends.endAll(principal);
  }

  storePendingEnds(): number {
    return this.#ends.storePending();
  }

  syncWithStore(): void {
    const { store, leases } = this.#deps;
    const now = store.version();
    if (now === this.#version) return;
    this.#version = now;
    // A cached session could get a new lease that nothing would abort.
    this.#activeCache.clear();
    for (const id of leases.sessions()) {
      const row = this.#find(id);
      if (row === undefined) leases.abort(id);
      else {
        void this.#isFingerprintCurrent(row).then((isSo) => isSo ? undefined : leases.abort(id));
      }
    }
  }

  #find(id: string): SessionRow | undefined {
    return this.#ends.isUnstored(id) ? undefined : this.#deps.store.find(id);
  }

  async #isFingerprintCurrent({ principal, fingerprint }: SessionRow): Promise<boolean> {
    const wanted = await this.#deps.fingerprints(principal);
    return wanted !== undefined && isEqualInConstantTime(fingerprint, wanted);
  }

  #expiryOfRow({ expires, seen }: SessionRow): number {
    const { idleMs } = this.#deps;
    return Math.min(expires, idleMs === undefined ? Infinity : seen + idleMs);
  }

  /** Records a request as a use. Traffic on an open stream is not a use. */
  #recordUse(row: SessionRow, now: number): SessionRow {
    const { store, idleMs } = this.#deps;
    const pace = idleMs === undefined ? TOUCH_MS : Math.min(TOUCH_MS, idleMs / TOUCH_PART);
    if (now - row.seen < pace) return row;
    // If it cannot be stored the session ends sooner, which is safe.
    return store.touch(row.id, now).ok ? { ...row, seen: now } : row;
  }
}
