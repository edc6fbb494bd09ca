/**
 * Spend ceilings of a dial unit: the warning, the owner's card, what an operator allows, restarts,
 * and files that cannot be read or written.
 *
 * @module
 */

import assert from "node:assert/strict";
import { printHostCeilings } from "core/dial/host_ceilings.ts";
import { pathsUnder } from "core/paths.ts";
import { ok } from "core/result.ts";
import { openApprovals } from "units/dial/approvals.ts";
import { type Ceilings, openCeilings } from "units/dial/ceilings.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";

const NOON = Date.parse("2026-11-23T12:00:00Z");
const HOUR = 3_600_000;
const PATHS = pathsUnder("/");
const YES = { decision: "approved", by: "owner:mia@example.org", surface: "page" } as const;
const PRICES = "models: { m: { source: t, prices: [{ from: 2026-01-01, input: 1, output: 1 }] } }";
/** How long a card waits for a decision. */
const ASK_SECONDS = 3_600;
const ALLOWANCES = "/dial/allowances.json";

interface Bench {
  readonly ceilings: Ceilings;
  readonly host: MemoryHost;
  /** The current reason why the agent is paused. */
  readonly paused: () => string | undefined;
  /** The open card. */
  card(): { readonly id: string; readonly digest: string; readonly arguments: unknown } | undefined;
  /** Resolves when this many cards have been shown. */
  shown(count?: number): Promise<void>;
  decide(decision: "approved" | "denied"): void;
  /** Ends a turn that used these input tokens of the model. */
  use(input: number, model?: string): void;
  check(model?: string, used?: number): ReturnType<Ceilings["check"]>;
  /** Renders other ceilings, as `apply` does. */
  setCeilings(text: string): Promise<void>;
  /** Opens the ceilings again, as a new process of the dial unit does. */
  reopen(): Promise<Bench>;
}

function inputOf(input: number) {
  return { input, output: 0, cachedRead: 0, cachedWrite: 0 };
}

/** Runs a turn to its end in the store. */
function useTokens(
  store: DialStore,
  at: number,
  { model, input }: { readonly model: string; readonly input: number },
): void {
  const turnId = `t${store.last()}`;
  const zero = { output_tokens: 0, cached_read_tokens: 0, cached_write_tokens: 0 };
  const models = [{ model, input_tokens: input, ...zero }];
  store.accept({ turnId, text: "hi", origin: "owner:mia" });
  store.append([{ at, turnId, kind: "turn_started", payload: {} }], { turnId, to: "running" });
  store.append([{ at, turnId, kind: "usage", payload: { models } }]);
  store.append([{ at, turnId, kind: "turn_ended", payload: {} }], { turnId, to: "ended" });
}

/** Renders the ceilings of mia, as `apply` does. */
async function writeCeilings({ files }: MemoryHost, text: string): Promise<void> {
  await files.ensureDir("/etc/fleetctl/ceilings");
  await files.write(PATHS.agentCeiling("mia"), `${text}\n`);
}

async function bench(text: string, host = memoryHost({ now: NOON })): Promise<Bench> {
  await host.files.ensureDir("/dial");
  await host.files.ensureDir("/etc/fleetctl");
  if (await host.files.stat(PATHS.pricesFile) === undefined) {
    await host.files.write(PATHS.pricesFile, PRICES);
  }
  const store = await openDialStore(host.databases, "/dial.db", "epoch");
  const approvals = openApprovals({
    ...host,
    agent: "mia",
    store,
    askSeconds: ASK_SECONDS,
    onStored: () => {},
    onWaiting: () => {},
  });
  let paused: string | undefined;
  const setCeilings = (next: string) => writeCeilings(host, next);
  await setCeilings(text);
  const ceilings = await openCeilings({
    ...host,
    agent: "mia",
    paths: PATHS,
    folder: "/dial",
    usage: { sum: async (period) => ok(store.usage.sum(period, 100)) },
    approvals,
    onPaused: (reason) => {
      paused = reason;
    },
  });
  let cards = 0;
  let onCard = () => {};
  store.listen((drafts) => {
    cards += drafts.filter(({ kind }) => kind === "approval_asked").length;
    onCard();
  });
  const card = () => approvals.list().find(({ state }) => state === "asked");
  return {
    ceilings,
    host,
    setCeilings,
    paused: () => paused,
    card,
    shown: (count = 1) =>
      new Promise((resolve) => {
        onCard = () => {
          if (cards >= count) resolve();
        };
        onCard();
      }),
    decide(decision) {
      const { id, digest } = card() ?? { id: "", digest: "" };
      assert.ok(approvals.decide({ ...YES, decision, id, digest }).ok);
    },
    use: (input, model = "m") => useTokens(store, host.clock.now(), { model, input }),
    check: (model, used = 0) =>
      ceilings.check(
        model === undefined ? undefined : {
          model,
          turnId: "t1",
          used: [{ model, tokens: inputOf(used) }],
        },
        new AbortController().signal,
      ),
    reopen: () => {
      store.close();
      return bench(text, host);
    },
  };
}

