/**
 * The CSRF token of the login form (`wv_login_csrf`): signed, short-lived, in a cookie and in the
 * form, and valid for one post. Issued tokens use no memory; the newest 10,000 used ones are
 * remembered.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import { type Signer, toBase64Url } from "core/crypto/signed_value.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";

/** Purpose that is part of the token's signature. */
export const FORM_PURPOSE = "login-form";
const NONCE_BYTES = 16;

/** Why a post is rejected; for the log. */
export type FormFault = "cookie-absent" | "field-absent" | "mismatch" | "token" | "used";

/** Issues and redeems tokens. */
export interface FormTokens {
  issue(): Promise<string>;
  /**
   * Redeems a token. Returns undefined if it is valid, else the fault. A second redemption is
   * `used`.
   */
  redeem(cookie: string | undefined, field: string | undefined): Promise<FormFault | undefined>;
}

/** Creates the tokens; the signer must have the purpose `FORM_PURPOSE`. */
export function createFormTokens(
  signer: Signer,
  ports: { readonly clock: Pick<Clock, "now">; readonly random: Pick<Random, "bytes"> },
): FormTokens {
  const used = new Map<string, number>();
  return {
    issue: async () => {
      const token = await signer.sign({
        expiresAt: Math.floor(ports.clock.now() / 1000) + LOGIN_LIMITS.formSeconds,
        principal: toBase64Url(ports.random.bytes(NONCE_BYTES)),
      });
      if (!token.ok) throw new TypeError(token.error.message);
      return token.value;
    },
    redeem: async (cookie, field) => {
      if (cookie === undefined || cookie === "") return "cookie-absent";
      if (field === undefined || field === "") return "field-absent";
      if (!isEqualInConstantTime(field, cookie)) return "mismatch";
      const now = ports.clock.now();
      const fields = await signer.verify(cookie, now);
      if (!fields.ok) return "token";
      const { principal: nonce, expiresAt } = fields.value;
      if (used.has(nonce)) return "used";
      for (const [old, until] of used) {
        if (until > now && used.size < LOGIN_LIMITS.usedFormsKept) break;
        used.delete(old);
      }
      used.set(nonce, expiresAt * 1000);
      return undefined;
    },
  };
}
