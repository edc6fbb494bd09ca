/**
 * How a turn continues after a crash at any point: no call is sent twice, and none that was
 * certainly not sent is reported as unknown.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { defined } from "core/defined.ts";
import type { SessionRecord } from "units/agent_loop/conversation/message.ts";
import { parseRecords } from "units/agent_loop/conversation/store.ts";
import {
  type CallApproval,
  decideOpenCall,
  judgeJournal,
  type OpenCall,
  planTurn,
} from "units/agent_loop/journal/plan.ts";
import {
  type FoundJournal,
  JOURNAL_BYTES_MAX,
  parseJournal,
  printHeader,
  printMark,
} from "units/agent_loop/journal/record.ts";

const OWNER = { agent: "ada", turnId: "t1", session: "s1" };
const HEADER = printHeader(OWNER, 1);
const MARK = printMark({ step: 0, call_id: "c1", tool: "wipe", at: 5 });
const USER: SessionRecord = { type: "user", at: 1, turn_id: "t1", text: "go" };
const MISSING: FoundJournal = { state: "missing", marks: [], isTorn: false };

const calls = (...ids: string[]): SessionRecord => ({
  type: "assistant",
  at: 2,
  finish: "tool-calls",
  parts: ids.map((call_id) => ({
    type: "call",
    call_id,
    tool: "wipe",
    arguments: { id: call_id },
  })),
});
const says = (text: string, finish?: string): SessionRecord => ({
  type: "assistant",
  at: 2,
  parts: [{ type: "text", text }],
  ...defined({ finish }),
});
const result = (call_id: string): SessionRecord => ({
  type: "result",
  at: 3,
  call_id,
  tool: "wipe",
  status: "completed",
  text: "done",
});
const STEER: SessionRecord = { type: "steer", at: 4, id: "t2", text: "and then" };
const END: SessionRecord = { type: "end", at: 9, outcome: "completed" };

for (
  const [name, text, state, marks] of [
    ["a header and a mark", HEADER + MARK, "usable", 1],
    ["an incomplete last line", HEADER + MARK + '{"type":"sta', "usable", 1],
    ["no file", undefined, "missing", 0],
    ["an empty file", "", "damaged", 0],
    ["a line that cannot be read", `${HEADER}garbage\n${MARK}`, "damaged", 1],
    ["no header", MARK, "damaged", 0],
    ["a mark that is cut in the middle", HEADER + MARK.slice(0, 20) + MARK, "damaged", 0],
    ["binary data", "\0\u0001\ufffd", "damaged", 0],
    ["a header only in part", HEADER.slice(0, 20), "damaged", 0],
    ["another turn", printHeader({ ...OWNER, turnId: "t2" }, 1) + MARK, "foreign", 0],
    ["another agent", printHeader({ ...OWNER, agent: "bob" }, 1) + MARK, "foreign", 0],
    ["another session", printHeader({ ...OWNER, session: "s2" }, 1) + MARK, "foreign", 1],
    ["an older version", HEADER.replace('"version":1', '"version":0') + MARK, "other-version", 0],
    ["another version", HEADER.replace('"version":1', '"version":2') + MARK, "other-version", 0],
    ["too many bytes", HEADER + MARK.repeat(JOURNAL_BYTES_MAX / MARK.length + 1), "damaged", -1],
  ] as const
) {
  Deno.test(`parseJournal() of ${name} returns ${state}`, () => {
    const found = parseJournal(text, OWNER);
    assert.equal(found.state, state);
    if (marks >= 0) assert.equal(found.marks.length, marks);
  });
}

for (
  const [name, records, journal, kind] of [
    ["nothing stored", [], MISSING, "begin"],
    ["a journal without marks", [], parseJournal(HEADER, OWNER), "begin"],
    ["marks without a conversation", [], parseJournal(HEADER + MARK, OWNER), "lost"],
    ["a damaged journal without a conversation", [], parseJournal("x", OWNER), "lost"],
    ["the message only", [USER], MISSING, "continue"],
    ["an end", [USER, says("hi", "stop"), END], MISSING, "ended"],
    ["an answer without calls", [USER, says("hi", "stop")], MISSING, "answered"],
    ["an answer that broke off", [USER, says("hi")], MISSING, "answered"],
    ["a message after the answer", [USER, says("hi", "stop"), STEER], MISSING, "continue"],
    ["an open call", [USER, calls("c1")], parseJournal(HEADER + MARK, OWNER), "continue"],
    ["all results", [USER, calls("c1"), result("c1")], MISSING, "continue"],
    ["a later turn", [USER, END, { ...USER, turn_id: "t2" }], MISSING, "ended"],
  ] as const
) {
  Deno.test(`planTurn() with ${name}: ${kind}`, () => {
    assert.equal(planTurn(records, "t1", journal).kind, kind);
  });
}

const FAILED: SessionRecord = { ...result("c1"), status: "failed" } as SessionRecord;
for (
  const [name, records, text, state] of [
    ["all marks", [USER, calls("c1"), result("c1")], HEADER + MARK, "usable"],
    ["a mark too many", [USER, calls("c1")], HEADER + MARK, "usable"],
    ["no mark of a completed call", [USER, calls("c1"), result("c1")], HEADER, "damaged"],
    ["another mark", [USER, says("x"), calls("c1"), result("c1")], HEADER + MARK, "damaged"],
    ["no mark of a call that was refused", [USER, calls("c1"), FAILED], HEADER, "usable"],
    [
      "a completed call of an earlier turn",
      [
        { ...USER, turn_id: "t0" },
        calls("c1"),
        result("c1"),
        USER,
      ],
      HEADER,
      "usable",
    ],
  ] as const
) {
  Deno.test(`judgeJournal() with ${name} returns ${state}`, () => {
    assert.equal(judgeJournal(records, "t1", parseJournal(text, OWNER)).state, state);
  });
}

/** Steps of a turn in the order in which they reach the disk; `send` is the call itself. */
type Act =
  | { readonly kind: "session"; readonly record: SessionRecord }
  | { readonly kind: "journal"; readonly line: string }
  | { readonly kind: "send"; readonly callId: string };

