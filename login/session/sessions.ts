/**
 * Opens, recognizes and ends browser sessions: the signed token of the cookie and the row that makes
 * it count. A token that is not exactly right is no session, never an error (spec "Cookies",
 * decisions 19 and 20).
 *
 * @module
 */

import type { DiskReserve } from "core/disk_reserve.ts";
import type { Clock, Random } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import { createRecent } from "core/recent.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import {
  isEqualInConstantTime,
  type Signer,
  toBase64Url,
  type VerifiedFields,
} from "core/signed_value.ts";
import type { Fingerprints } from "login/session/fingerprint.ts";
import type { Leases } from "login/session/leases.ts";
import type { LoginStore, SessionRow } from "core/login_store.ts";

/** Purpose of the token, its first field. */
export const SESSION_PURPOSE = "session";
const ID_BYTES = 16;
const AGENT_LENGTH_MAX = 200;
/** Expired rows are forgotten this often, while sessions are opened. */
const SWEEP_MS = 3_600_000;

/** A session that holds now. */
export interface Session {
  readonly id: string;
  readonly principal: string;
  /** Milliseconds since the epoch; earlier than its end when it may idle out before. */
  readonly expires: number;
}

/** Why a token opens nothing; for the log. */
export type SessionFault = "token" | "unknown" | "expired" | "idle" | "password-changed";

/** Where a login came from, and the family of refresh references that goes with it. */
export interface OpenedFrom {
  readonly client: string;
  readonly agent: string;
  readonly family?: string;
}

/** What the browser gets of a session. */
export interface SessionToken {
  readonly token: string;
  readonly maxAgeSeconds: number;
}

/** A session and its row. */
export interface MadeSession extends SessionToken {
  readonly row: SessionRow;
}

/** The sessions of this host. */
export interface Sessions {
  /** Opens a session and returns its token and lifetime. */
  open(principal: string, from: OpenedFrom): Promise<Result<SessionToken>>;
  /** Makes a session that does not count before its row is stored; `ended` is told what had to end. */
  make(principal: string, from: OpenedFrom): Promise<Result<MadeSession>>;
  /** Forgets sessions whose rows are gone, and cuts what is open for them. */
  ended(ids: readonly string[]): void;
  read(token: string): Promise<Result<Session, SessionFault>>;
  /** Whether a session that was read earlier still holds. Ask this after taking a lease for it. */
  holds(session: Session): Promise<boolean>;
  /** Signs a token again that an old key has signed, so that the key can leave the ring. */
  renew(token: string): Promise<SessionToken | undefined>;
  /** What is open under a Basic header is bounded as a session is, without a row in the store. */
  boundsOfBasic(principal: string): { readonly id: string; readonly expires: number };
  /** When a session ends if nothing more is asked; undefined when it has ended. */
  endOf(id: string): number | undefined;
  /** Sessions of somebody that hold now, newest first. */
  list(principal: string): readonly SessionRow[];
  /**
   * Ends a session and all that came of the same login, and cuts what is open for them. When the end
   * cannot be stored it holds in this process all the same, and is stored as soon as that works.
   */
  end(session: Session): Promise<Result<void>>;
  /**
   * Ends all sessions of somebody and every refresh reference, those too whose session has ended. When
   * that cannot be stored, the sessions end in this process as `end` does it.
   */
  endAll(principal: string): Promise<Result<void>>;
  /** Stores the ends that could not be stored before; returns how many are left. */
  storeEnds(): number;
  /** Looks whether another program has ended sessions, and cuts what was open for them. */
  look(): void;
}

