/**
 * Pages by turns: nothing is lost or duplicated between them, and a cut turn keeps its question and
 * states what is left out. The cost of a page does not depend on the length of turns and history.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { defined } from "core/defined.ts";
import { STREAM_LIMITS } from "gateway/limits.ts";
import type { Database, Databases } from "core/ports/databases.ts";
import { openRetention } from "core/store/transcript_retention.ts";
import type { GatewayStore, StoredEvent, TurnPage } from "gateway/transcript/event_log.ts";
import { openGatewayStore } from "gateway/transcript/store.ts";
import { memoryHost } from "tests/fakes/host.ts";

/**
 * Query plan steps that read only the rows they return: a search by two columns, or by agent in the
 * index of open turns, which are few.
 */
const BOUNDED =
  /^SEARCH \w+ USING (?:(?:COVERING )?INDEX turns_open \(agent=\?\)|(?:(?:COVERING )?INDEX \w+|PRIMARY KEY) \(agent=\? AND .+\)|INTEGER PRIMARY KEY \(rowid=\?\))$/;

/** One executed statement and the size of its result. */
interface Ran {
  readonly sql: string;
  readonly rows: number;
  readonly bytes: number;
}

/** Wraps databases so that they record each statement's result size. */
function watched(databases: Databases, ran: Ran[]): Databases {
  const size = (rows: readonly Readonly<Record<string, unknown>>[]) =>
    rows.flatMap((row) => Object.values(row)).reduce<number>(
      (sum, value) => sum + String(value).length,
      0,
    );
  return {
    open: async (path) => {
      const db = await databases.open(path);
      return {
        ...db,
        prepare: (sql) => {
          const statement = db.prepare(sql);
          return {
            run: (...values) => statement.run(...values),
            get: (...values) => {
              const row = statement.get(...values);
              const rows = row === undefined ? [] : [row];
              ran.push({ sql, rows: rows.length, bytes: size(rows) });
              return row;
            },
            all: (...values) => {
              const rows = statement.all(...values);
              ran.push({ sql, rows: rows.length, bytes: size(rows) });
              return rows;
            },
          };
        },
      };
    },
  };
}

async function scene() {
  const host = memoryHost();
  const ran: Ran[] = [];
  const store = await openGatewayStore(watched(host.databases, ran), "/g.db", "log1", 1e9);
  const db = await host.databases.open("/g.db");
  const last = new Map<string, number>();
  const add = async (
    events: readonly {
      readonly kind: string;
      readonly turn?: string;
      readonly payload?: Record<string, unknown>;
    }[],
    agent = "mia",
  ) => {
    let seq = last.get(agent) ?? 0;
    const appended = await store.events.appendFromAgent(
      agent,
      `e-${agent}`,
      events.map(({ kind, turn, payload }) => ({
        seq: ++seq,
        at: seq,
        kind,
        payload: payload ?? payloadOf(kind, seq),
        ...defined({ turn_id: turn }),
      })),
    );
    assert.ok(appended.ok && !appended.value.hasGap);
    last.set(agent, seq);
  };
  return { store, db, ran, add };
}

function payloadOf(kind: string, n: number): Record<string, unknown> {
  switch (kind) {
    case "turn_asked":
      return { text: `question ${n}`, by: "root" };
    case "tool_call":
      return { call_id: `c${n}`, mcp: null, tool: "bash", arguments: { command: "true" } };
    case "tool_result":
      return {
        call_id: `c${n - 1}`,
        text: "x".repeat(500),
        cut_bytes: 0,
        duration_ms: 1,
        status: n % 10 === 0 ? "failed" : "completed",
      };
    case "message":
      return { message_id: `m${n}`, role: "assistant", text: "said" };
    case "agent_state":
      return { state: n % 2 === 0 ? "failed" : "idle", since: n };
    case "turn_ended":
      return { outcome: "completed" };
    default:
      return { text: "note" };
  }
}

/** Events of a turn with this many calls; without an end it is still running. */
function longTurn(turn: string, calls: number, isOver = false) {
  const kinds = ["turn_asked", "turn_started"];
  for (let n = 0; n < calls; n++) kinds.push("tool_call", "tool_result");
  if (isOver) kinds.push("message", "turn_ended");
  return kinds.map((kind) => ({ kind, turn }));
}

const seqs = (events: readonly StoredEvent[]) => events.map(({ seq }) => seq);
const newest = (store: GatewayStore, agent = "mia") =>
  store.events.turnPage({ agent, before: undefined, turns: 10, limit: 100 });