/** A turn with these numbers of calls in its answers. */
function actsOf(answers: readonly number[]): readonly Act[] {
  const acts: Act[] = [{ kind: "journal", line: HEADER }, { kind: "session", record: USER }];
  answers.forEach((count, step) => {
    const ids = Array.from({ length: count }, (_, n) => `c${n}`);
    acts.push({ kind: "session", record: calls(...ids) });
    for (const callId of ids) {
      const line = printMark({ step, call_id: callId, tool: "wipe", at: 5 });
      acts.push({ kind: "journal", line }, { kind: "send", callId: `${step} ${callId}` });
      acts.push({ kind: "session", record: result(callId) });
    }
  });
  return [...acts, { kind: "session", record: says("bye", "stop") }, {
    kind: "session",
    record: END,
  }];
}

Deno.test("planTurn() never repeats a call that was sent, whatever was cut off", () => {
  const turn = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(turn, fc.nat(), fc.nat(), fc.boolean(), (answers, cut, torn, isLost) => {
      const acts = actsOf(answers);
      const done = acts.slice(0, cut % (acts.length + 1));
      const next = acts[done.length];
      let session = "";
      let journal: string | undefined;
      const sent = new Set<string>();
      for (const act of done) {
        if (act.kind === "session") session += `${JSON.stringify(act.record)}\n`;
        else if (act.kind === "journal") journal = (journal ?? "") + act.line;
        else sent.add(act.callId);
      }
      // The next write reached the disk only in part. A header is written whole.
      if (next?.kind === "session") {
        const line = JSON.stringify(next.record);
        session += line.slice(0, torn % line.length);
      } else if (next?.kind === "journal" && journal !== undefined) {
        journal += next.line.slice(0, torn % next.line.length);
      }
      const found = parseJournal(isLost ? undefined : journal, OWNER);
      const { records } = parseRecords(session);
      const judged = judgeJournal(records, "t1", found);
      assert.equal(judged.state, found.state, "a crash cuts no mark of a completed call");
      const plan = planTurn(records, "t1", judged);
      if (plan.kind === "begin") {
        assert.equal(sent.size, 0);
      } else if (plan.kind === "continue") {
        for (const open of plan.open) {
          const id = `${plan.steps.length - 1} ${open.part.call_id}`;
          const { kind } = decideOpenCall(open, { mcp: undefined, tool: "wipe" }, []);
          if (sent.has(id)) assert.equal(kind, "unknown");
          // A mark is on disk before its call is sent, so one more call may be unknown.
          else if (!isLost && open.state === "not-sent") assert.equal(kind, "run");
        }
      }
    }),
    { numRuns: 500 },
  );
});

const open = (state: OpenCall["state"]): OpenCall => ({
  part: { type: "call", call_id: "c1", tool: "x__wipe", arguments: { a: 1, b: 2 } },
  state,
  sentAt: state === "sent" ? 100 : undefined,
});
const approval = (over: Partial<CallApproval>): CallApproval => ({
  mcp: "x",
  tool: "wipe",
  arguments: { b: 2, a: 1 },
  askedAt: 100,
  state: "asked",
  isDenied: false,
  ...over,
});
const NAMED = { mcp: "x", tool: "wipe" };

for (
  const [name, call, approvals, kind] of [
    ["was not sent", open("not-sent"), [], "run"],
    ["has a lost journal", open("unknown"), [approval({})], "unknown"],
    ["was sent and asked for nothing", open("sent"), [], "unknown"],
    ["waits for a decision", open("sent"), [approval({})], "run"],
    ["was approved and not claimed", open("sent"), [approval({ state: "delivered" })], "run"],
    ["was approved and claimed", open("sent"), [approval({ state: "applied" })], "unknown"],
    [
      "was denied",
      open("sent"),
      [approval({ state: "delivered", isDenied: true, by: "Mia" })],
      "answer",
    ],
    ["has an expired approval", open("sent"), [approval({ state: "expired" })], "answer"],
    ["has a superseded approval", open("sent"), [approval({ state: "superseded" })], "run"],
    ["has an approval of other arguments", open("sent"), [approval({ arguments: {} })], "unknown"],
    ["has an older approval", open("sent"), [approval({ askedAt: 99 })], "unknown"],
    [
      "has a claimed and a waiting approval",
      open("sent"),
      [approval({}), approval({ state: "applied" })],
      "unknown",
    ],
  ] as const
) {
  Deno.test(`decideOpenCall(): a call that ${name}: ${kind}`, () => {
    assert.equal(decideOpenCall(call, NAMED, approvals).kind, kind);
  });
}
