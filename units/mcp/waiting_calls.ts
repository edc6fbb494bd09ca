/**
 * Calls that wait for a human's approval. Each approval is requested at the dial unit. Meanwhile
 * the client gets progress, so that its deadline restarts. A cancelled call withdraws its request;
 * when the client disconnects, the dial unit may keep it. A call leaves the table exactly once:
 * approved, answered, or without an answer. This module sets no deadline.
 *
 * @module
 */

import { createApprovalRequest } from "core/dial/ask_human.ts";
import { APPROVAL_LIMITS } from "core/limits/approval.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { gatePolicy, type GateReader } from "core/risk/gate_file.ts";
import { type ClientVerdict, printRefusal } from "units/mcp/client_side.ts";
import { isId, type MessageId, printMessage } from "units/mcp/message.ts";
import { isRecord } from "core/text/json_object.ts";

/** Dependencies of an approval request. */
export interface WaitingPorts {
  readonly clock: Pick<Clock, "after" | "sleep">;
  readonly log: Log;
  readonly gate: GateReader;
  readonly dialSocket: string;
  connect(path: string): Promise<ByteStream>;
}

/** Callbacks for the outcome of a call. */
export interface WaitingHandlers {
  isDestructive(tool: string): boolean;
  /** Sends a progress notification to the client. */
  onAlive(bytes: Uint8Array<ArrayBuffer>): void;
  /** The call is not made; the bytes are the answer with the reason. */
  onAnswer(bytes: Uint8Array<ArrayBuffer>): void;
  onApproved(): void;
}

/** The table. */
export interface WaitingCalls {
  has(id: MessageId): boolean;
  ask(verdict: Extract<ClientVerdict, { kind: "ask" }>, handlers: WaitingHandlers): void;
  /** The client no longer wants the answer. */
  withdraw(id: unknown): void;
  /**
   * Disconnects all requests from the dial unit; resolves when none is in progress. None is
   * withdrawn: the client may have ended in a turn that continues.
   */
  close(): Promise<void>;
}

type AskVerdict = Extract<ClientVerdict, { kind: "ask" }>;

/** Creates an empty table. */
export function createWaitingCalls(ports: WaitingPorts): WaitingCalls {
  const open = new Map<
    MessageId,
    {
      readonly stop: AbortController;
      readonly leave: AbortController;
      readonly done: Promise<void>;
    }
  >();

  async function run(
    verdict: AskVerdict,
    { stop, leave }: { readonly stop: AbortController; readonly leave: AbortController },
    handlers: WaitingHandlers,
  ) {
    const { message, call } = verdict;
    const stopProgress = sendProgress(verdict, ports.clock, handlers);
    const askHuman = createApprovalRequest({
      socket: ports.dialSocket,
      connect: ports.connect,
      policy: gatePolicy(ports.gate),
      isDestructive: handlers.isDestructive,
      signal: stop.signal,
      leave: leave.signal,
      clock: ports.clock,
      onAsked: ({ id }) => ports.log.info("approval_asked", { id, tool: call.tool }),
    });
    const allowed = await askHuman(call);
    stopProgress();
    open.delete(message.id);
    if (stop.signal.aborted || leave.signal.aborted) return;
    if (allowed.ok) return handlers.onApproved();
    ports.log.info("message_refused", { why: allowed.error.code });
    handlers.onAnswer(printRefusal(message, allowed.error));
  }

  return {
    has: (id) => open.has(id),
    ask: (verdict, handlers) => {
      const ends = { stop: new AbortController(), leave: new AbortController() };
      open.set(verdict.message.id, { ...ends, done: run(verdict, ends, handlers) });
    },
    withdraw: (id) => {
      if (isId(id)) open.get(id)?.stop.abort();
    },
    close: async () => {
      const all = [...open.values()];
      for (const { leave } of all) leave.abort();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}

/**
 * Sends progress notifications to a client that requested them, so that its own deadline restarts.
 */
function sendProgress(
  { message }: AskVerdict,
  clock: Pick<Clock, "after">,
  { onAlive }: WaitingHandlers,
): () => void {
  const meta = message.params["_meta"];
  const token = isRecord(meta) ? meta["progressToken"] : undefined;
  if (!isId(token)) return () => {};
  // Fractions, far below any number that the server will send: progress must keep increasing.
  let progress = 0;
  let stop = () => {};
  const send = () => {
    const params = {
      progressToken: token,
      progress: ++progress / 1e6,
      message: "waits for approval",
    };
    onAlive(printMessage({ jsonrpc: "2.0", method: "notifications/progress", params }));
    stop = clock.after(APPROVAL_LIMITS.progressSeconds * 1000, send);
  };
  stop = clock.after(APPROVAL_LIMITS.progressSeconds * 1000, send);
  return () => stop();
}
