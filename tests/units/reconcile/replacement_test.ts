/**
 * The table of `decideReplacement()`: which change waits for the end of a turn, and how long.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  decideReplacement,
  type Replacement,
  REPLACEMENT_MS_MAX,
  type ReplacementCase,
} from "units/reconcile/replacement.ts";

const NOW = 1_000_000_000;
const OLD = { build: "1", rights: "r" };
const NEW = { build: "2", rights: "r" };
/** A new version, found now, of a process that serves. */
const UPGRADE: ReplacementCase = {
  ran: OLD,
  wanted: NEW,
  isServing: true,
  waitsSince: undefined,
  now: NOW,
  isWantedNow: false,
};

const ROWS: readonly (readonly [string, Partial<ReplacementCase>, Replacement])[] = [
  ["a new version waits", {}, "when-idle"],
  [
    "a new version with changed rights does not wait",
    { wanted: { ...NEW, rights: "s" } },
    "at-once",
  ],
  ["changed rights do not wait", { wanted: { ...OLD, rights: "s" } }, "at-once"],
  ["another change of the inputs does not wait", { wanted: OLD }, "at-once"],
  ["rights that change during the wait end it", {
    wanted: { ...NEW, rights: "s" },
    waitsSince: NOW - 1,
  }, "at-once"],
  ["a process without a record does not wait", { ran: undefined }, "at-once"],
  ["a unit without an origin does not wait", { wanted: undefined }, "at-once"],
  ["a process that does not serve does not wait", { isServing: false }, "at-once"],
  ["the wait goes on until the limit", { waitsSince: NOW - REPLACEMENT_MS_MAX + 1 }, "when-idle"],
  ["the wait ends at the limit", { waitsSince: NOW - REPLACEMENT_MS_MAX }, "during-turn"],
  ["a clock that was set back ends the wait", { waitsSince: NOW + 1 }, "during-turn"],
  ["a version that was taken back still waits", { wanted: OLD, waitsSince: NOW - 1 }, "when-idle"],
  ["--now does not wait", { isWantedNow: true }, "during-turn"],
  ["--now ends a wait", { isWantedNow: true, waitsSince: NOW - 1 }, "during-turn"],
  ["--now with changed rights is at once", {
    isWantedNow: true,
    wanted: { ...NEW, rights: "s" },
  }, "at-once"],
];

for (const [name, change, expected] of ROWS) {
  Deno.test(`decideReplacement(): ${name}`, () => {
    assert.equal(decideReplacement({ ...UPGRADE, ...change }), expected);
  });
}