/** Reads everything from the newest page backwards, as the browser page does. */
async function readAll(
  { events }: GatewayStore,
  of: { readonly turns: number; readonly limit: number },
): Promise<readonly StoredEvent[]> {
  const found = new Map<number, StoredEvent>();
  const take = (page: TurnPage) => {
    for (const event of page.events) found.set(event.seq, event);
  };
  let before: number | undefined;
  do {
    const page = await events.turnPage({ agent: "mia", before, ...of });
    assert.deepEqual(seqs(page.events), seqs(page.events).toSorted((a, b) => a - b));
    take(page);
    for (const cut of page.cuts) {
      let at: number | undefined = cut.before;
      let left = cut.counts;
      while (at !== undefined) {
        const part: TurnPage = await events.turnPart({
          agent: "mia",
          turnId: cut.turnId,
          before: at,
          limit: of.limit,
        });
        const fresh = part.events.filter(({ seq }) => !found.has(seq));
        left = { ...left, events: left.events - fresh.length };
        take(part);
        at = part.before;
      }
      assert.equal(left.events, 0, "the counts are those of what was left out");
    }
    assert.ok(before === undefined || page.before === undefined || page.before < before);
    before = page.before;
  } while (before !== undefined);
  return [...found.values()].sort((a, b) => a.seq - b.seq);
}

Deno.test("a turn of 600 calls is shown as its question, newest events and a count", async () => {
  const { store, add } = await scene();
  await add(longTurn("t1", 600));
  const { events, cuts, before } = await newest(store);
  assert.deepEqual(events.map(({ kind }) => kind).slice(0, 2), ["turn_asked", "tool_call"]);
  assert.equal(events.length, 101);
  assert.equal(before, undefined);
  assert.deepEqual(cuts, [{
    turnId: "t1",
    before: events[1]?.seq,
    // 1 is the event that begins the turn; 50 calls with their results are on this page.
    counts: { events: 1 + 2 * 550, calls: 550, messages: 0, notices: 0, failed: 110 },
  }]);
});

Deno.test("a turn at the limit is complete; one more event, its start aside, cuts it", async () => {
  const { store, add } = await scene();
  await add(longTurn("t1", 49));
  assert.deepEqual((await newest(store)).cuts, []);
  await add([{ kind: "tool_call", turn: "t1" }]);
  const { cuts, events } = await newest(store);
  assert.equal(events.length, 101);
  assert.deepEqual(cuts, [], "only the question lies before the newest 100");
  await add([{ kind: "tool_call", turn: "t1" }]);
  const counts = { events: 1, calls: 0, messages: 0, notices: 0, failed: 0 };
  assert.deepEqual((await newest(store)).cuts.map((cut) => cut.counts), [counts]);
});

Deno.test("the turn that runs is on the newest page, however many wait behind it", async () => {
  const { store, add } = await scene();
  const queue = (n: number) =>
    store.turns.queue({
      turnId: `q${n}`,
      agent: "mia",
      text: `message ${n}`,
      origin: "agent:bob",
      hops: 0,
      asker: "agent:bob",
      idempotencyKey: `k${n}`,
      at: n,
    });
  await queue(0);
  await add([{ kind: "turn_started", turn: "q0" }, { kind: "tool_call", turn: "q0" }]);
  for (let n = 1; n <= 40; n++) await queue(n);
  const page = await newest(store);
  const turns = new Set(page.events.map(({ turnId }) => turnId));
  assert.deepEqual([...turns], ["q0", ...Array.from({ length: 10 }, (_, n) => `q${31 + n}`)]);
  const older = await store.events.turnPage({
    agent: "mia",
    before: page.before,
    turns: 10,
    limit: 100,
  });
  assert.equal(older.events[0]?.turnId, "q21");
});

Deno.test("a page of large events stays within its bytes, and the next one continues", async () => {
  const { store, add } = await scene();
  const large = { text: "x".repeat(250_000) };
  for (let n = 0; n < 12; n++) {
    const [question, ...rest] = longTurn(`t${n}`, 5, true);
    await add(
      [question, ...rest].flatMap((one) => one ?? []).map((one) =>
        one.kind === "message" ? { ...one, kind: "notice", payload: large } : one
      ),
    );
    await add([1, 2, 3].map(() => ({ kind: "notice", turn: `t${n}`, payload: large })));
  }
  await add([1, 2, 3].map(() => ({ kind: "notice", payload: large })));
  const { events, before } = await newest(store);
  const bytes = events.reduce((sum, { payload }) => sum + JSON.stringify(payload).length, 0);
  assert.ok(bytes <= STREAM_LIMITS.pageBytesMax, `${bytes} bytes`);
  assert.ok(before !== undefined);
  const all = await readAll(store, { turns: 10, limit: 100 });
  assert.equal(all.length, 12 * 17 + 3);
});

