/**
 * The spend ceilings of one agent. Compares its spending with them before each turn, and before
 * each model call of the built-in runtime. At a ceiling the turn waits while the owner may allow
 * more; otherwise it ends. No running program is killed.
 *
 * @module
 */

import { HOST_SUM_SECONDS } from "core/dial/host_ceilings.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { DIRECT } from "core/mcp/call_origin.ts";
import type { Paths } from "core/paths.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { HOUR_MS } from "core/text/duration.ts";
import {
  type Amount,
  amountText,
  type Ceiling,
  ceilingKey,
  type Period,
  printCeilings,
  type Stretch,
  stretchOf,
} from "core/usage/ceiling.ts";
import { createPriceReader, type PriceTable } from "core/usage/prices.ts";
import {
  type CeilingState,
  type ModelSpend,
  ownerMore,
  stateOfCeiling,
  stoppingCeiling,
} from "core/usage/spend.ts";
import { SPEND_MORE } from "core/usage/spend_card.ts";
import { type AllowanceFile, openAllowanceFile } from "units/dial/allowance_file.ts";
import type { Approvals } from "units/dial/approvals.ts";
import {
  cardArguments,
  ceilingRefusal,
  HOST_PAUSED,
  nearText,
  noSuchCeiling,
  pausedText,
} from "units/dial/ceiling_words.ts";
import { readCeilingFile } from "units/dial/ceiling_file.ts";
import { type HostCeilings, openHostCeilings } from "units/dial/host_ceilings.ts";
import { type RunningSpend, type RunningTurn, spendsOf } from "units/dial/running_spend.ts";
import type { UsageReader } from "units/dial/usage_reader.ts";
import type { UsageSums } from "units/dial/usage_table.ts";

/** May the agent use its model? */
export interface SpendAnswer {
  /** Warnings that are due now. */
  readonly notices: readonly string[];
  /** Why not. */
  readonly stop?: Refusal;
}

/** The ceilings of one agent. */
export interface Ceilings {
  /** Answers at once, or when the owner has decided. Aborting `signal` withdraws the card. */
  check(running: RunningSpend | undefined, signal: AbortSignal): Promise<SpendAnswer>;
  states(): Promise<Result<readonly CeilingState[]>>;
  /** What the running turns have used so far, as far as their runtime has reported it. */
  running(): readonly RunningTurn[];
  /** Forgets what a turn has used: its end has stored it. */
  turnEnded(turnId: string): void;
  /** Stops the timers. */
  close(): void;
  /** Allows more in the current period of a ceiling. */
  allow(more: { readonly period: Period; readonly amount: Amount; readonly by: string }): Promise<
    Result<CeilingState>
  >;
}

/** Dependencies of the ceilings. */
export interface CeilingDeps {
  readonly agent: string;
  /** Reads the agent's ceilings, which may change at any time. */
  readonly readCeilings: () => Promise<Result<readonly Ceiling[]>>;
  readonly host: HostCeilings;
  readonly usage: UsageReader;
  readonly readPrices: () => Promise<Result<PriceTable>>;
  readonly allowances: AllowanceFile;
  readonly approvals: Pick<Approvals, "ask">;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with the reason why the agent is paused; undefined when it no longer is. */
  readonly onPaused: (reason: string | undefined) => void;
}

/** How often a turn that waits looks whether its ceiling has changed. */
const LOOK_SECONDS = 5;
/** Version in the card's approval: fleetctl itself requests it, not an MCP. */
const CARD_VERSION = "fleetctl";

/** Opens the ceilings of an agent and those of its host. */
export async function openCeilings(
  deps: Omit<CeilingDeps, "readCeilings" | "host" | "readPrices" | "allowances"> & {
    readonly files: Pick<Files, "readText" | "write">;
    readonly paths: Paths;
    readonly folder: string;
  },
): Promise<Ceilings> {
  const { agent, files, paths, folder, log } = deps;
  return new AgentCeilings({
    ...deps,
    readCeilings: () => readCeilingFile(files, paths.agentCeiling(agent), agent),
    host: openHostCeilings({ ...deps, path: paths.hostCeilings }),
    readPrices: createPriceReader(files, paths),
    allowances: await openAllowanceFile({ files, log, path: `${folder}/allowances.json` }),
  });
}

class AgentCeilings implements Ceilings {
  readonly #deps: CeilingDeps;
  #stopTimer = () => {};
  /** What the running turns have used, as their last checks reported it. */
  readonly #running = new Map<string, RunningSpend>();
  /** Wakes the turns that wait, because a person allowed more. */
  #changed = Promise.withResolvers<void>();

  constructor(deps: CeilingDeps) {
    this.#deps = deps;
  }