/** What sessions are made of. */
export interface SessionParts {
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

/** A use of a session is written down when this part of its idle time has passed since the last. */
const TOUCH_PART = 10;
/** The same where a session may rest as long as it lasts: its owner reads when it was last seen. */
const TOUCH_MS = 300_000;

/** Creates the sessions over a store. */
export function createSessions(parts: SessionParts): Sessions {
  const { store, signer, leases, reserve, fingerprints, clock, random, ttlMs, idleMs } = parts;
  /** Sessions that ended here and whose rows are still in the store. */
  const unstored = new Set<string>();
  const find = (id: string) => unstored.has(id) ? undefined : store.find(id);
  let sweptAt = -Infinity;
  // A good signature stays good: keys do not change while the program runs. The row is always asked.
  const verified = createRecent<VerifiedFields>(LOGIN_LIMITS.signaturesKept);
  const verify = async (token: string) => {
    const now = clock.now();
    const known = verified.get(token, now);
    if (known !== undefined) return ok(known);
    const fields = await signer.verify(token, now);
    if (fields.ok) verified.keep(token, fields.value, fields.value.expiresAt * 1000);
    return fields;
  };
  // A session that held a moment ago holds now, unless it was ended here; see `storeLookMs`.
  const held = createRecent<{ readonly session: Session; readonly at: number }>(
    LOGIN_LIMITS.signaturesKept,
  );
  const isOfItsUser = async ({ principal, fingerprint }: SessionRow) => {
    const wanted = await fingerprints(principal);
    return wanted !== undefined && isEqualInConstantTime(fingerprint, wanted);
  };
  let version = store.version();
  const look = () => {
    const now = store.version();
    if (now === version) return;
    version = now;
    // A session that is still remembered could be taken again, and nothing would cut that lease.
    held.clear();
    for (const id of leases.sessions()) {
      const row = find(id);
      if (row === undefined) leases.cut(id);
      else void isOfItsUser(row).then((isSo) => isSo ? undefined : leases.cut(id));
    }
  };
  const idleEnd = (row: SessionRow) =>
    Math.min(row.expires, idleMs === undefined ? Infinity : row.seen + idleMs);
  /** Takes a request for a use; what is open is none, however much passes through it. */
  const touched = (row: SessionRow, now: number): SessionRow => {
    const pace = idleMs === undefined ? TOUCH_MS : Math.min(TOUCH_MS, idleMs / TOUCH_PART);
    if (now - row.seen < pace) return row;
    // When it cannot be written the session ends sooner, which is the safe side.
    return store.touch(row.id, now).ok ? { ...row, seen: now } : row;
  };
  const make = async (principal: string, from: OpenedFrom): Promise<Result<MadeSession>> => {
    const now = clock.now();
    const id = toBase64Url(random.bytes(ID_BYTES));
    const expiresAt = Math.ceil((now + ttlMs) / 1000);
    const token = await signer.sign({ expiresAt, principal, id });
    if (!token.ok) return token;
    const row = {
      ...{ id, principal, fingerprint: await fingerprints(principal) ?? "" },
      ...{ created: now, expires: expiresAt * 1000, client: from.client },
      agent: from.agent.slice(0, AGENT_LENGTH_MAX),
      ...{ family: from.family ?? "", seen: now },
    };
    return ok({ row, token: token.value, maxAgeSeconds: expiresAt - Math.floor(now / 1000) });
  };
  const ended = (ids: readonly string[]) => {
    for (const id of ids) {
      held.forget(id);
      leases.cut(id);
    }
  };
  return {
    make,
    ended,
    open: async (principal, from) => {
      const now = clock.now();
      if (now - sweptAt >= SWEEP_MS) {
        sweptAt = now;
        const swept = store.sweep(now);
        if (!swept.ok) return swept;
      }
      const made = await make(principal, from);
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
      const known = held.get(id, now);
      // Not one from later than now: a clock that was set back must not stretch what is remembered.
      if (known !== undefined && known.session.principal === principal && known.at <= now) {
        return ok(known.session);
      }
      const row = find(id);
      if (row === undefined || row.principal !== principal) return err("unknown");
      if (row.expires <= now) return err("expired");
      if (idleEnd(row) <= now) return err("idle");
      if (!await isOfItsUser(row)) return err("password-changed");
      // It may have ended meanwhile, and whoever ended it has cut and forgotten already.
      if (find(id) === undefined) return err("unknown");
      const end = idleEnd(touched(row, now));
      const session = { id: row.id, principal, expires: Math.min(end, expiresAt * 1000) };
      const until = Math.min(session.expires, now + LOGIN_LIMITS.storeLookMs);
      held.keep(id, { session, at: now }, until);
      return ok(session);
    },
    holds: async (session) => {
      const now = clock.now();
      if (held.get(session.id, now)?.session === session) return true;
      const row = find(session.id);
      return row !== undefined && idleEnd(row) > now && await isOfItsUser(row);
    },
    renew: async (token) => {
      const fields = await verify(token);
      if (!fields.ok || !fields.value.isOldKey) return undefined;
      const { expiresAt, principal, id } = fields.value;
      const signed = await signer.sign({
        expiresAt,
        principal,
        ...(id === undefined ? {} : { id }),
      });
      if (!signed.ok) return undefined;
      return {
        token: signed.value,
        maxAgeSeconds: expiresAt - Math.floor(clock.now() / 1000),
      };
    },
    // No id of a session has a colon. Such an id is in no store, so a change of the store by another
    // program cuts it: a script comes back with its next request, if it still may.
    boundsOfBasic: (principal) => ({ id: `basic:${principal}`, expires: clock.now() + ttlMs }),
    look,
    endOf: (id) => {
      const row = find(id);
      return row === undefined ? undefined : idleEnd(row);
    },
    list: (principal) => {
      const now = clock.now();
      return store.list(principal).filter((row) => !unstored.has(row.id) && idleEnd(row) > now);
    },
    end: async (session) => {
      const { id } = session;
      // Before anything is awaited: nothing may open for it from here on.
      unstored.add(id);
      ended([id]);
      const done = await reserve.retry(() => store.end(id));
      if (!done.ok) {
        parts.onUnstored?.();
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
        // A session may have opened while the reserve was given up.
        note();
        return store.endAll(principal);
      });
      if (!done.ok) {
        parts.onUnstored?.();
        return done;
      }
      for (const id of ids) unstored.delete(id);
      return ok(undefined);
    },
    storeEnds: () => {
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