Deno.test("a turn below its ceiling passes without a notice", async () => {
  const { use, check, paused } = await bench("day=1000-tokens");
  use(799);
  assert.deepEqual(await check(), { notices: [] });
  assert.equal(paused(), undefined);
});

Deno.test("near the ceiling one notice warns, once in each period", async () => {
  const first = await bench("hour=1000-tokens");
  first.use(800);
  const { notices } = await first.check();
  assert.deepEqual(notices, [
    "The agent has spent 800 tokens of the 1,000 tokens that it may spend this hour. At this " +
    "limit it pauses until 2026-11-23 13:00 UTC",
  ]);
  assert.deepEqual((await first.check()).notices, []);
  const again = await first.reopen();
  assert.deepEqual((await again.check()).notices, []);
  await again.host.clock.advance(HOUR);
  again.use(900);
  assert.equal((await again.check()).notices.length, 1);
});

Deno.test("at the ceiling the turn ends, and its reason names who may allow more", async () => {
  const { use, check, paused, host, ceilings } = await bench("day=5usd");
  use(5_020_000);
  const { stop } = await check();
  assert.equal(stop?.code, "ceiling-reached");
  assert.equal(
    stop.message,
    'Cannot use the model: agent "mia" has spent 5.02 USD of the 5.00 USD that it may spend this ' +
      "day, must wait until 2026-11-24 00:00 UTC, or an operator must allow more",
  );
  assert.deepEqual(stop.hints, ["fleetctl ceilings allow mia day=5usd"]);
  assert.equal(paused(), "paused: ceiling of this day reached, until 2026-11-24 00:00 UTC");
  await host.clock.advance(12 * HOUR - 1);
  assert.notEqual(paused(), undefined);
  await host.clock.advance(1);
  assert.equal(paused(), undefined);
  assert.deepEqual(await check(), { notices: [] });
  ceilings.close();
});

Deno.test("a new ceiling holds at the next check, without a restart", async () => {
  const { use, check, paused, setCeilings, host, ceilings } = await bench("day=1000-tokens");
  use(1_000);
  assert.equal((await check()).stop?.code, "ceiling-reached");
  assert.notEqual(paused(), undefined);
  await setCeilings("day=2000-tokens");
  await host.clock.advance(30_000);
  assert.equal(paused(), undefined);
  assert.equal((await check()).stop, undefined);
  await setCeilings("day=900-tokens");
  assert.equal((await check()).stop?.code, "ceiling-reached");
  await host.files.remove(PATHS.agentCeiling("mia"));
  assert.deepEqual(await check(), { notices: [] });
  ceilings.close();
});

Deno.test("a turn that waits goes on when its ceiling is raised or removed", async () => {
  for (const next of ["day=1500-tokens+200-tokens", "month=5m-tokens"]) {
    const { use, check, shown, setCeilings, host, card } = await bench(
      "day=1000-tokens+200-tokens",
    );
    use(1_000);
    const waits = check();
    await shown();
    await setCeilings(next);
    await host.clock.advance(5_000);
    assert.equal((await waits).stop, undefined);
    assert.equal(card(), undefined);
  }
});

Deno.test("ceilings that cannot be read stop the agent", async () => {
  const { check, setCeilings, host, ceilings } = await bench("day=1000-tokens");
  for (const text of ["day=", "", "\0", "x".repeat(5_000)]) {
    await setCeilings(text);
    const { stop } = await check();
    assert.equal(stop?.code, "ceiling-unread", text);
    assert.deepEqual(stop.hints, ["fleetctl apply"]);
    assert.equal((await ceilings.states()).ok, false);
  }
  await setCeilings("day=1000-tokens");
  assert.deepEqual(await check(), { notices: [] });
  assert.equal(host.clock.pending(), 0);
});

