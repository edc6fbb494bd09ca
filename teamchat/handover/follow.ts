/**
 * The sender's end of the handover. It connects to the receiver, accepts what it hands over, and
 * reconnects when the connection is lost. Each activity is parsed and routed again here: the
 * sender trusts only that the receiver has verified its token.
 *
 * @module
 */

import { type Backoff, backoffMs } from "core/concurrency/backoff.ts";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream, Sockets } from "core/ports/sockets.ts";
import { parseActivity } from "core/teamchat/activity.ts";
import { readLines } from "core/text/lines.ts";
import {
  type HandoverRequest,
  type HandoverResponse,
  LINE_BYTES_MAX,
  parseRequest,
} from "teamchat/handover/frames.ts";
import type { Health } from "teamchat/health.ts";
import type { TakeActivity } from "teamchat/inbound/messages.ts";

/** Dependencies. */
export interface FollowDeps {
  readonly path: string;
  readonly sockets: Pick<Sockets, "connectUnix">;
  readonly take: TakeActivity;
  readonly health: () => Health;
  readonly metrics: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Characters of requests that may be unanswered at once. */
const UNANSWERED_LENGTH_MAX = 16 * 1024 * 1024;
const RETRY: Backoff = { firstMs: 50, maxMs: 1_000 };

/** Follows the receiver until `close`. */
export function followReceiver(deps: FollowDeps): { close(): Promise<void> } {
  const stop = new AbortController();
  const over = follow(deps, stop.signal);
  return {
    close: async () => {
      stop.abort();
      await over;
    },
  };
}

async function follow(deps: FollowDeps, signal: AbortSignal): Promise<void> {
  const { sockets, path, clock, log } = deps;
  let failures = 0;
  let isLogged = false;
  while (!signal.aborted) {
    const stream = await sockets.connectUnix(path).catch((thrown) => {
      if (!isLogged) log.warning("receiver unreachable", { error: errorText(thrown) });
      isLogged = true;
      return undefined;
    });
    if (stream === undefined) {
      await clock.sleep(backoffMs(RETRY, failures++), signal);
      continue;
    }
    isLogged = false;
    log.info("receiver connected");
    const begun = clock.monotonic();
    await serve(stream, deps, signal);
    if (signal.aborted) return;
    log.warning("receiver disconnected");
    // Back off from a receiver that disconnects at once: it may be compromised or faulty.
    const isShort = clock.monotonic() - begun < RETRY.maxMs;
    failures = isShort ? failures + 1 : 0;
    await clock.sleep(backoffMs(RETRY, failures), signal);
  }
}

async function serve(stream: ByteStream, deps: FollowDeps, signal: AbortSignal): Promise<void> {
  const writer = stream.writable.getWriter();
  const encoder = new TextEncoder();
  const send = (answer: HandoverResponse) => {
    // If an answer is lost, the receiver hands the activity over again: it keeps it until then.
    writer.write(encoder.encode(`${JSON.stringify(answer)}\n`)).catch(() => {});
  };
  const close = () => stream.close();
  signal.addEventListener("abort", close, { once: true });
  const underWay = new Set<Promise<void>>();
  let length = 0;
  try {
    for await (const line of readLines(stream.readable, { lineBytesMax: LINE_BYTES_MAX })) {
      const request = parseRequest(line);
      if (request === undefined) {
        deps.log.error("receiver sent an unknown frame");
        break;
      }
      const answering = answer(request, deps).then(send).finally(() => {
        underWay.delete(answering);
        length -= line.length;
      });
      underWay.add(answering);
      length += line.length;
      // The receiver is public and may send faster than the disk: stop reading until requests
      // complete.
      while (length > UNANSWERED_LENGTH_MAX) await Promise.race(underWay);
    }
  } catch (thrown) {
    deps.log.debug("handover ended", { error: errorText(thrown) });
  }
  await Promise.all(underWay);
  signal.removeEventListener("abort", close);
  stream.close();
}

async function answer(request: HandoverRequest, deps: FollowDeps): Promise<HandoverResponse> {
  const { n } = request;
  if (request.type === "state") {
    return { type: "state", n, health: deps.health(), metrics: deps.metrics() };
  }
  const { body, key } = request;
  const activity = parseActivity(body);
  if (!activity.ok) return { type: "taken", n, status: 400, body: "" };
  try {
    const accepted = await deps.take(activity.value, {
      token: "verified",
      id: key,
      body,
      received: { at: Math.min(request.received, deps.clock.now()), key: `handover|${key}` },
    });
    return { type: "taken", n, status: accepted.status, body: accepted.body ?? "" };
  } catch (thrown) {
    deps.log.error("activity not accepted", { key, error: errorText(thrown) });
    return { type: "taken", n, status: 503, body: "" };
  }
}
