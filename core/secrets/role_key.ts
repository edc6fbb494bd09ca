/**
 * Checks a role's key before it is stored. A role does not start with an unusable key, and the
 * operator would notice that much later. Pure.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import { parseBasicUsers } from "core/login/basic_users.ts";
import { refusal } from "core/errors.ts";
import type { KeyName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { isHostOpKey } from "core/secrets/resolve.ts";
import { type KeyRing, parseKeyRing } from "core/crypto/signed_value.ts";
import { faultCount } from "core/text/fault_count.ts";

/**
 * Output length of HMAC-SHA256, below which a key weakens it, and the length that `up` generates.
 */
const KEY_BYTES_MIN = 32;
/** Keys that may be a ring `kid:key,kid:key`. */
const RING_KEYS: ReadonlySet<string> = new Set(["WEBVIEW_HMAC_KEY", "WEBVIEW_ASSERTION_KEY"]);

/**
 * Refuses a value that is too short, or with which the roles that read `key` would not start.
 */
export function checkRoleKey(key: KeyName, value: string): Result<void> {
  if (key === "WEBVIEW_BASIC_USERS") return checkBasicUsers(key, value);
  if (!RING_KEYS.has(key) && !isHostOpKey(key)) return ok(undefined);
  const hints = [`head -c 32 /dev/urandom | base64 | fleetctl secret set ${key} --value -`];
  const ring = RING_KEYS.has(key)
    ? parseKeyRing(value, key)
    : ok<KeyRing>([{ kid: "", key: value }]);
  if (!ring.ok) return err({ ...ring.error, kind: "refused", hints });
  const short = ring.value.findIndex((one) => byteLength(one.key) < KEY_BYTES_MIN);
  if (short === -1) return ok(undefined);
  const which = ring.value.length === 1 ? "it" : `key ${short + 1} of ${ring.value.length}`;
  const found = byteLength(ring.value[short]?.key ?? "");
  return err(refusal(
    "role-key-weak",
    `Cannot set "${key}": ${which} has ${found} bytes, must have at least ${KEY_BYTES_MIN}`,
    { hints },
  ));
}

/** With an invalid entry the login proxy does not start, and no user can log in. */
function checkBasicUsers(key: KeyName, value: string): Result<void> {
  const users = parseBasicUsers(value);
  if (users.ok) return ok(undefined);
  return err(refusal(
    "basic-users-invalid",
    `Cannot set "${key}": the list has ${
      faultCount(users.error)
    }, must be user:password,user:password`,
    { details: users.error, hints: [`fleetctl secret set ${key} --value - < file`] },
  ));
}
