/**
 * The sending half's end of the handover: connects to the receiving half, takes what it hands over
 * and connects again when it is gone. Each activity is parsed and routed here once more, by this
 * half's own rules: from the other half comes nothing but a text whose token was good.
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
import { type Answered, type Asked, LINE_BYTES_MAX, readAsked } from "teamchat/handover/frames.ts";
import type { Health } from "teamchat/health.ts";
import type { TakeActivity } from "teamchat/inbound/messages.ts";

/** What following is made of. */
export interface FollowParts {
  readonly path: string;
  readonly sockets: Pick<Sockets, "connectUnix">;
  readonly take: TakeActivity;
  readonly health: () => Health;
  readonly metrics: () => string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Questions that are being answered, in characters. */
const UNANSWERED_LENGTH_MAX = 16 * 1024 * 1024;
const RETRY: Backoff = { firstMs: 50, maxMs: 1_000 };

/** Follows the receiving half until it is told to stop. */
export function followReceiver(parts: FollowParts): { close(): Promise<void> } {
  const stop = new AbortController();
  const over = follow(parts, stop.signal);
  return {
    close: async () => {
      stop.abort();
      await over;
    },
  };
}

async function follow(parts: FollowParts, signal: AbortSignal): Promise<void> {
  const { sockets, path, clock, log } = parts;
  let failures = 0;
  let isTold = false;
  while (!signal.aborted) {
    const stream = await sockets.connectUnix(path).catch((thrown) => {
      if (!isTold) log.warning("receiving half not there", { error: errorText(thrown) });
      isTold = true;
      return undefined;
    });
    if (stream === undefined) {
      await clock.sleep(backoffMs(RETRY, failures++), signal);
      continue;
    }
    isTold = false;
    log.info("receiving half connected");
    const begun = clock.monotonic();
    await serve(stream, parts, signal);
    if (signal.aborted) return;
    log.warning("receiving half gone");
    // One that is gone at once is asked less and less often: it may be up to no good.
    const isShort = clock.monotonic() - begun < RETRY.maxMs;
    failures = isShort ? failures + 1 : 0;
    await clock.sleep(backoffMs(RETRY, failures), signal);
  }
}

async function serve(stream: ByteStream, parts: FollowParts, signal: AbortSignal): Promise<void> {
  const writer = stream.writable.getWriter();
  const encoder = new TextEncoder();
  const say = (answer: Answered) => {
    // An answer that does not arrive is asked for again: the other half keeps what it handed over.
    writer.write(encoder.encode(`${JSON.stringify(answer)}\n`)).catch(() => {});
  };
  const close = () => stream.close();
  signal.addEventListener("abort", close, { once: true });
  const underWay = new Set<Promise<void>>();
  let length = 0;
  try {
    for await (const line of readLines(stream.readable, { lineBytesMax: LINE_BYTES_MAX })) {
      const asked = readAsked(line);
      if (asked === undefined) {
        parts.log.error("receiving half says what nobody knows");
        break;
      }
      const answering = answer(asked, parts).then(say).finally(() => {
        underWay.delete(answering);
        length -= line.length;
      });
      underWay.add(answering);
      length += line.length;
      // What strangers speak to may ask faster than the disk answers: then it is not read from.
      while (length > UNANSWERED_LENGTH_MAX) await Promise.race(underWay);
    }
  } catch (thrown) {
    parts.log.debug("handover ended", { error: errorText(thrown) });
  }
  await Promise.all(underWay);
  signal.removeEventListener("abort", close);
  stream.close();
}

async function answer(asked: Asked, parts: FollowParts): Promise<Answered> {
  const { n } = asked;
  if (asked.type === "state") {
    return { type: "state", n, health: parts.health(), metrics: parts.metrics() };
  }
  const { body, key } = asked;
  const activity = parseActivity(body);
  if (!activity.ok) return { type: "taken", n, status: 400, body: "" };
  try {
    const taken = await parts.take(activity.value, {
      token: "judged",
      id: key,
      body,
      received: { at: Math.min(asked.received, parts.clock.now()), key: `handover|${key}` },
    });
    return { type: "taken", n, status: taken.status, body: taken.body ?? "" };
  } catch (thrown) {
    parts.log.error("handed over and not taken", { key, error: errorText(thrown) });
    return { type: "taken", n, status: 503, body: "" };
  }
}
