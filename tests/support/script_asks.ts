/**
 * Pending approvals in a transcript: a real local socket with real approvals under the script's
 * root, without programs behind the calls. A turn echoes its text. Ids are `ask-1`, `ask-2`, … so
 * that a line can name them.
 *
 * @module
 */

import { pathsUnder } from "core/paths.ts";
import { openHost } from "core/os/host.ts";
import { ok } from "core/result.ts";
import { type Approvals, openApprovals } from "units/dial/approvals.ts";
import { openLocalSocket } from "units/dial/local_socket.ts";
import { openDialStore } from "units/dial/store.ts";

/** The approvals of one script's dial units. */
export interface ScriptAsks {
  /** Adds a call of an agent that waits for approval. */
  ask(agent: string, mcp: string, tool: string, given: string): Promise<void>;
  close(): Promise<void>;
}

/** Prepares the sockets; each is created at its first use. */
export function scriptAsks(root: string): ScriptAsks {
  const paths = pathsUnder(root);
  const host = openHost({ log: { program: "script", level: "error" } });
  const units = new Map<string, { approvals: Approvals; close(): Promise<void> }>();
  const closers: (() => void)[] = [];
  let count = 0;

  async function unitOf(agent: string) {
    const there = units.get(agent);
    if (there !== undefined) return there;
    await Deno.mkdir(paths.dialState(agent), { recursive: true });
    const store = await openDialStore(host.databases, `${paths.dialState(agent)}/dial.db`, "e");
    const approvals = openApprovals({
      agent,
      store,
      clock: host.clock,
      log: host.log,
      random: { ...host.random, uuid: () => `ask-${++count}` },
      onStored: () => {},
      onWaiting: () => {},
    });
    const socket = await openLocalSocket(paths.dialSocket(agent), {
      agent,
      sockets: host.sockets,
      users: host.users,
      approvals,
      log: host.log,
      questions: {
        sendMessage: () => Promise.reject(new Error("no gateway in scripts")),
        agentNames: () => Promise.reject(new Error("no gateway in scripts")),
        sendToOwner: () => Promise.reject(new Error("no gateway in scripts")),
        answered: () => false,
        resend: () => {},
      },
      mcps: { listed: () => () => {} },
      ownerFiles: { offer: () => Promise.reject(new Error("no gateway in scripts")) },
      isRootless: true,
      turns: {
        begin: ({ text, by }, show) => {
          const tell = (kind: string, payload: Readonly<Record<string, unknown>>) =>
            show({ type: "turn_event", kind, payload });
          queueMicrotask(() => {
            tell("turn_asked", { text, by });
            tell("message", { text: `heard ${text} from ${by}` });
            tell("turn_ended", { outcome: "completed" });
          });
          return ok({ turnId: "turn-1", cancel: () => Promise.resolve(), unwatch: () => {} });
        },
        preview: () => {},
      },
    });
    const close = async () => {
      await socket.close();
      store.close();
    };
    const unit = { approvals, close };
    units.set(agent, unit);
    return unit;
  }

  return {
    async ask(agent, mcp, tool, given) {
      const { approvals } = await unitOf(agent);
      const asked = await approvals.ask({
        mcp,
        tool,
        version: "1.0.0",
        arguments: JSON.parse(given),
        origin: { kind: "direct" },
      }, { policy: "p", isDestructive: true });
      if (!asked.ok) throw new Error(asked.error.message);
      closers.push(asked.value.withdraw);
    },
    async close() {
      for (const withdraw of closers) withdraw();
      for (const unit of units.values()) await unit.close();
    },
  };
}
