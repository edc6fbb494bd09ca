/**
 * Known attacks on login proxies, each with the tests that try it. The chapters are in
 * `attack_rows/`; attacks outside the login proxy are here. Data only; `attack_rows_test.ts` checks
 * that the tests exist. The rig (`tests/support/login_fixture.ts`) fails any test whose refused
 * request reached the cockpit.
 *
 * @module
 */

import { PASSWORD_ROWS } from "tests/login/attack_rows/passwords.ts";
import { PROVIDER_ROWS } from "tests/login/attack_rows/provider.ts";
import { REDIRECT_ROWS } from "tests/login/attack_rows/redirects.ts";
import type { Proof } from "tests/login/attack_rows/row.ts";
import { RULE_ROWS } from "tests/login/attack_rows/rules.ts";
import { SESSION_ROWS } from "tests/login/attack_rows/sessions.ts";
import { WIRE_ROWS } from "tests/login/attack_rows/wire.ts";

/** One attack. */
export interface AttackRow {
  readonly id: string;
  readonly attack: string;
  /** The tests that try the attack. Empty if `apart` is set. */
  readonly proofs: readonly Proof[];
  readonly apart?: string;
}

const PASSKEYS = "passkeys are no part of the proxy yet";

/** Attacks that do not concern the login proxy, and where they are covered instead. */
const APART: Readonly<Record<string, string>> = {
  E65: "the issuer ends no sessions here: there is no such route, and /auth/… answers 404",
  E67: "connections of agents are the cockpit's, and the proxy passes them on as any request",
  E68: "the broker is a program of its own",
  G84: PASSKEYS,
  G85: PASSKEYS,
  G86: PASSKEYS,
  G87: PASSKEYS,
  G88: PASSKEYS,
  G89: PASSKEYS,
  G90: "X-WebAuthn-State passes untouched: tests/login/attacks_test.ts",
  G91: "there are no one-time codes",
  J104: "routes of the cockpit: tests/gateway/cockpit/matrix_test.ts",
  J105: "routes of the cockpit: tests/gateway/cockpit/matrix_test.ts",
  J106: "bodies of the cockpit: tests/gateway/cockpit/app_test.ts",
  J107: "scopes of the cockpit: tests/gateway/cockpit/matrix_test.ts",
  L13: "connections and broker, as E67 and E68",
  L15: PASSKEYS,
};

/** All rows. */
export const ATTACK_ROWS: readonly AttackRow[] = [
  ...[
    ...SESSION_ROWS,
    ...REDIRECT_ROWS,
    ...PROVIDER_ROWS,
    ...PASSWORD_ROWS,
    ...RULE_ROWS,
    ...WIRE_ROWS,
  ]
    .map(([id, attack, ...proofs]): AttackRow => ({ id, attack, proofs })),
  ...Object.entries(APART).map(([id, apart]): AttackRow => ({
    id,
    attack: apart,
    proofs: [],
    apart,
  })),
];
