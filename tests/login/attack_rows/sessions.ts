/**
 * Attacks on sessions: their tokens, their cookies, how they end. Data only.
 *
 * @module
 */

import {
  ATTACKS,
  ENDED,
  FORM,
  FUZZ,
  IDLE,
  LOGOUT,
  PRINCIPAL,
  PROXY,
  RAW,
  REVOKE,
  type Row,
  SESSIONS,
  SIGN_IN,
  SIGNED,
  TOKENS,
} from "tests/login/attack_rows/row.ts";

/** A: tokens and cookies of sessions. */
export const SESSION_ROWS: readonly Row[] = [
  ["A1", "a truncated session token", [SESSIONS, "a truncated, changed or respelled token"]],
  ["A2", "a flipped bit in fields or signature", [TOKENS, "with any one bit flipped"]],
  ["A3", "the same bytes in another encoding", [TOKENS, "in another encoding of the same bytes"], [
    SIGNED,
    "fromBase64Url() reads the output of toBase64Url(), and no other encoding",
  ]],
  ["A4", "a signature that is empty, short, long or twice", [
    TOKENS,
    "whose signature is absent or has another length",
  ]],
  ["A5", "a value of one purpose used for another", [ATTACKS, "A5:"], [
    FORM,
    "a session is not a form token, and a form token not a session",
  ], [SIGNED, "another purpose's key", "another purpose inside"]],
  ["A6", "an expiry that is past, malformed or endless", [
    SIGNED,
    "the second of its expiry",
    "a signed expiry",
    "a hex expiry",
  ], [SESSIONS, "a session ends at its expiry, however the clock was set before"]],
  ["A7", "an ambiguous principal", [ATTACKS, "A7:"], [
    PRINCIPAL,
    "two at signs",
    "a bar",
    "a dot behind the domain",
    "10 kB",
  ]],
  ["A8", "keys of a ring, old, new and unknown", [SIGNED, "accepts each key of a ring"], [
    SESSIONS,
    "a new key in front ends no session",
  ]],
  [
    "A9",
    "a session after logout, revocation and end of all",
    [LOGOUT, "ends the open requests"],
    [
      REVOKE,
      "Deno.test",
    ],
    [ENDED, "a session that ends"],
    [PROXY, "a logout closes both ends"],
  ],
  ["A10", "two session cookies", [SESSIONS, "only if it occurs once"], [ATTACKS, "A12:"]],
  ["A11", "names and quotes that a lenient parser accepts", [ATTACKS, "A11:"], [
    FUZZ,
    "the jar reads",
  ]],
  ["A12", "cookies in several headers", [ATTACKS, "A12:"]],
  ["A13", "cookies of any number and size", [ATTACKS, "A13:"], [RAW, "a long cookie"]],
  ["A14", "an idle session with an open stream", [
    IDLE,
    "an open stream does not count as use of its session",
  ]],
  ["A15", "a session of a removed user", [
    SESSIONS,
    "a session ends when its user's password changes or the user is removed",
  ], ["tests/gateway/cockpit/matrix_test.ts", "Deno.test"]],
  ["A16", "a clock change", [SESSIONS, "however the clock was set before"]],
  ["A17", "a session of another host", [ATTACKS, "A17:"], [
    SESSIONS,
    "a signed token without a row",
  ]],
  ["A18", "a session from before the login", [
    FORM,
    "a login ends the session that the browser had before",
  ], [SIGN_IN, "a login ends the session that the browser had before"]],
];
