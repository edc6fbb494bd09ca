/**
 * Tasks with MCP servers: three at once, and one that fails first.
 *
 * @module
 */

import assert from "node:assert/strict";
import { call, type EvalTask, say } from "tests/eval/task.ts";

const MEETING = { contact_id: "c-7", day: "2027-03-05", time: "13:30", minutes: 30 };

const threeServers: EvalTask = {
  name: "three-servers",
  files: {},
  servers: ["contacts", "calendar", "tickets"],
  prompts: [
    "Book a meeting of 30 minutes with Mia Berg on 2027-03-05 at her first free time. " +
    "Then close ticket T-17, and no other one.",
  ],
  script: [
    call("find_contact", { name: "Mia Berg" }),
    call("free_slots", { contact_id: "c-7", day: "2027-03-05" }),
    call("book_meeting", MEETING),
    call("close_ticket", { id: "T-17" }),
    say("Booked for 13:30, and closed T-17."),
  ],
  mistake: {
    fault: /^the server recorded .*c-4/,
    script: [
      call("book_meeting", { ...MEETING, contact_id: "c-4" }),
      call("close_ticket", { id: "T-17" }),
      say("Booked for 13:30, and closed T-17."),
    ],
  },
  async check(done) {
    return differs(await done.changes("calendar"), [{ booked: MEETING }]) ??
      differs(await done.changes("tickets"), [{ closed: "T-17" }]);
  },
};

const tryAgain: EvalTask = {
  name: "try-again",
  files: {},
  servers: ["tickets"],
  prompts: ["How many hours do all open tickets have together? Answer with the number."],
  script: [
    call("list_tickets", { page: 1 }),
    call("list_tickets", { page: 2 }),
    call("list_tickets", { page: 2 }),
    call("list_tickets", { page: 3 }),
    say("21"),
  ],
  mistake: {
    fault: /^the answer does not state 21$/,
    script: [
      call("list_tickets", { page: 1 }),
      call("list_tickets", { page: 2 }),
      say("8"),
    ],
  },
  async check(done) {
    const changed = differs(await done.changes("tickets"), []);
    if (changed !== undefined) return changed;
    return /\b21\b/.test(done.answer) ? undefined : "the answer does not state 21";
  },
};

function differs(found: readonly unknown[], wanted: readonly unknown[]): string | undefined {
  try {
    assert.deepEqual(found, wanted);
    return undefined;
  } catch {
    return `the server recorded ${JSON.stringify(found)}`;
  }
}

/** The tasks. */
export const OFFICE_TASKS: readonly EvalTask[] = [threeServers, tryAgain];