Deno.test("pages and parts together contain every event, however they interleave", async () => {
  const kinds = ["tool_call", "tool_result", "message", "notice", "agent_state"] as const;
  const one = fc.record({ kind: fc.constantFrom(...kinds), turn: fc.constantFrom(0, 1, 2, 3) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(one, { minLength: 1, maxLength: 12 }), { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 6 }),
      async (rounds, turns, limit) => {
        const { store, add, db } = await scene();
        for (const [index, round] of rounds.entries()) {
          // Every second turn has a question; turn 0 means outside of turns.
          if (index % 2 === 0) await add([{ kind: "turn_asked", turn: `t${index + 1}` }]);
          await add(round.map(({ kind, turn }) => ({
            kind,
            ...(turn === 0 || kind === "agent_state" ? {} : { turn: `t${index + 2 - turn}` }),
          })));
          await add(longTurn("other", 1), "bob");
        }
        const wanted = db.prepare(
          "select seq from events where agent = 'mia' and " +
            "(kind <> 'agent_state' or payload ->> '$.state' = 'failed') order by seq",
        ).all();
        const all = await readAll(store, { turns, limit });
        assert.deepEqual(seqs(all), wanted.map(({ seq }) => Number(seq)));
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("counts follow what gc deletes; a log of an older gateway is counted", async () => {
  const host = memoryHost();
  const store = await openGatewayStore(host.databases, "/g.db", "log1", 1e9);
  const db = await host.databases.open("/g.db");
  const events = [...longTurn("t1", 20, true), ...longTurn("t2", 3, true)];
  await store.events.appendFromAgent(
    "mia",
    "e",
    events.map(({ kind, turn }, index) => ({
      seq: index + 1,
      at: index + 1,
      kind,
      turn_id: turn,
      payload: payloadOf(kind, index + 1),
    })),
  );
  const counted = () =>
    db.prepare("select * from turn_counts order by agent, turn_id").all().map((row) => ({
      ...row,
    }));
  assert.deepEqual(counted().map(({ failed }) => failed), [4, 1]);
  // Failures in an old log are not counted.
  const kept = counted().map((row) => ({ ...row, failed: 0 }));
  recount(db);
  await openGatewayStore(host.databases, "/g.db", "log1", 1e9);
  assert.deepEqual(counted(), kept);
  const bound = { seq: 31, atMaxMs: 1e12, createdBeforeMs: 0 };
  openRetention(db).deleteSome(bound);
  const [first] = counted();
  assert.deepEqual([first?.first_seq, first?.question_seq, first?.events], [31, null, 14]);
  const after = counted();
  recount(db);
  await openGatewayStore(host.databases, "/g.db", "log1", 1e9);
  assert.deepEqual(counted(), after);
  openRetention(db).deleteSome({ ...bound, seq: 45 });
  assert.deepEqual(counted().map(({ turn_id }) => turn_id), ["t2"]);
});

/** The state that an older gateway leaves: events without counts. */
function recount(db: Database): void {
  db.exec("drop trigger turn_counted; drop trigger turn_uncounted; drop table turn_counts");
}

Deno.test("a page costs the same after 600 calls, 5,000 calls and 10,000 turns", async () => {
  const { store, db, ran, add } = await scene();
  const costs: { readonly rows: number; readonly bytes: number }[] = [];
  const measure = async () => {
    ran.length = 0;
    const { events, cuts } = await newest(store);
    const cut = cuts.at(-1);
    const part = { agent: "mia", turnId: cut?.turnId ?? "", limit: 100 };
    await store.events.turnPart({ ...part, before: cut?.before });
    await store.events.turnPart({ ...part, before: undefined });
    await store.events.turnPage({ agent: "mia", before: events[0]?.seq, turns: 10, limit: 100 });
    await store.turns.nextFor("mia");
    await store.turns.runningOf("mia");
    await store.turns.openOf("mia");
    costs.push(ran.reduce(
      (sum, { rows, bytes }) => ({ rows: sum.rows + rows, bytes: sum.bytes + bytes }),
      { rows: 0, bytes: 0 },
    ));
  };
  for (let n = 0; n < 20; n++) await add(longTurn(`small-${n}`, 60, true));
  await add(longTurn("a", 600));
  await measure();
  await add(longTurn("a", 4_400).slice(2));
  await measure();
  for (let n = 0; n < 10_000; n += 500) {
    await add(
      Array.from({ length: 500 }, (_, more) => {
        const turn = `t${n + more}`;
        return [{ kind: "turn_asked", turn }, { kind: "turn_ended", turn }];
      }).flat(),
    );
  }
  for (let n = 0; n < 20; n++) await add(longTurn(`late-${n}`, 60, true));
  await add(longTurn("b", 5_000));
  await measure();
  const [first] = costs;
  assert.ok(first !== undefined);
  for (const { rows, bytes } of costs) {
    assert.ok(rows <= first.rows && bytes <= first.bytes * 1.05, JSON.stringify(costs));
  }
  const statements = new Set(ran.map(({ sql }) => sql));
  assert.ok(statements.size >= 8, "what a page reads was watched");
  for (const sql of statements) {
    const plan = db.prepare(`explain query plan ${sql.replaceAll("?", "1")}`).all();
    const steps = plan.map(({ detail }) => String(detail))
      // The few open turns may be sorted in a temporary tree.
      .filter((step, index, all) =>
        !/turns_open/.test(all[index - 1] ?? "") || step !== "USE TEMP B-TREE FOR ORDER BY"
      );
    const isSearch = steps.every((step) => BOUNDED.test(step));
    assert.ok(isSearch, `${sql}\n${steps.join("\n")}`);
  }
});