Deno.test("a running turn counts what it has used so far", async () => {
  const { use, check, ceilings } = await bench("day=1000-tokens");
  use(500);
  assert.equal((await check("m", 499)).stop, undefined);
  assert.equal((await check("m", 500)).stop?.code, "ceiling-reached");
  ceilings.close();
});

Deno.test("an allowance of the owner counts once in a period, also after a restart", async () => {
  const first = await bench("day=1000-tokens+200-tokens");
  first.use(1_000);
  const waits = first.check();
  await first.shown();
  assert.equal(first.paused(), undefined);
  assert.deepEqual(first.card()?.arguments, {
    period: "day",
    ceiling: "1,000 tokens",
    spent: "1,000 tokens",
    allow_more: "200 tokens",
    owner_may_allow: "200 tokens",
    until: "2026-11-24 00:00 UTC",
  });
  first.decide("approved");
  assert.equal((await waits).stop, undefined);
  const again = await first.reopen();
  again.use(199);
  assert.equal((await again.check()).stop, undefined);
  again.use(1);
  const { stop } = await again.check();
  assert.equal(stop?.code, "ceiling-reached");
  assert.match(stop.message, /1,200 tokens of the 1,200 tokens/);
  assert.equal(again.card(), undefined);
  again.ceilings.close();
});

Deno.test("a card that is denied, or expires, ends the turn", async () => {
  const { use, check, shown, decide, host, ceilings } = await bench("month=1000-tokens+200-tokens");
  use(1_000);
  const denied = check();
  await shown();
  decide("denied");
  assert.equal((await denied).stop?.code, "ceiling-reached");
  const expired = check();
  await shown(2);
  await host.clock.advance(ASK_SECONDS * 1_000);
  assert.equal((await expired).stop?.code, "ceiling-reached");
  ceilings.close();
});

Deno.test("a turn that waits continues when an operator allows more", async () => {
  const { use, check, card, shown, ceilings } = await bench("day=5usd+1usd");
  use(5_000_000);
  const waits = check();
  await shown();
  assert.equal(
    (card()?.arguments as { allow_more: string }).allow_more,
    "1.00 USD",
  );
  const more = { period: "day", amount: { unit: "usd", count: 2 }, by: "the operator" } as const;
  const allowed = await ceilings.allow(more);
  assert.ok(allowed.ok);
  assert.deepEqual([allowed.value.limit, allowed.value.ownerLeft], [7, 1]);
  assert.equal((await waits).stop, undefined);
  assert.equal(card(), undefined);
});

Deno.test("a turn that waits continues when the period ends", async () => {
  const { use, check, card, shown, host } = await bench("hour=1000-tokens+200-tokens");
  await host.clock.advance(HOUR - 1_000);
  use(1_000);
  const waits = check();
  await shown();
  await host.clock.advance(1_000);
  assert.deepEqual(await waits, { notices: [] });
  assert.equal(card(), undefined);
});

Deno.test("a cancelled turn withdraws the card", async () => {
  const { use, ceilings, card, shown } = await bench("day=1000-tokens+200-tokens");
  use(1_000);
  const stop = new AbortController();
  const waits = ceilings.check(undefined, stop.signal);
  await shown();
  stop.abort();
  assert.equal((await waits).stop?.code, "ceiling-reached");
  assert.equal(card(), undefined);
});

Deno.test("two waiting turns share an allowance of the owner", async () => {
  const { use, check, card, shown, decide, ceilings } = await bench("day=1000-tokens+200-tokens");
  use(1_000);
  const both = Promise.all([check(), check()]);
  await shown(2);
  decide("approved");
  assert.deepEqual((await both).map(({ stop }) => stop), [undefined, undefined]);
  assert.equal(card(), undefined);
  const states = await ceilings.states();
  assert.ok(states.ok);
  assert.deepEqual(states.value.map(({ limit, ownerLeft }) => [limit, ownerLeft]), [[1_200, 0]]);
});

Deno.test("allowances of an operator add up, and are refused for another ceiling", async () => {
  const { use, check, paused, ceilings } = await bench("day=1000-tokens");
  use(1_500);
  assert.equal((await check()).stop?.code, "ceiling-reached");
  const more = (count: number) =>
    ceilings.allow({ period: "day", amount: { unit: "tokens", count }, by: "the operator" });
  assert.ok((await more(400)).ok);
  assert.notEqual(paused(), undefined);
  assert.ok((await more(400)).ok);
  assert.equal(paused(), undefined);
  assert.equal((await check()).stop, undefined);
  const other = { period: "hour", amount: { unit: "usd", count: 1 }, by: "the operator" } as const;
  const refused = await ceilings.allow(other);
  assert.ok(!refused.ok && refused.error.code === "ceiling-unknown");
});