  async check(running: RunningSpend | undefined, signal: AbortSignal): Promise<SpendAnswer> {
    if (running !== undefined) this.#running.set(running.turnId, running);
    while (!signal.aborted) {
      const states = await this.#statesWith(running);
      if (!states.ok) return { notices: [], stop: states.error };
      const stopping = stoppingCeiling(states.value);
      if (stopping === undefined) {
        const stop = await this.#deps.host.check(signal);
        if (stop !== undefined) return { notices: [], stop: this.#pauseForHost(stop) };
        this.#resume();
        return { notices: await this.#warn(states.value) };
      }
      const again = await this.#askOwner(stopping, signal);
      if (!again) return { notices: [], stop: this.#pause(stopping) };
    }
    return { notices: [], stop: withdrawn() };
  }

  states(): Promise<Result<readonly CeilingState[]>> {
    return this.#statesWith(undefined);
  }

  async allow(
    { period, amount, by }: Parameters<Ceilings["allow"]>[0],
  ): Promise<Result<CeilingState>> {
    const { agent, readCeilings, log } = this.#deps;
    const { unit, count } = amount;
    const ceilings = await readCeilings();
    if (!ceilings.ok) return ceilings;
    const ceiling = ceilings.value.find((each) => each.period === period && each.unit === unit);
    if (ceiling === undefined) return err(noSuchCeiling(agent, { period, unit }));
    const stored = await this.#add(ceiling, { more: count, byOwner: 0 });
    if (!stored.ok) return stored;
    log.info("more spending allowed", { by, more: amountText(amount), period });
    const states = await this.states();
    if (!states.ok) return states;
    if (stoppingCeiling(states.value) === undefined) this.#resume();
    const key = ceilingKey(ceiling);
    const state = states.value.find((each) => ceilingKey(each.ceiling) === key);
    return state === undefined ? err(noSuchCeiling(agent, { period, unit })) : ok(state);
  }

  async #statesWith(
    running: RunningSpend | undefined,
  ): Promise<Result<readonly CeilingState[]>> {
    const { readCeilings, usage, readPrices, allowances, clock } = this.#deps;
    const now = clock.now();
    const ceilings = await readCeilings();
    if (!ceilings.ok) return ceilings;
    const prices = ceilings.value.some(({ unit }) => unit === "usd")
      ? await readPrices()
      : ok(new Map() as PriceTable);
    if (!prices.ok) return prices;
    const states: CeilingState[] = [];
    for (const ceiling of ceilings.value) {
      const stretch = stretchOf(ceiling.period, now);
      const sums = await usage.sum(stretch);
      if (!sums.ok) return sums;
      states.push(stateOfCeiling(ceiling, {
        now,
        prices: prices.value,
        allowances: allowances.current(now),
        model: running?.model,
        spendingOf: () => spendingOf(sums.value, running, now),
      }));
    }
    return ok(states);
  }

  /** Stores what was allowed, then wakes the turns that wait. */
  async #add(
    ceiling: Ceiling,
    { more, byOwner }: { readonly more: number; readonly byOwner: number },
  ): Promise<Result<void>> {
    const { allowances, clock } = this.#deps;
    const record = this.#recordOf(ceiling, stretchOf(ceiling.period, clock.now()));
    const stored = await allowances.put({
      ...record,
      more: record.more + more,
      byOwner: record.byOwner + byOwner,
      isWarned: false,
    }, clock.now());
    if (stored.ok) {
      this.#changed.resolve();
      this.#changed = Promise.withResolvers<void>();
    }
    return stored;
  }

  #recordOf(ceiling: Ceiling, { since }: Stretch) {
    const { allowances, clock } = this.#deps;
    const key = ceilingKey(ceiling);
    return allowances.current(clock.now()).find((each) =>
      each.key === key && each.since === since
    ) ??
      { key, since, more: 0, byOwner: 0, isWarned: false };
  }

