/**
 * Attacks that lead a browser elsewhere, or come from another site. Data only.
 *
 * @module
 */

import {
  APP,
  ATTACKS,
  FORM,
  FUZZ,
  LOGOUT,
  RAW,
  RETURN,
  type Row,
} from "tests/login/attack_rows/row.ts";

/** D: return paths, hosts, frames, cross-site logouts. */
export const REDIRECT_ROWS: readonly Row[] = [
  ["D39", "return paths that lead elsewhere", [RETURN, "never leaves the origin"], [
    FUZZ,
    "never leads to another origin",
  ], [FORM, "to a path of this site only"]],
  ["D40", "return paths to what is no page", [RETURN, "/auth/logout", "/api/turns", "/terminal/x"]],
  ["D41", "a return path that changes on the way", [ATTACKS, "D41:"]],
  ["D42", "a second header in an address", [ATTACKS, "D42:"]],
  ["D43", "hosts other than the proxy's own", [ATTACKS, "D43:"], [RAW, "two hosts"], [
    APP,
    "refuses invalid hosts",
  ]],
  ["D44", "a logout that another site wishes", [
    LOGOUT,
    "a link of another site",
    "a frame of another site",
    "an image of another site",
    "a prefetch",
    "a HEAD",
  ]],
  ["D45", "login pages in a frame", [APP, "frame-ancestors 'none'"]],
];
