/**
 * Holes of the described design, and what closes each. Data only.
 *
 * @module
 */

import {
  APP,
  ATTACKS,
  ATTEMPTS,
  CALLER,
  CONFIG,
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

/** L: what closes each hole of the described design. */
export const RULE_ROWS: readonly Row[] = [
  ["L1", "an identity without a proof", [
    APP,
    "drops every spelling",
    "with identity and assertion",
  ], [
    "tests/core/access/access_test.ts",
    "verifyAssertion",
  ]],
  ["L2", "sessions that a logout cannot end", [LOGOUT, "ends the open requests"], [
    IDLE,
    "and ends with it",
  ], [
    REVOKE,
    "Deno.test",
  ]],
  ["L3", "a rotation that ends all sessions", [SESSIONS, "a new key in front"]],
  ["L4", "a token with two readings", [SIGNED, "sign() refuses", "padding"], [
    TOKENS,
    "encoding of the same bytes",
  ]],
  ["L5", "exempt paths with two readings", [APP, "in exactly one spelling"], [
    FUZZ,
    "isExempt() lets nothing pass",
  ], [RAW, "a path that leaves an exempt one"]],
  ["L6", "identity headers that fold to the proxy's", [APP, "drops every spelling"], [
    FUZZ,
    "passes on no name that folds to one of the proxy's",
  ], [RAW, "identity headers in three spellings"]],
  ["L7", "a principal by claims that may change", [PRINCIPAL, "first logged in with it"]],
  ["L8", "one state for all tabs", [SIGN_IN, "ten tabs sign in at once", "are bounded"]],
  ["L9", "guesses that are counted in only one way", [
    ATTEMPTS,
    "networks around",
    "a bounded number",
  ]],
  ["L10", "forwarding headers of any peer", [CALLER, "callerOf()"], [CONFIG, "every IPv6 proxy"]],
  ["L11", "streams that outlive their session", [PROXY, "a logout closes"], [LOGOUT, "an expired"]],
  ["L12", "WebSockets of other sites", [
    APP,
    "upgrade() tunnels only a WebSocket of a page of this origin",
  ], [
    ATTACKS,
    "D43:",
  ]],
  ["L14", "a logout by another site", [LOGOUT, "a post of another site"]],
  ["L16", "passwords over http", [FORM, "an insecure address shows no form"], [
    CONFIG,
    "warns about weak settings",
  ]],
  ["L17", "cookies that a sibling domain may set", [
    SIGN_IN,
    "with the prefix every cookie has it",
  ]],
];
