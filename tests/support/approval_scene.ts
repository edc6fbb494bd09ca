/**
 * The real path from a call that needs approval to the person who decides: gateway, dial unit,
 * local socket, proxy, and a server that records the calls that reach it.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { openHost } from "core/os/host.ts";
import type { McpName } from "core/names.ts";
import { ok } from "core/result.ts";
import type { Gate } from "core/risk/rules.ts";
import { hang, scriptedRuntime } from "tests/fakes/runtime.ts";
import { recordingLog } from "tests/fakes/log.ts";
import {
  type CockpitReader,
  cockpitReader,
  type ShownEvent,
} from "tests/support/cockpit_reader.ts";
import { hastyClock, liveHost, startTestDial } from "tests/support/dial_fixture.ts";
import { startTestGateway, type TestGateway } from "tests/support/gateway_fixture.ts";
import { echoServer, type ProxyBench, proxyBench, type Wire } from "tests/support/mcp_proxy.ts";
import type { DialUnit } from "units/dial/app.ts";

/** The gate of the scene: `wipe` is blocked, `write` and `erase` need approval. */
export const SCENE_GATE: Gate = {
  mcp: "bench" as McpName,
  version: "1.0.0",
  reads: new Set(),
  idleStopSeconds: undefined,
  rules: new Map([["wipe", "block"], ["write", "ask"], ["erase", "ask"]]),
};

/** An approval as the cockpit returns it. */
export interface ShownApproval {
  readonly approval_id: string;
  readonly digest: string;
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly state: string;
  readonly turn_id: string | null;
  readonly is_destructive: boolean;
  readonly origin: string;
  readonly expires: number;
}

/** The scene. */
export interface ApprovalScene extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly unit: DialUnit;
  readonly cockpit: CockpitReader;
  readonly proxy: ProxyBench;
  /** The dial unit's local socket. */
  readonly socket: string;
  /** The turn that runs and does not end by itself. */
  readonly turnId: string;
  /** Names and arguments of the calls that reached the server, in order. */
  readonly executed: readonly Wire[];
  /** Disconnects the client; disposing the scene does this too. */
  leave(): Promise<void>;
  /** Replaces the rules; the next check of the gate uses them. */
  setGate(gate: Gate): void;
  /** Calls a tool; resolves with its answer. */
  call(id: number, tool: string, args?: unknown, meta?: unknown): Promise<Wire>;
  /** Notifications that the client has received. */
  readonly notices: readonly Wire[];
  /** Returns the open approvals as mia's page sees them. */
  open(): Promise<readonly ShownApproval[]>;
  /** Resolves when the page sees `count` open approvals. */
  asked(count: number): Promise<readonly ShownApproval[]>;
  decide(
    of: Pick<ShownApproval, "approval_id" | "digest">,
    decision: "approved" | "denied",
    more?: { readonly reason?: string; readonly as?: string },
  ): Promise<{ readonly status: number; readonly body: Wire }>;
}

/** Starts the scene with one running turn. */
export async function approvalScene(): Promise<ApprovalScene> {
  const gateway = await startTestGateway({ host: liveHost({ seed: 3 }) });
  const root = await Deno.makeTempDir({ prefix: "fc-" });
  const unit = await startTestDial({
    url: gateway.dialUrl,
    driver: scriptedRuntime(() => hang()),
    host: {
      ...openHost({ log: { program: "test", level: "error" } }),
      clock: hastyClock(),
      log: recordingLog(),
    },
    env: { FLEETCTL_ROOT: root },
  });
  const cockpit = cockpitReader(() => gateway.cockpitUrl);
  const turnId = await cockpit.post("work");
  await cockpit.follow(({ kind }) => kind === "turn_started");
  const socket = `${root}/home/mia/.fleetctl/dial/local.sock`;
  let gate = SCENE_GATE;
  const executed: Wire[] = [];
  const proxy = await proxyBench(async (message, connection) => {
    if (message.method === "tools/call") executed.push(message.params);
    await echoServer(message, connection);
  }, { agent: "mia", dialSocket: socket, gate: { current: () => Promise.resolve(ok(gate)) } });
  const answers = answersOf(proxy);
  let left: Promise<void> | undefined;
  const leave = () => left ??= Promise.resolve(proxy[Symbol.asyncDispose]());
  const parts = { gateway, unit, cockpit, proxy, socket, turnId, executed };
  return {
    ...parts,
    ...cockpitSide(gateway, cockpit),
    setGate: (changed) => {
      gate = changed;
    },
    ...answers,
    leave,
    async [Symbol.asyncDispose]() {
      await leave();
      await unit.close();
      await gateway[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
}

/**
 * Supports several calls at once: each message is delivered to the caller that waits for its id.
 */
function answersOf(proxy: ProxyBench): Pick<ApprovalScene, "call" | "notices"> {
  const waiting = new Map<number, (answer: Wire) => void>();
  const notices: Wire[] = [];
  const pump = async () => {
    for (;;) {
      const message = await proxy.next();
      if (message.method === undefined) waiting.get(message.id)?.(message);
      else notices.push(message);
    }
  };
  // The pump ends with the proxy; pending callers then no longer matter.
  pump().catch(() => {});
  return {
    notices,
    call: (id, tool, args = {}, meta) => {
      const answer = new Promise<Wire>((resolve) => waiting.set(id, resolve));
      const params = {
        name: tool,
        arguments: args,
        ...defined({ _meta: meta }),
      };
      void proxy.send({ jsonrpc: "2.0", id, method: "tools/call", params });
      return answer;
    },
  };
}

function cockpitSide(
  gateway: TestGateway,
  cockpit: CockpitReader,
): Pick<ApprovalScene, "open" | "asked" | "decide"> {
  const identity = (email: string) => ({ "x-user-email": email });
  const open = async () => {
    const response = await fetch(`${gateway.cockpitUrl}/api/approvals?agent=mia`, {
      headers: identity("mia@example.org"),
    });
    const { approvals } = await response.json() as { approvals: readonly ShownApproval[] };
    return approvals;
  };
  return {
    open,
    asked: async (count) => {
      let seen = 0;
      const isAsked = ({ kind }: ShownEvent) => kind === "approval_asked" && ++seen >= count;
      await cockpit.follow(isAsked);
      return await open();
    },
    decide: async (of, decision, more = {}) => {
      const response = await fetch(`${gateway.cockpitUrl}/api/approvals/decide`, {
        method: "POST",
        headers: {
          ...identity(more.as ?? "mia@example.org"),
          "content-type": "application/json",
        },
        body: JSON.stringify({
          agent: "mia",
          approval_id: of.approval_id,
          digest: of.digest,
          decision,
          ...defined({ reason: more.reason }),
        }),
      });
      return { status: response.status, body: await response.json() };
    },
  };
}