Deno.test("a model without a price pauses a ceiling in dollars, until it has one", async () => {
  const { check, host, ceilings } = await bench("day=5usd+1usd");
  const { stop } = await check("new-model");
  assert.equal(stop?.code, "ceiling-unpriced");
  assert.match(stop.message, /"new-model" has no price, must have one in .*prices\.yaml/);
  await host.files.write(PATHS.pricesFile, PRICES.replace("{ m:", "{ new-model:"));
  assert.equal((await check("new-model")).stop, undefined);
  ceilings.close();
});

Deno.test("unusable prices stop a ceiling in dollars, and none in tokens", async () => {
  const dollars = await bench("day=5usd");
  await dollars.host.files.write(PATHS.pricesFile, "models: 3");
  assert.equal((await dollars.check()).stop?.code, "prices-invalid");
  const tokens = await bench("day=5m-tokens");
  await tokens.host.files.write(PATHS.pricesFile, "models: 3");
  assert.deepEqual(await tokens.check(), { notices: [] });
});

Deno.test("a damaged file of allowances counts as empty, and the log says so", async () => {
  for (const damage of ["", "[]", '{"records":[{"key":1}]}', "\0".repeat(99)]) {
    const { use, check, host, ceilings, reopen } = await bench("day=1000-tokens");
    const more = { period: "day", amount: { unit: "tokens", count: 9 }, by: "root" } as const;
    assert.ok((await ceilings.allow(more)).ok);
    use(1_000);
    assert.equal((await check()).stop, undefined);
    await host.files.write(ALLOWANCES, damage);
    const again = await reopen();
    assert.equal(host.log.of("allowances not read").length, 1);
    assert.equal((await again.check()).stop?.code, "ceiling-reached");
    again.ceilings.close();
  }
});

Deno.test("an allowance that the disk refuses does not count", async () => {
  const { use, check, host, ceilings } = await bench("day=1000-tokens");
  use(1_000);
  const write = host.files.write;
  host.files.write = () => Promise.reject(new Error("no space left"));
  const more = { period: "day", amount: { unit: "tokens", count: 9 }, by: "root" } as const;
  const refused = await ceilings.allow(more);
  assert.ok(!refused.ok && refused.error.code === "allowance-not-stored");
  host.files.write = write;
  assert.equal((await check()).stop?.code, "ceiling-reached");
  ceilings.close();
});

/** Publishes that all agents together have reached the ceiling of the host, or not. */
async function publish({ files, clock }: MemoryHost, spent: number): Promise<void> {
  const [since, until] = [NOON - 12 * HOUR, NOON + 12 * HOUR];
  const level = spent < 50 ? "below" : "reached";
  const amounts = { unit: "usd", ceiling: 50, limit: 50, spent, owner_left: 0 } as const;
  await files.ensureDir(PATHS.state);
  await files.write(
    PATHS.hostCeilings,
    printHostCeilings({
      summed_at: clock.now(),
      ceilings: [{
        period: "day",
        ...amounts,
        level,
        is_minimum: false,
        unpriced: [],
        since,
        until,
      }],
    }),
  );
}

Deno.test("the ceiling of the host pauses an agent until the host allows more", async () => {
  const { check, paused, host, ceilings } = await bench("day=1000-tokens");
  await publish(host, 50);
  assert.equal((await check()).stop?.code, "host-ceiling-reached");
  assert.equal(paused(), "paused: ceiling of the host");
  await host.clock.advance(30_000);
  assert.equal(paused(), "paused: ceiling of the host");
  await publish(host, 10);
  await host.clock.advance(30_000);
  assert.equal(paused(), undefined);
  assert.equal((await check()).stop, undefined);
  ceilings.close();
});

Deno.test("the spending of a running turn is known until the turn ends", async () => {
  const { check, ceilings } = await bench("day=1000-tokens");
  assert.deepEqual(ceilings.running(), []);
  await check("m", 20);
  await check("m", 40);
  assert.deepEqual(ceilings.running(), [{
    model: "m",
    turnId: "t1",
    day: "2026-11-23",
    used: [{ model: "m", tokens: inputOf(40) }],
  }]);
  ceilings.turnEnded("t2");
  assert.equal(ceilings.running().length, 1);
  ceilings.turnEnded("t1");
  assert.deepEqual(ceilings.running(), []);
});
