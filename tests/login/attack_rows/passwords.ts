/**
 * Attacks on passwords, their form and their limits. Data only.
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
  LOGIN,
  PASSWORDS,
  type Row,
  SESSIONS,
} from "tests/login/attack_rows/row.ts";

/** F: the form, guesses, names and settings. */
export const PASSWORD_ROWS: readonly Row[] = [
  ["F69", "a form without its token, with another form's or a used one", [
    FORM,
    "no cookie",
    "the field of another browser",
    "two cookies",
    "a form is valid for one post, within an hour",
  ], [ATTACKS, "F69:"]],
  ["F70", "a form that another site posts", [
    FORM,
    "is refused before its password is checked",
    "a post without fetch metadata needs the origin",
    "a body of another type or size is refused",
  ]],
  ["F71", "the ninth failure, by form and header", [
    FORM,
    "the ninth attempt in a minute is refused",
  ]],
  ["F72", "one account from many clients, many from one, and a success between", [
    ATTEMPTS,
    "an account has a limit for strangers",
    "an unknown name is limited like a known one",
  ], [FORM, "a success does not lower the count"]],
  ["F73", "addresses of one network, in every spelling", [
    ATTEMPTS,
    "the networks around an IPv6 client have rising limits",
  ], [CALLER, "is one for all spellings of an address"]],
  ["F74", "forged forwarding headers", [ATTACKS, "F74:"], [
    CALLER,
    "a peer with a forged header",
    "a client that sends a forged header through a proxy",
    "checks a bounded number of hops",
  ], [FORM, "no other peer can"]],
  ["F75", "user names in every spelling", [ATTACKS, "F75:"]],
  ["F76", "a million bogus names", [`${LOGIN}/memory_process_test.ts`, "bogus names cost at most"]],
  ["F77", "response times that reveal user names", [ATTACKS, "F77:"], [
    FORM,
    "a wrong name and a wrong password look alike",
  ]],
  ["F78", "passwords with separators, of any length, and those that a hash would truncate", [
    "tests/core/login/password_test.ts",
    "accepts no password that bcrypt would truncate",
  ], [
    "tests/core/login/basic_users_test.ts",
    "parseBasicUsers() reads the output of printBasicUsers()",
  ]],
  ["F79", "Basic headers that are not exactly one", [SESSIONS, "a Basic header opens nothing"], [
    APP,
    "a script with a password",
  ]],
  ["F80", "a password that the browser attaches by itself", [ATTACKS, "F80:"], [
    APP,
    "a password in a request that another site caused",
  ]],
  ["F81", "five hundred guesses at the same time", [ATTACKS, "F81:"], [
    PASSWORDS,
    "check() runs few at once",
  ]],
  ["F82", "a clock change during a limit", [ATTACKS, "F82:"]],
  ["F83", "settings that must not start", [
    CONFIG,
    "readLoginConfig() refuses",
    "names every fault at once",
    "every proxy",
    "a short key",
  ]],
];
