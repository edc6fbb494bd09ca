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
  ["D39", "return paths to another origin", [RETURN, "never leaves the origin"], [
    FUZZ,
    "never leads to another origin",
  ], [FORM, "to a path of this site only"]],
  ["D40", "return paths to paths without a page", [
    RETURN,
    "/auth/logout",
    "/api/turns",
    "/terminal/x",
  ]],
  ["D41", "a return path that the callback changes", [ATTACKS, "D41:"]],
  ["D42", "a second header in an address", [ATTACKS, "D42:"]],
  ["D43", "hosts other than the proxy's own", [ATTACKS, "D43:"], [RAW, "two hosts"], [
    APP,
    "refuses invalid hosts",
  ]],
  ["D44", "a logout that another site requests", [
    LOGOUT,
    "a link of another site",
    "a frame of another site",
    "an image of another site",
    "a prefetch",
    "a HEAD",
  ]],
  ["D45", "login pages in a frame", [APP, "frame-ancestors 'none'"]],
];
