/**
 * What a cut turn lost: the state of each call, the note for the model, the notice for the person,
 * and how long the note is kept.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import type { Approval, ApprovalState, HumanVerdict } from "core/risk/approval.ts";
import { byteLength } from "core/text/cut_text.ts";
import { cutNote, cutNotice, lostCalls } from "units/dial/cut_turn.ts";
import { joinCutNotes } from "units/dial/cut_table.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { memoryDatabases } from "tests/fakes/databases.ts";

type Found = readonly [ApprovalState, HumanVerdict["decision"]?];

const ARGUMENTS = { text: "x" };

function approval([state, decision]: Found, args: Approval["arguments"] = ARGUMENTS): Approval {
  const verdict = decision && { decision, by: "owner:a", surface: "page", at: 1 };
  return {
    id: crypto.randomUUID(),
    agent: "ada",
    mcp: "bench",
    version: "1.0.0",
    tool: "write",
    arguments: args,
    origin: { kind: "direct" },
    digest: "d",
    isDestructive: true,
    turnId: "t1",
    askedAt: 1,
    expiresAt: 2,
    state,
    ...defined({ verdict }),
  };
}

async function withStore(work: (store: DialStore) => unknown): Promise<void> {
  const databases = memoryDatabases();
  const store = await openDialStore(databases, "/dial.db", "e1");
  store.accept({ turnId: "t1", text: "go", origin: "owner:a" });
  store.append([], { turnId: "t1", to: "running" });
  await work(store);
  databases.dispose();
}

const draft = (kind: string, payload: Readonly<Record<string, unknown>>) => ({
  at: 1,
  turnId: "t1",
  kind,
  payload,
});
const call = (call_id: string, args: unknown = ARGUMENTS) =>
  draft("tool_call", { call_id, mcp: "bench", tool: "write", arguments: args });
const result = (call_id: string, status: string) => draft("tool_result", { call_id, status });

const APPROVED = "approved";
for (
  const [name, events, found, wanted] of [
    ["a call that needs no approval", [call("c1")], [], { c1: "unknown" }],
    ["a call that waits", [call("c1")], [["superseded"]], { c1: "waiting" }],
    ["a call whose approval expired", [call("c1")], [["expired"]], { c1: "waiting" }],
    ["an approved call that was not claimed", [call("c1")], [["superseded", APPROVED]], {
      c1: "waiting",
    }],
    ["a claimed call", [call("c1")], [["applied", APPROVED]], { c1: "unknown" }],
    ["a denied call", [call("c1")], [["delivered", "denied"]], { c1: "denied" }],
    ["a denied call whose caller ended", [call("c1")], [["superseded", "denied"]], {
      c1: "denied",
    }],
    ["an approval that could not be withdrawn", [call("c1")], [["asked"]], { c1: "unknown" }],
    ["two equal calls and one approval", [call("c1"), call("c2")], [["superseded"]], {
      c1: "unknown",
      c2: "unknown",
    }],
    ["two equal calls, one claimed", [call("c1"), call("c2")], [["applied", APPROVED], [
      "superseded",
    ]], { c1: "unknown", c2: "unknown" }],
    ["an equal call with a result", [call("c1"), result("c1", "denied"), call("c2")], [[
      "delivered",
      "denied",
    ], ["superseded"]], { c2: "waiting" }],
    ["a call that ended with its turn", [call("c1"), result("c1", "stopped")], [["superseded"]], {
      c1: "waiting",
    }],
    ["a call with a result", [call("c1"), result("c1", "completed")], [], {}],
    ["a call with other arguments", [call("c1", { text: "y" })], [["superseded"]], {
      c1: "unknown",
    }],
    ["arguments that arrive later", [call("c1", {}), call("c1")], [["superseded"]], {
      c1: "waiting",
    }],
  ] as readonly (readonly [
    string,
    readonly ReturnType<typeof draft>[],
    readonly Found[],
    Readonly<Record<string, string>>,
  ])[]
) {
  Deno.test(`lostCalls() with ${name}: ${Object.values(wanted).join(", ") || "none"}`, async () => {
    await withStore((store) => {
      store.append(events);
      for (const each of found) store.append([], undefined, { approval: approval(each) });
      const lost = lostCalls(store.progress.of("t1"), store.approvals.ofTurn("t1"));
      assert.deepEqual(Object.fromEntries(lost.map((each) => [each.callId, each.state])), wanted);
    });
  });
}

const LOST = [
  { callId: "c1", name: "bench / write", arguments: '{"text":"x"}', state: "unknown" },
  { callId: "c2", name: "bash", arguments: '{"command":"a\\nb]"}', state: "waiting" },
] as const;

Deno.test("cutNote() names each call and its state", () => {
  assert.deepEqual(cutNote("it died\n[fake: x]", LOST).split("\n"), [
    "[interrupted: an earlier turn of this conversation was cut off: it died fake: x. Its " +
    "message, your answer and its tool results may be missing from your history]",
    '[interrupted: bench / write (c1) {"text":"x"}: outcome unknown: the turn ended while this ' +
    "call ran]",
    '[interrupted: bash (c2) {"command":"a\\nb "}: not made: the turn ended while it waited for ' +
    "an approval]",
    "[interrupted: a call with an unknown outcome may have taken effect. Assume nothing: check " +
    "before you make it again]",
  ]);
});

Deno.test("cutNote() without calls says what may be missing", () => {
  assert.match(cutNote("it died", []), /^\[interrupted: an earlier turn [^[\]\n]*\]$/);
});

Deno.test("cutNote() and cutNotice() stay short with many long calls", () => {
  const many = Array.from({ length: 1000 }, () => ({
    ...LOST[0],
    callId: "c".repeat(256),
    name: "漢".repeat(600),
    arguments: "漢".repeat(2000),
  }));
  const note = cutNote("漢".repeat(4000), many);
  assert.ok(byteLength(note) <= 8_192);
  assert.match(note, /992 more calls without a result\]\n.*check before you make it again\]$/);
  assert.match(cutNotice(many) ?? "", /; 992 more calls\. The agent reads this/);
});

Deno.test("cutNotice() is absent without lost calls", () => {
  assert.equal(cutNotice([]), undefined);
});

const cut = (turnId: string, conversation?: string) => ({ turnId, conversation, text: turnId });
const ends = (store: DialStore, turnId: string, conversation?: string) =>
  store.append([], { turnId, to: "ended", cut: cut(turnId, conversation) });
const idsOf = (notes: ReturnType<DialStore["cuts"]["of"]>) => notes.map(({ turnId }) => turnId);

Deno.test("a note is kept for its conversation until it is dropped", async () => {
  await withStore((store) => {
    ends(store, "t1");
    ends(store, "t2", "trip");
    assert.deepEqual(store.cuts.of(undefined), [cut("t1")]);
    assert.deepEqual(store.cuts.of("trip"), [cut("t2", "trip")]);
    assert.ok(store.cuts.drop(["t1"]).ok);
    assert.deepEqual([store.cuts.of(undefined), idsOf(store.cuts.of("trip"))], [[], ["t2"]]);
  });
});

Deno.test("the newest 4 notes of a conversation are kept, and 64 in all", async () => {
  await withStore((store) => {
    for (let n = 0; n < 6; n++) ends(store, `a${n}`);
    assert.deepEqual(idsOf(store.cuts.of(undefined)), ["a2", "a3", "a4", "a5"]);
    for (let n = 0; n < 64; n++) ends(store, `b${n}`, `other-${n}`);
    assert.deepEqual(idsOf(store.cuts.of(undefined)), []);
    assert.deepEqual(idsOf(store.cuts.of("other-0")), ["b0"]);
  });
});

Deno.test("the notes of all gateways are read and dropped together", async () => {
  await withStore((one) =>
    withStore((other) => {
      ends(one, "t1");
      ends(other, "t2");
      const joined = joinCutNotes([one.cuts, other.cuts]);
      assert.deepEqual(idsOf(joined.of(undefined)), ["t1", "t2"]);
      assert.ok(joined.drop(["t1", "t2"]).ok);
      assert.deepEqual(joined.of(undefined), []);
    })
  );
});
