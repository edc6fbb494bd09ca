/**
 * `fleetctl-mcp proxy`: forwards messages between a client's stdio and the socket of one MCP. It
 * gates calls, hides blocked tools, survives the death of the server, and answers requests that
 * would otherwise stay unanswered. All effects go through ports; it serves both protocol revisions.
 * ADR 0020 explains why it parses messages itself.
 *
 * | link       | event                     | next                                             |
 * |------------|---------------------------|--------------------------------------------------|
 * | none       | request of the client     | connect (the server starts), replay, forward     |
 * | none       | notification or response  | dropped: no server to receive it                 |
 * | connected  | server ends               | none; every open request is answered by an error |
 * | connected  | nothing open, idle        | none; the server stops                           |
 *
 * @module
 */

import { errorText, type Refusal, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import { callLine } from "units/mcp/call_line.ts";
import { type ClientVerdict, judgeClientFrame, printRefusal } from "units/mcp/client_side.ts";
import { unreviewedRefusal } from "core/risk/accepted.ts";
import { refusedStart, requestExpired, serverEnded, toolsUnlisted } from "units/mcp/endings.ts";
import { serverGarbled, takeGarbled } from "units/mcp/garbled.ts";
import { createHandshake, replayHandshake } from "units/mcp/handshake.ts";
import { changedAnswer, type ListReaders, mayChange, readList } from "units/mcp/listed.ts";
import { createIdleWatch, type IdleWatch } from "units/mcp/idle.ts";
import { createLineFramer, type Frame } from "units/mcp/line_framer.ts";
import {
  type Message,
  type MessageId,
  printError,
  printMessage,
  printRequest,
  RPC_CODES,
} from "units/mcp/message.ts";
import { createPendingTable, PENDING_MAX } from "units/mcp/pending.ts";
import type { Pending, PendingTable } from "units/mcp/pending.ts";
import { isOwnId } from "units/mcp/own_requests.ts";
import type { ProxyPorts, ProxyTarget } from "units/mcp/proxy_ports.ts";
import { createShownTools } from "units/mcp/shown_tools.ts";
import { type LinkEnd, openLink, type ServerLink } from "units/mcp/server_link.ts";
import { printOversize, type ServerLine } from "units/mcp/server_side.ts";
import { createToolWatch } from "units/mcp/tool_watch.ts";
import { createUnlistedCalls, type UnlistedCalls } from "units/mcp/unlisted_calls.ts";
import { createWaitingCalls, type WaitingCalls } from "units/mcp/waiting_calls.ts";

type Request = Extract<Message, { kind: "request" }>;

/** Serves one client until its input ends; then the server's connection is closed. */
export async function runProxy(target: ProxyTarget, ports: ProxyPorts): Promise<void> {
  const session = new ProxySession(target, ports);
  const framer = createLineFramer(MCP_LIMITS.messageBytesMax);
  try {
    const { client } = ports;
    for (let chunk = await client.read(); chunk !== undefined; chunk = await client.read()) {
      for (const frame of framer.push(chunk)) await session.onClientFrame(frame);
    }
  } catch (thrown) {
    ports.log.warning("client_lost", { mcp: target.mcp, error: errorText(thrown) });
  } finally {
    await session.close();
  }
}

/** One client, and its current server. */
class ProxySession {
  readonly #target: ProxyTarget;
  readonly #ports: ProxyPorts;
  readonly #log: Log;
  readonly #handshake = createHandshake();
  readonly #pending: PendingTable;
  /** Requests of the server to the client; their answers belong to this link only. */
  readonly #serverRequests = new Set<MessageId>();
  #link: ServerLink | undefined;
  #opening: Promise<unknown> | undefined;
  readonly #waiting: WaitingCalls;
  readonly #unlisted: UnlistedCalls;
  readonly #shown = createShownTools();
  readonly #watch = createToolWatch();
  readonly #readers: ListReaders;
  #idleMs: number | undefined;
  readonly #idle: IdleWatch;

  constructor(target: ProxyTarget, ports: ProxyPorts) {
    this.#target = target;
    this.#ports = ports;
    this.#log = ports.log.with({ mcp: target.mcp });
    this.#idle = createIdleWatch(ports.clock, () => this.#onIdle());
    this.#pending = createPendingTable(ports.clock, (entry) => this.#onExpired(entry));
    this.#waiting = createWaitingCalls(ports);
    this.#readers = { target, watch: this.#watch, shown: this.#shown, log: this.#log };
    this.#unlisted = createUnlistedCalls(ports.clock, async (value) => {
      const gate = await ports.gate.current();
      if (gate.ok) await readList(this.#readers, gate.value, value);
    });
  }

  async #writeClient(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      await this.#ports.client.write(bytes);
    } catch (thrown) {
      // The client has closed its end, which ends the session; it could not read any answer.
      this.#log.debug("client_gone", { error: errorText(thrown) });
    }
  }

  async onClientFrame(frame: Frame): Promise<void> {
    const gate = await this.#ports.gate.current();
    if (gate.ok) this.#idleMs = (gate.value.idleStopSeconds ?? 0) * 1000 || undefined;
    const verdict: ClientVerdict = judgeClientFrame(frame, this.#target, gate);
    if (verdict.kind === "drop") return this.#log.warning("message_dropped", { why: verdict.why });
    if (verdict.kind === "answer") {
      this.#log.info("message_refused", { why: verdict.why });
      return await this.#writeClient(verdict.bytes);
    }
    if (verdict.kind === "ask") return this.#ask(verdict);
    const { message, bytes } = verdict;
    if (message.kind === "request") return await this.#forwardRequest(message, bytes);
    if (message.kind === "notification") this.#onNotification(message);
    else if (!this.#onReply(message.id)) return;
    if (this.#link === undefined) return;
    await this.#writeServer(this.#link, bytes);
  }

  #onNotification(message: Extract<Message, { kind: "notification" }>): void {
    this.#handshake.onForwarded(message);
    const id = message.params["requestId"];
    if (message.method !== "notifications/cancelled") return;
    this.#waiting.withdraw(id);
    this.#unlisted.withdraw(id);
    // The server does not answer a cancelled request.
    if (this.#isKnown(id)) this.#pending.take(id);
  }

  #onReply(id: MessageId): boolean {
    const isOpen = this.#serverRequests.delete(id);
    if (this.#serverRequests.size === 0) this.#pending.resume();
    return isOpen;
  }

  #isKnown(id: unknown): id is MessageId {
    return (typeof id === "string" || typeof id === "number") && this.#pending.has(id);
  }

  async #forwardRequest(request: Request, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const refused = this.#rejectionOf(request);
    if (refused !== undefined) {
      return await this.#writeClient(printError(request.id, RPC_CODES.invalidRequest, refused));
    }
    // A tool that is not accepted must not start a server.
    const known = await this.#reviewState(request);
    if (!known.ok) return await this.#refuse(request, known.error);
    if (known.value === "as-accepted" && this.#link !== undefined && this.#opening === undefined) {
      this.#idle.interrupt();
      return await this.#send(this.#link, request, bytes);
    }
    const ready = await this.#readyServer(request);
    if (!ready.ok) {
      this.#log.warning("mcp_unreachable", { why: ready.error.message });
      return await this.#writeClient(
        printError(request.id, RPC_CODES.connectionClosed, ready.error),
      );
    }
    this.#idle.interrupt();
    const state = await this.#reviewState(request);
    if (state.ok && state.value === "as-accepted") {
      return await this.#send(ready.value, request, bytes);
    }
    // Not awaited: the client must still be read, because the server may send it requests first.
    void this.#sendListed(ready.value, request, bytes);
  }

  async #send(to: ServerLink, request: Request, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#handshake.onForwarded(request);
    this.#pending.add(request);
    if (request.method === "tools/call") this.#log.info("call", callLine(request.params));
    await this.#writeServer(to, bytes);
  }

  async #sendListed(to: ServerLink, request: Request, bytes: Uint8Array<ArrayBuffer>) {
    const { mcp } = this.#target;
    const listed = await this.#unlisted.wait(request, (own) => this.#writeServer(to, own));
    if (listed === undefined) return this.#armIdle();
    const tool = String(request.params["name"]);
    if (!listed.ok) {
      const refused = this.#link === to ? undefined : await refusedStart(this.#ports);
      await this.#refuse(request, refused ?? toolsUnlisted(mcp, tool, listed.error));
    } else if (this.#link !== to) await this.#refuse(request, serverEnded(mcp, "it ended"));
    else {
      const state = await this.#reviewState(request);
      if (state.ok && state.value === "as-accepted") {
        return await this.#send(to, request, bytes);
      }
      const call = { ...this.#target, tool };
      await this.#refuse(request, state.ok ? unreviewedRefusal(call, "unlisted") : state.error);
    }
    this.#armIdle();
  }

  async #refuse(request: Request, reason: Refusal): Promise<void> {
    this.#log.info("message_refused", { why: reason.code });
    await this.#writeClient(printRefusal(request, reason));
  }

  /** Returns the review state of a call's tool, or the refusal of the call. */
  async #reviewState(request: Request): Promise<Result<"as-accepted" | "unknown">> {
    if (request.method !== "tools/call") return ok("as-accepted");
    const gate = await this.#ports.gate.current();
    if (!gate.ok) return gate;
    const tool = String(request.params["name"]);
    const state = this.#watch.judge(gate.value, tool);
    if (state === "as-accepted" || state === "unknown") return ok(state);
    return err(unreviewedRefusal({ ...this.#target, tool }, state));
  }

  #rejectionOf(request: Request): Refusal | undefined {
    const { id } = request;
    if ([this.#pending, this.#waiting, this.#unlisted].some((one) => one.has(id)) || isOwnId(id)) {
      return refusal(
        "id-in-use",
        "Cannot forward the request: a request with this id is still open",
      );
    }
    return this.#pending.size + this.#unlisted.size >= PENDING_MAX
      ? refusal("too-many-requests", `Cannot forward the request: ${PENDING_MAX} are still open`)
      : undefined;
  }

  /** Requests approval. Other messages continue meanwhile, and the call has no deadline. */
  #ask(verdict: Extract<ClientVerdict, { kind: "ask" }>): void {
    const { message } = verdict;
    const refused = this.#rejectionOf(message);
    if (refused !== undefined) {
      return void this.#writeClient(printError(message.id, RPC_CODES.invalidRequest, refused));
    }
    this.#waiting.ask(verdict, {
      isDestructive: (tool) => this.#shown.isDestructive(tool),
      onAlive: (bytes) => void this.#writeClient(bytes),
      onAnswer: (bytes) => void this.#writeClient(bytes),
      // Printed from the parsed form: what the approver saw, without duplicate keys.
      onApproved: () => void this.#forwardRequest(message, printRequest(message)),
    });
  }

  async #writeServer(to: ServerLink, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    try {
      await to.write(bytes);
    } catch (thrown) {
      // The reader of the link detects its end and answers the open requests.
      this.#log.debug("server_gone", { error: errorText(thrown) });
    }
  }

  /** Runs one connect at a time: an approved call must not start a second server. */
  async #readyServer(request: Request): Promise<Result<ServerLink>> {
    while (this.#opening !== undefined) await this.#opening;
    if (this.#link !== undefined) return ok(this.#link);
    const opening = this.#openServer(request);
    this.#opening = opening;
    try {
      return await opening;
    } finally {
      this.#opening = undefined;
    }
  }

  async #openServer(request: Request): Promise<Result<ServerLink>> {
    const opened = await openLink(this.#target, this.#ports);
    if (!opened.ok) return opened;
    const link = this.#link = opened.value;
    this.#watch.forget();
    link.listen({
      onLine: (line) => this.#onServerLine(line),
      onEnd: (end) => void this.#onServerEnd(link, end),
    });
    if (request.method === "initialize") return opened;
    const replayed = await replayHandshake(
      this.#handshake,
      this.#unlisted.own,
      (bytes) => this.#writeServer(link, bytes),
    );
    if (replayed.ok) return opened;
    this.#dropLink();
    const why = `its new server is unusable: ${replayed.error}`;
    return err(await refusedStart(this.#ports) ?? serverEnded(this.#target.mcp, why));
  }

  async #onServerLine(line: ServerLine): Promise<void> {
    if (line.kind === "garbage") {
      this.#log.warning("server_garbage", { why: line.why, bytes: line.size });
      for (const entry of takeGarbled(line, this.#pending, this.#unlisted)) {
        const reason = serverGarbled(this.#target.mcp, entry, line.why);
        await this.#writeClient(printError(entry.id, RPC_CODES.internal, reason));
      }
      return this.#armIdle();
    }
    if (line.kind === "oversize") {
      this.#log.warning("answer_too_large", { bytes: line.size });
      const entry = line.id === undefined ? undefined : this.#pending.take(line.id);
      if (entry !== undefined) {
        await this.#writeClient(printOversize(entry.id, this.#target.mcp, line.size));
      }
      return this.#armIdle();
    }
    const { message } = line;
    if (message.kind === "response") return await this.#onAnswer(message, line.bytes);
    if (message.kind === "request") {
      this.#serverRequests.add(message.id);
      if (message.method === "elicitation/create") this.#pending.hold();
    } else if (message.method === "notifications/progress") {
      this.#pending.onProgress(message.params["progressToken"]);
    } else if (message.method === "notifications/tools/list_changed") this.#watch.onChanged();
    await this.#writeClient(line.bytes);
  }

  async #onAnswer(
    message: Extract<Message, { kind: "response" }>,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<void> {
    if (this.#unlisted.own.take(message.id, message.value)) return;
    const entry = this.#pending.take(message.id);
    // The answer is late, follows a cancellation, or is invented: no request waits for it.
    if (entry === undefined) return this.#log.debug("answer_unexpected");
    this.#handshake.onAnswered(message.id, message.value);
    if (entry.method === "tools/list" && "result" in message.value) this.#ports.onListed?.();
    const changed = mayChange(entry, message.value)
      ? await changedAnswer(this.#readers, this.#ports.gate, entry, message.value)
      : undefined;
    if (changed !== undefined || !this.#writeNow(bytes)) await this.#writeClient(changed ?? bytes);
    this.#armIdle();
  }

  /** Writes synchronously if this was the client's only open request: the client must wait. */
  #writeNow(bytes: Uint8Array): boolean {
    const { writeNow } = this.#ports.client;
    if (writeNow === undefined || this.#pending.size + this.#unlisted.size > 0) return false;
    return writeNow(bytes);
  }

  /** Closes the link and clears it immediately, so that the next request starts a server. */
  #dropLink(): void {
    this.#link?.close();
    this.#link = undefined;
    this.#unlisted.end("the connection was closed");
    this.#serverRequests.clear();
    this.#pending.resume();
    this.#idle.end();
  }

  async #onServerEnd(ended: ServerLink, end: LinkEnd): Promise<void> {
    if (this.#link !== ended) return;
    const { why } = end;
    this.#unlisted.end(why);
    this.#dropLink();
    const open = this.#pending.takeAll();
    if (open.length === 0) return;
    this.#log.warning("server_ended", { why, open: open.length });
    const refused = end.hasOutput ? undefined : await refusedStart(this.#ports);
    for (const entry of open) {
      const reason = refused ?? serverEnded(this.#target.mcp, why, entry);
      void this.#writeClient(printError(entry.id, RPC_CODES.connectionClosed, reason));
    }
  }

  #onExpired(entry: Pending): void {
    const reason = requestExpired(this.#target.mcp, entry);
    this.#log.warning("call_expired", { method: entry.method });
    void this.#writeClient(printError(entry.id, RPC_CODES.timeout, reason));
    if (this.#link === undefined) return;
    // A server that does not answer its only request is stuck: the next request starts a new one.
    if (this.#pending.size === 0) return this.#dropLink();
    const params = { requestId: entry.id, reason: "no answer in time" };
    void this.#writeServer(
      this.#link,
      printMessage({ jsonrpc: "2.0", method: "notifications/cancelled", params }),
    );
  }

  #armIdle(): void {
    if (this.#idleMs === undefined || this.#pending.size + this.#unlisted.size > 0) return;
    if (this.#link !== undefined) this.#idle.begin(this.#idleMs);
  }

  #onIdle(): void {
    if (this.#link === undefined || this.#serverRequests.size > 0) return;
    if (this.#pending.size + this.#unlisted.size > 0) return;
    this.#log.info("idle_stop");
    this.#dropLink();
  }

  async close(): Promise<void> {
    await this.#waiting.close();
    this.#pending.takeAll();
    this.#dropLink();
    this.#ports.client.close();
  }
}
