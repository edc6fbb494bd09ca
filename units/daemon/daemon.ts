/**
 * The root daemon: a unix socket that every user may connect to. The kernel identifies the caller.
 * Each connection carries one request, which is judged, written to the audit log, and then run or
 * refused.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText, refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { Paths } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import type { PeerStream } from "core/ports/sockets.ts";
import type { Refusal } from "core/errors.ts";
import { readsInput, type Tokenize } from "core/verbs/invocation.ts";
import { requestText } from "core/verbs/daemon_frames.ts";
import { type Audit, auditedCaller, auditedWords, auditFile, openAudit } from "core/verbs/audit.ts";
import {
  connectionsMaxOf,
  createUidLimits,
  type LimitReason,
  type UidLimits,
} from "units/daemon/uid_limits.ts";
import { judge, type Judged } from "units/daemon/decide.ts";
import { execute } from "units/daemon/execute.ts";
import { createFrameWriter, type FrameWriter } from "units/daemon/frame_writer.ts";
import { readRequestLine } from "units/daemon/request_line.ts";
import { followReplacements } from "units/daemon/replacements.ts";
import { createVerbQueue, type VerbQueue } from "units/daemon/verb_queue.ts";

/** Dependencies of the daemon. */
export interface DaemonDeps {
  readonly host: Host;
  readonly paths: Paths;
  readonly tokenize: Tokenize;
}

/** A running daemon. */
export interface Daemon {
  /** Stops accepting. Resolves when the running verbs have ended. */
  close(): Promise<void>;
}

interface Running extends DaemonDeps {
  readonly audit: Audit;
  readonly limits: UidLimits;
  readonly queue: VerbQueue;
}

/** Authorization uses peer credentials, so every user may connect. */
const SOCKET_MODE = 0o666;

/** Opens the audit log, then listens. */
export async function startDaemon(deps: DaemonDeps): Promise<Daemon> {
  const { host, paths } = deps;
  const state = paths.role("daemon");
  await host.files.ensureDir(state, { mode: 0o700 });
  await host.files.ensureDir(paths.run, { mode: 0o755 });
  const audit = openAudit(await host.databases.open(auditFile(paths)));
  const queue = createVerbQueue(host.clock);
  const running: Running = { ...deps, audit, limits: createUidLimits(), queue };
  const open = new Set<Promise<void>>();
  const replacements = followReplacements({
    ...host,
    paths,
    run: (argv, signal) => runOwn(argv, signal, running),
  });
  const listener = await host.sockets.serveUnix(paths.daemonSocket, SOCKET_MODE, (stream) => {
    const work = handleConnection(stream, running).finally(() => open.delete(work));
    open.add(work);
  });
  return {
    async close() {
      const closed = listener.close();
      const unfollowed = replacements.close();
      queue.close();
      await Promise.all(open);
      await Promise.all([closed, unfollowed]);
      audit.close();
    },
  };
}

async function handleConnection(stream: PeerStream, running: Running): Promise<void> {
  const { host, limits, paths } = running;
  const { uid } = stream.peer;
  const admission = limits.open(uid, host.clock.now());
  const writer = createFrameWriter(stream, host.clock);
  try {
    if (admission.admitted === true) await handleRequest(stream, writer, running);
    else {
      if (admission.shouldLog) recordLimit(admission.why, stream, running);
      await writer.send({ type: "refused", error: overLimit(uid, admission.why) });
    }
  } catch (thrown) {
    host.log.error("request failed", { uid, error: errorText(thrown) });
    await writer.send({ type: "refused", error: daemonFailed(paths) });
  } finally {
    if (admission.admitted === true) limits.close(uid);
    stream.close();
  }
}

async function handleRequest(
  stream: PeerStream,
  writer: FrameWriter,
  running: Running,
): Promise<void> {
  const { host, paths, tokenize } = running;
  const first = await readRequestLine(stream.readable, host.clock);
  const judged: Judged = first.ok
    ? await judge(first.value.line, stream.peer, {
      ports: host,
      paths,
      tokenize,
      ownUid: host.users.currentUid(),
    })
    : { allowed: false, reason: "bad request", refusal: first.error };
  const rest = first.ok ? first.value.rest : undefined;
  const isServed = judged.allowed && readsInput(judged.addressed.invocation);
  // Nothing else may follow a request; a client that sends more is not read.
  if (!isServed) rest?.cancel().catch(() => {});
  const id = record(judged, stream, running);
  if (id === undefined) {
    return await writer.send({ type: "refused", error: noAudit(paths) });
  }
  if (judged.allowed !== true) {
    return await writer.send({ type: "refused", error: judged.refusal });
  }
  const input = isServed ? rest : undefined;
  await runJudged(judged, { id, uid: stream.peer.uid, writer, ...defined({ input }) }, running);
}

