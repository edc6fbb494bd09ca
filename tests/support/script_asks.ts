/**
 * Dial units in a transcript: a real local socket with real approvals, questions and usage under
 * the script's root, without programs behind them. A turn echoes its text. Ids are `ask-1`,
 * `ask-2`, … so that a line can name them.
 *
 * @module
 */

import { type Paths, pathsUnder } from "core/paths.ts";
import { openHost } from "core/os/host.ts";
import { readElicitation } from "core/questions/elicitation.ts";
import { ok } from "core/result.ts";
import { DAY_MS } from "core/text/duration.ts";
import { openCeilings } from "units/dial/ceilings.ts";
import { createConversations } from "units/dial/conversations.ts";
import { openLocalSocket } from "units/dial/local_socket.ts";
import type { LocalTurns } from "units/dial/local_turns.ts";
import { openPending, type Pending } from "units/dial/pending.ts";
import { type DialStore, openDialStore } from "units/dial/store.ts";
import { createUsageReader } from "units/dial/usage_reader.ts";
import { memoryTurnFiles } from "tests/support/turn_files.ts";

/** The approvals and questions of one script's dial units. */
export interface ScriptAsks {
  /** Adds a call of an agent that waits for approval. */
  ask(agent: string, mcp: string, tool: string, given: string): Promise<void>;
  /** Adds a turn of an agent that ended so many days ago; `report` is the payload of its usage. */
  used(agent: string, daysAgo: string, report: string | undefined): Promise<void>;
  /**
   * Adds a question of an MCP, or of the agent's program if the name is empty: with a schema, or
   * with an address.
   */
  question(agent: string, mcp: string, message: string, schema: string): Promise<void>;
  /** Withdraws the questions of an agent, as when its program ends. */
  withdraw(agent: string): Promise<void>;
  close(): Promise<void>;
}

/** Prepares the sockets; each is created at its first use. */
export function scriptAsks(root: string): ScriptAsks {
  return new AsksOfRoot(root);
}

interface AskUnit {
  readonly pending: Pending;
  readonly store: DialStore;
  close(): Promise<void>;
}

class AsksOfRoot implements ScriptAsks {
  readonly #paths: Paths;
  readonly #host = openHost({ log: { program: "script", level: "error" } });
  readonly #units = new Map<string, AskUnit>();
  readonly #withdraw: (() => void)[] = [];
  #count = 0;

  constructor(root: string) {
    this.#paths = pathsUnder(root);
  }

  async ask(agent: string, mcp: string, tool: string, given: string): Promise<void> {
    const { pending } = await this.#unitOf(agent);
    const asked = await pending.approvals.ask({
      mcp,
      tool,
      version: "1.0.0",
      arguments: JSON.parse(given),
      origin: { kind: "direct" },
    }, { policy: "p", isDestructive: true });
    if (!asked.ok) throw new Error(asked.error.message);
    this.#withdraw.push(asked.value.withdraw);
  }

  async used(agent: string, daysAgo: string, report: string | undefined): Promise<void> {
    const { store } = await this.#unitOf(agent);
    const turnId = `turn-${++this.#count}`;
    const event = (kind: string, payload: Readonly<Record<string, unknown>>) => ({
      at: this.#host.clock.now() - Number(daysAgo) * DAY_MS,
      turnId,
      kind,
      payload,
    });
    store.accept({ turnId, text: "hi", origin: "owner:someone" });
    store.append([event("turn_started", {})], { turnId, to: "running" });
    if (report !== undefined) store.append([event("usage", JSON.parse(report))]);
    store.append([event("turn_ended", { outcome: "completed" })], { turnId, to: "ended" });
  }

  async question(agent: string, mcp: string, message: string, schema: string): Promise<void> {
    const { pending } = await this.#unitOf(agent);
    const form = readElicitation({
      mcp: mcp === "" ? null : mcp,
      message,
      ...(schema.startsWith("https:")
        ? { mode: "url", url: schema, schema: undefined }
        : { mode: "form", url: undefined, schema: JSON.parse(schema) }),
    });
    if (!form.ok) throw new Error(form.error);
    const asked = pending.personQuestions.ask(form.value);
    if (!asked.ok) throw new Error(asked.error.message);
    this.#withdraw.push(asked.value.withdraw);
  }

  async withdraw(agent: string): Promise<void> {
    (await this.#unitOf(agent)).pending.personQuestions.withdrawAll();
  }

  async close(): Promise<void> {
    for (const withdraw of this.#withdraw) withdraw();
    for (const unit of this.#units.values()) await unit.close();
  }

  async #unitOf(agent: string): Promise<AskUnit> {
    const there = this.#units.get(agent);
    if (there !== undefined) return there;
    const { databases, clock, log, random, sockets, users } = this.#host;
    const folder = this.#paths.dialState(agent);
    await Deno.mkdir(folder, { recursive: true });
    const store = await openDialStore(databases, `${folder}/dial.db`, "e");
    const pending = openPending({
      agent,
      own: store,
      clock,
      log,
      random: { ...random, uuid: () => `ask-${++this.#count}` },
      onStored: () => {},
      onWaiting: () => {},
    });
    const usage = createUsageReader({
      ...this.#host,
      folder,
      open: new Map([["dial.db", store.usage]]),
    });
    const ceilings = await openCeilings({
      ...this.#host,
      agent,
      paths: this.#paths,
      folder,
      usage,
      approvals: pending.approvals,
      onPaused: () => {},
    });
    const socket = await openLocalSocket(this.#paths.dialSocket(agent), {
      agent,
      sockets,
      users,
      approvals: pending.approvals,
      personQuestions: pending.personQuestions,
      usage,
      ceilings,
      conversations: createConversations({
        ...this.#host,
        config: { agent },
        options: {},
        folder,
        runtime: { leave: async () => {} },
        connections: [{ store }],
      }),
      log,
      questions: {
        sendMessage: noGateway,
        agentNames: noGateway,
        sendToOwner: noGateway,
        answered: () => false,
        resend: () => {},
      },
      mcps: { listed: () => () => {} },
      ownerFiles: { offer: noGateway },
      replacement: { prepare: async () => ({ isBusy: false }) },
      isRootless: true,
      turns: { begin: echo, preview: () => {} },
      openTurnFiles: memoryTurnFiles(),
    });
    const close = async () => {
      await socket.close();
      store.close();
    };
    const unit = { pending, store, close };
    this.#units.set(agent, unit);
    return unit;
  }
}

function noGateway(): Promise<never> {
  return Promise.reject(new Error("no gateway in scripts"));
}

/** Runs a turn that echoes its text. */
const echo: LocalTurns["begin"] = ({ text, by }, show) => {
  const tell = (kind: string, payload: Readonly<Record<string, unknown>>) =>
    show({ type: "turn_event", kind, payload });
  queueMicrotask(() => {
    tell("turn_asked", { text, by });
    tell("message", { text: `heard ${text} from ${by}` });
    tell("turn_ended", { outcome: "completed" });
  });
  return ok({ turnId: "turn-1", cancel: () => Promise.resolve(), unwatch: () => {} });
};