  /** Returns the warnings of ceilings that have come near, once for each period. */
  async #warn(states: readonly CeilingState[]): Promise<readonly string[]> {
    const { allowances, clock } = this.#deps;
    const notices: string[] = [];
    for (const state of states) {
      const record = this.#recordOf(state.ceiling, state.stretch);
      if (state.level !== "near" || record.isWarned) continue;
      // A warning that cannot be stored is shown again.
      await allowances.put({ ...record, isWarned: true }, clock.now());
      notices.push(nearText(state));
    }
    return notices;
  }

  /** Shows the card, if the owner may allow more. Returns whether to compare again. */
  async #askOwner(state: CeilingState, signal: AbortSignal): Promise<boolean> {
    const { approvals, clock, log } = this.#deps;
    const { ceiling, stretch } = state;
    const more = ownerMore(state);
    if (more === undefined) return false;
    const changed = this.#changed.promise;
    const key = ceilingKey(ceiling);
    const call = { mcp: "", version: CARD_VERSION, tool: SPEND_MORE, origin: DIRECT };
    const card = await approvals.ask({ ...call, arguments: cardArguments(state, more) }, {
      policy: `ceiling ${key} ${stretch.since}`,
      isDestructive: false,
    });
    if (!card.ok) return false;
    const { approval, outcome, delivered, use, withdraw } = card.value;
    const stopWaiting = Promise.withResolvers<"changed">();
    const onAbort = () => stopWaiting.resolve("changed");
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    const stopTimer = at(clock, stretch.until, onAbort);
    const stopLooking = this.#onceChanged(ceiling, onAbort);
    changed.then(onAbort);
    try {
      const found = await Promise.race([outcome, stopWaiting.promise]);
      if (found === "changed") return true;
      const stored = delivered();
      if (!stored.ok || found.kind !== "approved" || !use(approval.digest).ok) return false;
      log.info("more spending allowed", { by: found.verdict.by, period: ceiling.period });
      return (await this.#add(ceiling, { more, byOwner: more })).ok;
    } finally {
      stopTimer();
      stopLooking();
      signal.removeEventListener("abort", onAbort);
      withdraw();
    }
  }

  #pause(state: CeilingState): Refusal {
    const { agent, log, onPaused } = this.#deps;
    const why = ceilingRefusal(agent, state);
    log.warning("paused by a ceiling", { code: why.code, key: ceilingKey(state.ceiling) });
    onPaused(pausedText(state));
    this.#resumeWhen(HOST_SUM_SECONDS, async () => {
      const states = await this.states();
      return states.ok && stoppingCeiling(states.value) === undefined;
    });
    return why;
  }

  /** Pauses the agent until the host's ceilings allow more. */
  #pauseForHost(why: Refusal): Refusal {
    const { log, onPaused, host } = this.#deps;
    log.warning("paused by a ceiling of the host", { code: why.code });
    onPaused(HOST_PAUSED);
    this.#resumeWhen(HOST_SUM_SECONDS, async () => await host.look() === undefined);
    return why;
  }

  /** Looks again and again whether the agent may go on. */
  #resumeWhen(seconds: number, mayGoOn: () => Promise<boolean>): void {
    this.#stopTimer();
    this.#stopTimer = this.#every(seconds, async () => {
      const isOver = await mayGoOn();
      if (isOver) this.#deps.onPaused(undefined);
      return isOver;
    });
  }

  /** Calls `run` once when this ceiling is changed or removed. Returns a function that stops it. */
  #onceChanged(ceiling: Ceiling, run: () => void): () => void {
    return this.#every(LOOK_SECONDS, async () => {
      const ceilings = await this.#deps.readCeilings();
      const text = printCeilings([ceiling]);
      const isThere = ceilings.ok && ceilings.value.some((one) => printCeilings([one]) === text);
      if (!isThere) run();
      return !isThere;
    });
  }

  /** Calls `run` after each wait until it returns true. Returns a function that stops it. */
  #every(seconds: number, run: () => Promise<boolean>): () => void {
    let isStopped = false;
    let stopWait = () => {};
    const wait = () => {
      stopWait = this.#deps.clock.after(seconds * 1_000, async () => {
        if (!await run() && !isStopped) wait();
      });
    };
    wait();
    return () => {
      isStopped = true;
      stopWait();
    };
  }

  running(): readonly RunningTurn[] {
    const day = dayOf(this.#deps.clock.now());
    return [...this.#running.values()].map((turn) => ({ ...turn, day }));
  }

  turnEnded(turnId: string): void {
    this.#running.delete(turnId);
    this.#running.delete("");
  }

  close(): void {
    this.#stopTimer();
  }

  #resume(): void {
    this.#stopTimer();
    this.#stopTimer = () => {};
    this.#deps.onPaused(undefined);
  }
}

/**
 * Calls `run` at a time of the wall clock; returns a function that stops the wait. Checks each
 * hour: the clock may be set, and a timer of more than 24 days would fire at once.
 */
function at(clock: Clock, time: number, run: () => void): () => void {
  let stop = () => {};
  const look = () => {
    const left = time - clock.now();
    if (left <= 0) run();
    else stop = clock.after(Math.min(left, HOUR_MS), look);
  };
  look();
  return () => stop();
}

/** Adds the running turn to what the ended turns spent. */
function spendingOf({ days, models }: UsageSums, running: RunningSpend | undefined, now: number) {
  const ended = models.map((of): ModelSpend => ({
    model: of.model,
    day: of.day,
    tokens: {
      input: of.input_tokens,
      output: of.output_tokens,
      cachedRead: of.cached_read_tokens,
      cachedWrite: of.cached_write_tokens,
    },
    largestInput: of.largest_input_tokens,
  }));
  const isPartial = days.some((of) => of.unknown_turns + of.partial_turns > 0);
  if (running === undefined) return { models: ended, isPartial };
  return { models: [...ended, ...spendsOf(running, dayOf(now))], isPartial };
}

function dayOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

function withdrawn() {
  return refusal("ceiling-reached", "Cannot use the model: the turn no longer waits to spend more");
}
