/**
 * The end of a turn whose program has not reported its tokens: what a check of the ceilings has
 * reported counts, once and as a part.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openDialStore } from "units/dial/store.ts";
import type { RunningTurn } from "units/dial/running_spend.ts";
import { recordTurnEnd } from "units/dial/turn_end.ts";
import { memoryHost } from "tests/fakes/host.ts";

const NOON = Date.parse("2026-11-23T12:00:00Z");
const ALL_DAY = { since: NOON - 1, until: NOON + 1 };

/** A turn that used these input tokens of its models "m", "m2" and so on. */
function spent(turnId: string, ...inputs: readonly number[]): RunningTurn {
  const used = inputs.map((input, at) => ({
    model: at === 0 ? "m" : `m${at + 1}`,
    tokens: { input, output: 0, cachedRead: 0, cachedWrite: 0 },
  }));
  return { turnId, model: "m", day: "2026-11-23", used };
}

/** Ends turn t1, after these tokens were reported in its `usage` event; returns what is stored. */
async function endOf(running: readonly RunningTurn[], reported?: number) {
  const host = memoryHost({ now: NOON });
  const store = await openDialStore(host.databases, "/dial.db", "epoch");
  store.accept({ turnId: "t1", text: "hi", origin: "owner:mia" });
  store.append([], { turnId: "t1", to: "running" });
  if (reported !== undefined) {
    const counts = { output_tokens: 0, cached_read_tokens: 0, cached_write_tokens: 0 };
    const payload = { models: [{ model: "m", input_tokens: reported, ...counts }] };
    store.append([{ at: NOON, turnId: "t1", kind: "usage", payload }]);
  }
  const kinds: string[] = [];
  await recordTurnEnd("t1", { outcome: "cancelled" }, {
    ...host,
    store,
    recorder: {
      record: (drafts, options) => {
        kinds.push(...drafts.map(({ kind }) => kind));
        store.append(drafts, options?.move);
        return Promise.resolve();
      },
    },
    withdrawApprovals: () => {},
    ceilings: { running: () => running },
  });
  const { models, days } = store.usage.sum(ALL_DAY, 10);
  return {
    kinds,
    input: models[0]?.input_tokens,
    others: models.slice(1).map(({ model, input_tokens }) => [model, input_tokens]),
    partial: days[0]?.partial_turns,
    unknown: days[0]?.unknown_turns,
  };
}

Deno.test("a turn that was cut counts what it used before the cut", async () => {
  assert.deepEqual(await endOf([spent("t2", 7), spent("t1", 500)]), {
    kinds: ["usage", "turn_ended"],
    input: 500,
    others: [],
    partial: 1,
    unknown: 0,
  });
});

Deno.test("a turn that was cut counts each model that answered in it", async () => {
  assert.deepEqual(await endOf([spent("t1", 500, 20, 0)]), {
    kinds: ["usage", "turn_ended"],
    input: 500,
    others: [["m2", 20]],
    partial: 1,
    unknown: 0,
  });
});

Deno.test("figures of the program count alone", async () => {
  assert.deepEqual(await endOf([spent("t1", 500)], 900), {
    kinds: ["turn_ended"],
    input: 900,
    others: [],
    partial: 0,
    unknown: 0,
  });
});

for (
  const [name, running] of [
    ["a turn without a check", [spent("t2", 7)]],
    ["a turn that was cut in its first call", [spent("t1", 0)]],
  ] as const
) {
  Deno.test(`${name} stays without figures`, async () => {
    assert.deepEqual(await endOf(running), {
      kinds: ["turn_ended"],
      input: undefined,
      others: [],
      partial: 0,
      unknown: 1,
    });
  });
}