/** Waits for a slot and runs an allowed verb, with the same values that were judged. */
async function runJudged(
  { request, caller, addressed }: Judged & { readonly allowed: true },
  of: {
    readonly id: number;
    readonly uid: number;
    readonly writer: FrameWriter;
    readonly input?: ReadableStream<Uint8Array>;
  },
  running: Running,
): Promise<void> {
  const { host, paths, queue } = running;
  const { id, uid, writer, input } = of;
  const { invocation: { verb: { mutates, follows }, json } } = addressed;
  const isKept = mutates && follows !== true;
  let hasWaited = false;
  const release = await queue.enter({ uid, mutates: isKept }, () => {
    hasWaited = true;
    if (!json) void writer.send({ type: "err", text: `${waitText(uid)}\n` });
  });
  // A client may close its writing side and still read. Only a write shows whether it has
  // disconnected.
  if (hasWaited) await writer.send({ type: "out", text: "" });
  if (release === undefined || writer.isGone()) {
    release?.();
    recordEnd(id, release === undefined ? "daemon-stopping" : "client-gone", running);
    return await writer.send({ type: "refused", error: stopping() });
  }
  try {
    const to = { paths, writer, isKept, ...defined({ input }) };
    const outcome = await execute({ request, caller }, to, {
      ...host,
      ownUid: host.users.currentUid(),
    });
    const exit = outcome.ok ? String(outcome.value) : outcome.error.code;
    host.log.info("verb ended", { id, verb: auditedWords(addressed).verb, exit });
    recordEnd(id, exit, running);
    await writer.send(
      outcome.ok
        ? { type: "exit", code: outcome.value }
        : { type: "refused", error: outcome.error },
    );
  } finally {
    release();
  }
}

/**
 * Runs a verb that this daemon starts by itself, as its own user. It is judged and recorded like
 * any other one, but takes no place in the queue of those who send requests.
 */
async function runOwn(
  argv: readonly string[],
  signal: AbortSignal,
  running: Running,
): Promise<void> {
  const { host, paths, tokenize } = running;
  const ownUid = host.users.currentUid();
  // No process has the number 0: no client sent this request.
  const peer = { uid: ownUid, gid: ownUid, pid: 0 };
  const line = new TextEncoder().encode(requestText({ argv }));
  const judged = await judge(line, peer, { ports: host, paths, tokenize, ownUid });
  const id = record(judged, { peer }, running);
  if (id === undefined || judged.allowed !== true) return;
  const { request, caller } = judged;
  const writer: FrameWriter = {
    send: async (frame) => {
      if (frame.type !== "err") return;
      host.log.info("verb of the daemon", { id, text: frame.text.trimEnd() });
    },
    isGone: () => false,
  };
  const outcome = await execute({ request, caller }, { paths, writer, isKept: true, signal }, {
    ...host,
    ownUid,
  });
  recordEnd(id, outcome.ok ? String(outcome.value) : outcome.error.code, running);
}

/** Records one audit row and one log line for a flood. The request itself has not been read. */
function recordLimit(why: LimitReason, stream: PeerStream, running: Running): void {
  const { uid } = stream.peer;
  const reason = `over its bound: ${why}`;
  running.host.log.warning("connection refused", { uid, why });
  record({ allowed: false, reason, refusal: overLimit(uid, why) }, stream, running);
}

/**
 * Writes the decision to the log and to the audit log. Returns undefined when the audit log failed.
 */
function record(
  judged: Judged,
  { peer }: Pick<PeerStream, "peer">,
  running: Running,
): number | undefined {
  const { host, audit } = running;
  const target = judged.addressed === undefined
    ? { verb: "", target: "", words: "" }
    : auditedWords(judged.addressed);
  const row = {
    atMs: host.clock.now(),
    via: "daemon" as const,
    uid: peer.uid,
    pid: peer.pid,
    caller: judged.caller === undefined ? `uid:${peer.uid}` : auditedCaller(judged.caller),
    ...target,
    isAllowed: judged.allowed,
    code: judged.allowed ? "" : judged.refusal.code,
    reason: judged.reason,
  };
  host.log.info("decision", { ...row, ...(judged.allowed ? {} : { fault: judged.fault }) });
  try {
    return audit.decided(row);
  } catch (thrown) {
    host.log.error("audit failed", { error: errorText(thrown) });
    return undefined;
  }
}

/**
 * Records the end of a verb. The verb has ended even if this write fails; the log line before it
 * contains the outcome.
 */
function recordEnd(id: number, exit: string, { host, audit }: Running): void {
  try {
    audit.ended(id, { atMs: host.clock.now(), exit });
  } catch (thrown) {
    host.log.error("audit failed", { error: errorText(thrown) });
  }
}

function waitText(uid: number): string {
  return `waiting: uid ${uid} already runs ${DAEMON_LIMITS.verbsPerUidMax} verbs, or this host ` +
    "runs the maximum";
}

function stopping(): Refusal {
  return refusal(
    "daemon-stopping",
    "Cannot accept the request: the daemon is stopping, must be running",
    {
      hints: ["fleetctl status"],
    },
  );
}

function overLimit(uid: number, why: LimitReason): Refusal {
  const states: Readonly<Record<LimitReason, string>> = {
    connections: `uid ${uid} has ${connectionsMaxOf(uid)} connections open`,
    rate: `uid ${uid} sends more than ${DAEMON_LIMITS.requestsPerSecond} requests per second`,
    full: `${DAEMON_LIMITS.connectionsMax} connections are open`,
  };
  return refusal("daemon-busy", `Cannot accept the request: ${states[why]}, must wait`);
}

function noAudit(paths: Paths): Refusal {
  return refusal(
    "audit-unwritable",
    `Cannot accept the request: the audit log in "${paths.role("daemon")}" cannot be written, ` +
      `and no verb runs as root without a record`,
    { hints: [`df -h ${paths.role("daemon")}`, logHint(paths, "fleetctl-daemon.service")] },
  );
}

function daemonFailed(paths: Paths): Refusal {
  return refusal("daemon-failed", "Cannot accept the request: the daemon failed", {
    hints: [logHint(paths, "fleetctl-daemon.service")],
  });
}
