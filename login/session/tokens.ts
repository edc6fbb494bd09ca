/**
 * The tokens of sessions: signs them, verifies them and signs those of an old key again. Does not
 * know which sessions are stored.
 *
 * @module
 */

import type { Signer, VerifiedFields } from "core/crypto/signed_value.ts";
import { defined } from "core/defined.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";
import { ok, type Result } from "core/result.ts";
import { createTtlCache } from "core/ttl_cache.ts";

/** The browser's part of a session. */
export interface SessionToken {
  readonly token: string;
  readonly maxAgeSeconds: number;
}

/** Signs and verifies tokens. */
export class SessionTokens {
  readonly #signer: Signer;
  readonly #clock: Pick<Clock, "now">;
  // A valid signature stays valid: keys do not change at run time. The row is checked separately.
  readonly #verified = createTtlCache<VerifiedFields>(LOGIN_LIMITS.signaturesKept);

  constructor(signer: Signer, clock: Pick<Clock, "now">) {
    this.#signer = signer;
    this.#clock = clock;
  }

  /** Signs a token; refuses fields that the format cannot hold. */
  async sign(fields: Parameters<Signer["sign"]>[0]): Promise<Result<SessionToken>> {
    const signed = await this.#signer.sign(fields);
    if (!signed.ok) return signed;
    const maxAgeSeconds = fields.expiresAt - Math.floor(this.#clock.now() / 1000);
    return ok({ token: signed.value, maxAgeSeconds });
  }

  /** Returns the fields of a valid token. */
  async verify(token: string): ReturnType<Signer["verify"]> {
    const now = this.#clock.now();
    const known = this.#verified.get(token, now);
    if (known !== undefined) return ok(known);
    const fields = await this.#signer.verify(token, now);
    if (fields.ok) this.#verified.keep(token, fields.value, fields.value.expiresAt * 1000);
    return fields;
  }

  /** Re-signs a token of an old key; undefined if the token needs no new signature. */
  async renew(token: string): Promise<SessionToken | undefined> {
    const fields = await this.verify(token);
    if (!fields.ok || !fields.value.isOldKey) return undefined;
    const { expiresAt, principal, id } = fields.value;
    const signed = await this.sign({ expiresAt, principal, ...defined({ id }) });
    return signed.ok ? signed.value : undefined;
  }
}
