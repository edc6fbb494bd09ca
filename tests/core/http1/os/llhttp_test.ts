/**
 * The listener and the client against `llhttp`, the parser of Node. The same bytes, split anywhere,
 * must give the same messages with the same ends. Exceptions are listed with their reason
 * (`known_requests.ts`, `known_answers.ts`). `FLEETCTL_ROUNDS` sets how many connections each side
 * reads, `FLEETCTL_SEED` which ones.
 *
 * @module
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { answerDifference } from "tests/core/http1/os/compare_answers.ts";
import { requestDifference } from "tests/core/http1/os/compare_requests.ts";
import type { Difference, Known } from "tests/core/http1/os/differences.ts";
import { KNOWN_ANSWERS } from "tests/core/http1/os/known_answers.ts";
import { KNOWN_REQUESTS } from "tests/core/http1/os/known_requests.ts";
import { readByLlhttp } from "tests/core/http1/os/llhttp.ts";
import {
  answerStreams,
  piecesOf,
  requestStreams,
  type Stream,
} from "tests/core/http1/os/message_arbitrary.ts";
import {
  type OwnListener,
  type OwnRequests,
  readOwnAnswer,
  withListener,
} from "tests/core/http1/os/own_reading.ts";
import { bytesOf } from "tests/support/wire.ts";

const numRuns = Number(Deno.env.get("FLEETCTL_ROUNDS") ?? 10_000);
const seed = Number(Deno.env.get("FLEETCTL_SEED") ?? 9112);
const WHOLE = [1000];
/** Each explanation removes one oddity. No stream has this many. */
const EXPLANATIONS_MAX = 50;

/** Reads a stream with both readers; resolves with the first difference, if any. */
type Compare = (stream: Stream) => Promise<Difference | undefined>;

/** Explains all differences of a stream; returns the rows used. Rejects if one is not known. */
async function explain(
  stream: Stream,
  known: readonly Known[],
  compare: Compare,
): Promise<readonly string[]> {
  const rows: string[] = [];
  let { text } = stream;
  while (rows.length < EXPLANATIONS_MAX) {
    const difference = await compare({ ...stream, text });
    if (difference === undefined) return rows;
    const row = known.find(({ isIt }) => isIt(difference));
    assert.ok(row !== undefined, unexplained(difference));
    rows.push(row.name);
    const before = text.slice(0, difference.start);
    if (row.mend !== undefined) text = before + row.mend(difference.text);
    else if (row.isEnd) text = difference.text;
    else return rows;
  }
  throw new Error(`explained too often: ${JSON.stringify(text)}`);
}

function unexplained({ text, own, llhttp, fields }: Difference): string {
  return [
    `read in two ways${fields === "" ? "" : `, by ${fields}`}: ${JSON.stringify(text)}`,
    `fleetctl: ${JSON.stringify(own)}`,
    `llhttp:   ${JSON.stringify(llhttp)}`,
  ].join("\n");
}

/** Compares how both readers read requests. */
function requestsOf(listener: OwnListener): Compare {
  return async (stream) => {
    const pieces = piecesOf(stream);
    const own = await listener.read(pieces);
    const llhttp = readByLlhttp(pieces, { type: "request" });
    const difference = requestDifference(own, llhttp, stream.text);
    if (difference?.before !== undefined && difference.own === own.ending && isClosed(own)) {
      const last = own.messages.length - 1;
      // The listener dropped what followed the message. `llhttp` knows where that began, so
      // the message is read again without it, and must be the same.
      const message = stream.text.slice(llhttp.starts[last], llhttp.starts[last + 1]);
      const alone = await listener.read([bytesOf(message)]);
      assert.deepEqual(alone.messages, [difference.before], JSON.stringify(message));
      const ending = difference.before.isKept ? "ended" : "closed";
      assert.equal(alone.ending.kind, ending, JSON.stringify(message));
    }
    return difference;
  };
}

function isClosed({ ending }: OwnRequests): boolean {
  return ending.kind === "closed";
}

/** Compares how both readers read the answer to `method`. */
function answersTo(method: "GET" | "HEAD"): Compare {
  return async (stream) => {
    const pieces = piecesOf(stream);
    const own = await readOwnAnswer(pieces, method);
    const llhttp = readByLlhttp(pieces, { type: "answer", isHead: method === "HEAD" });
    return answerDifference(own, llhttp, stream.text);
  };
}

Deno.test("requests are parsed as llhttp parses them, or the difference is listed", async () => {
  await withListener(async (listener) => {
    const compare = requestsOf(listener);
    await fc.assert(
      fc.asyncProperty(requestStreams, async (stream) => {
        await explain(stream, KNOWN_REQUESTS, compare);
      }),
      { numRuns, seed },
    );
  });
});

Deno.test("answers are parsed as llhttp parses them, or the difference is listed", async () => {
  await fc.assert(
    fc.asyncProperty(answerStreams, fc.constantFrom("GET", "HEAD"), async (stream, method) => {
      await explain(stream, KNOWN_ANSWERS, answersTo(method));
    }),
    { numRuns, seed },
  );
});

for (const { name, verdict, example } of KNOWN_REQUESTS) {
  Deno.test(`requests: ${verdict}: ${name}`, async () => {
    await withListener(async (listener) => {
      const rows = await explain(
        { text: example, cuts: WHOLE },
        KNOWN_REQUESTS,
        requestsOf(listener),
      );
      assert.deepEqual(rows, [name]);
    });
  });
}

for (const { name, verdict, example } of KNOWN_ANSWERS) {
  Deno.test(`answers: ${verdict}: ${name}`, async () => {
    const rows = await explain({ text: example, cuts: WHOLE }, KNOWN_ANSWERS, answersTo("GET"));
    assert.deepEqual(rows, [name]);
  });
}

Deno.test("a difference that is not listed fails", async () => {
  await withListener(async (listener) => {
    const text = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n";
    const rows = KNOWN_REQUESTS.filter(({ example }) => example !== text);
    assert.equal(rows.length, KNOWN_REQUESTS.length - 1);
    await assert.rejects(explain({ text, cuts: WHOLE }, rows, requestsOf(listener)), /in two ways/);
  });
});

Deno.test("no listed difference explains input that should have been refused", async () => {
  const odd = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";
  const compare: Compare = async (stream) => {
    const pieces = piecesOf(stream);
    const own = await readOwnAnswer(pieces, "GET");
    // Simulate a client that takes one byte too few, which then starts the next answer.
    const [message] = own.messages;
    assert.ok(message !== undefined);
    const short = { ...own, messages: [{ ...message, body: "ab" }], rest: "c" };
    return answerDifference(short, readByLlhttp(pieces, { type: "answer" }), stream.text);
  };
  await assert.rejects(explain({ text: odd, cuts: [] }, KNOWN_ANSWERS, compare), /by body/);
});
