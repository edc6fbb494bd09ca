/**
 * Checks `docs/http1.md` against the code: each row of its tables is sent, and each limit equals
 * the one in the code.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createChunkDecoder } from "core/http1/chunked.ts";
import { HEADERS_MAX } from "core/http1/messages.ts";
import { WIRE_LIMITS } from "core/http1/wire_limits.ts";
import { HTTP_LIMITS, UPSTREAM_LIMITS } from "core/limits/http.ts";
import { type OwnRequests, readOwnAnswer, withListener } from "tests/core/http1/os/own_reading.ts";
import { TREE } from "tests/support/module_graph.ts";
import { bytesOf } from "tests/support/wire.ts";

const page = await Deno.readTextFile(`${TREE}docs/http1.md`);
const CHUNKED = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
const KIB = 1024;

/** Returns the cells of the table rows below a heading. */
function rowsBelow(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const rows = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("|"))
    .slice(2).map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
  assert.ok(rows.length > 0, heading);
  return rows;
}

/** Returns the bytes between the backticks of a cell, which use JavaScript string escapes. */
function codeIn(cell: string, nth = 0): string {
  const code = [...cell.matchAll(/`([^`]*)`/g)][nth]?.[1] ?? "";
  return JSON.parse(`"${code.replaceAll("\\0", "\\u0000").replaceAll('"', '\\"')}"`);
}

/** Reads requests with the listener. After a refusal, the next request must not be read. */
async function read(text: string): Promise<OwnRequests> {
  let reading: OwnRequests | undefined;
  await withListener(async (listener) => {
    reading = await listener.read([bytesOf(text)]);
  });
  assert.ok(reading !== undefined);
  return reading;
}

for (const [request = "", wanted = ""] of rowsBelow("Requests that are accepted")) {
  Deno.test(`accepted: ${request}`, async () => {
    const { messages: [message], ending } = await read(codeIn(request));
    assert.ok(message !== undefined, JSON.stringify(ending));
    assert.equal(`${message.method} ${message.target}`, codeIn(wanted));
    assert.equal(message.body, /body ``/.test(wanted) ? "" : codeIn(wanted, 1));
    assert.equal(ending.kind, wanted.includes("the connection ends") ? "closed" : "ended");
  });
}

for (const [what = "", request = "", status = ""] of rowsBelow("Requests that are refused")) {
  Deno.test(`refused: ${what}`, async () => {
    const { messages, ending } = await read(`${codeIn(request)}GET / HTTP/1.1\r\nHost: a\r\n\r\n`);
    assert.deepEqual(messages, []);
    assert.deepEqual(ending, { kind: "refused", stage: "head", reason: status });
  });
}

for (const [what = "", chunks = ""] of rowsBelow("Bodies in chunks that are refused")) {
  Deno.test(`refused in a body: ${what}`, async () => {
    const { messages, ending } = await read(CHUNKED + codeIn(chunks));
    assert.deepEqual(messages, []);
    assert.ok(ending.kind === "refused" && ending.stage === "body", JSON.stringify(ending));
  });
}

for (const [what = "", answer = ""] of rowsBelow("Answers that are refused")) {
  Deno.test(`refused as an answer: ${what}`, async () => {
    const { messages, ending } = await readOwnAnswer([bytesOf(codeIn(answer))], "GET");
    assert.deepEqual(messages, []);
    assert.match(ending.kind, /^(?:refused|cut)$/);
  });
}

Deno.test("docs/http1.md states the limits of the code", () => {
  const known: Readonly<Record<string, Readonly<Record<string, number>>>> = {
    WIRE_LIMITS,
    HTTP_LIMITS,
    UPSTREAM_LIMITS,
    HEADERS_MAX: { "": HEADERS_MAX },
  };
  for (const [what = "", limit = "", place = ""] of rowsBelow("Limits")) {
    const [object = "", name = ""] = codeIn(place).split(".");
    const [number = "", unit = ""] = limit.split(" ");
    const scale = { "": 1, s: 1_000, KiB: KIB }[unit] ?? NaN;
    assert.equal(known[object]?.[name], Number(number) * scale, what);
  }
});

Deno.test("docs/http1.md states the limits of a chunked body", () => {
  const [, line = "", trailers = "", extensions = ""] =
    /chunk-size line may have (\d+) KiB, the trailers of a body (\d+) KiB, and all chunk extensions of a body together (\d+) KiB/
      .exec(page) ?? [];
  const takes = (text: string) => {
    try {
      createChunkDecoder().take(bytesOf(text));
      return true;
    } catch {
      return false;
    }
  };
  const extended = (bytes: number) => `1;${"x".repeat(bytes - 2)}\r\na\r\n`;
  assert.ok(takes(extended(Number(line) * KIB - 1)) && !takes(extended(Number(line) * KIB + 1)));
  const trailer = (bytes: number) => `x:${"y".repeat(bytes - 2)}\r\n`;
  const times = (text: string, count: number) => text.repeat(count);
  const trailed = Number(trailers);
  assert.ok(takes(`0\r\n${times(trailer(KIB), trailed)}\r\n`));
  assert.ok(!takes(`0\r\n${times(trailer(KIB), trailed)}${trailer(3)}\r\n`));
  const together = Number(extensions);
  assert.ok(takes(times(extended(KIB + 1), together)));
  assert.ok(!takes(times(extended(KIB + 1), together) + extended(3)));
});
