/**
 * The transcript on the command line, against a cockpit that speaks the real routes over a scripted
 * `fetch`: the output, a lost connection, and the report of each outcome of a turn.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type CockpitClient, openEvents, postTurn } from "cli/up/cockpit_client.ts";
import { printable, runTurn, transcriptLines } from "cli/up/turn.ts";
import type { Clock } from "core/ports/clock.ts";

const TURN = { agent: "ada", text: "hello", idempotencyKey: "k" };

function event(id: string, kind: string, payload: unknown, turnId = "t1"): string {
  return `id: ${id}\nevent: ${kind}\ndata: ${
    JSON.stringify({ turn_id: turnId, kind, payload })
  }\n\n`;
}

/** A cockpit that returns these streams one after the other; each is cut at its end. */
function scriptedCockpit(streams: readonly string[]): CockpitClient & { resumed: string[] } {
  const resumed: string[] = [];
  let next = 0;
  const instant: Clock = {
    now: () => 0,
    monotonic: () => 0,
    sleep: () => Promise.resolve(),
    after: () => () => {},
  };
  return {
    base: "http://cockpit",
    clock: instant,
    resumed,
    proof: () => Promise.resolve({}),
    http: {
      fetch(input, init) {
        if (String(input).endsWith("/api/turns")) {
          return Promise.resolve(Response.json({ turn_id: "t1" }, { status: 202 }));
        }
        const headers = new Headers(init?.headers);
        resumed.push(headers.get("last-event-id") ?? "");
        return Promise.resolve(new Response(streams[next++] ?? ""));
      },
    },
  };
}

Deno.test("postTurn() refuses an answer that does not end", async () => {
  const chunk = new TextEncoder().encode(" ".repeat(1024 * 1024));
  const endless = (status: number) => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
    return Promise.resolve(new Response(body, { status }));
  };
  for (const [status, wanted] of [[202, /gave no turn id/], [503, /HTTP 503/]] as const) {
    const client = { ...scriptedCockpit([]), http: { fetch: () => endless(status) } };
    const posted = await postTurn(client, TURN);
    assert.ok(!posted.ok);
    assert.match(posted.error.message, wanted);
  }
});

Deno.test("openEvents() drops an event that never ends, and continues", async () => {
  const chunk = new TextEncoder().encode(`data: ${"x".repeat(1024 * 1024)}\n`);
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
  const answers = [new Response(endless), new Response(event("e:1", "message", { text: "hi" }))];
  const fetch = () => Promise.resolve(answers.shift() ?? new Response(""));
  const stream = await openEvents({ ...scriptedCockpit([]), http: { fetch } }, ["agent:ada"]);
  assert.ok(stream.ok);
  const { value } = await stream.value.events.next();
  assert.equal(value?.id, "e:1");
  stream.value.close();
});

Deno.test("runTurn() prints the transcript and resumes after the last event", async () => {
  const client = scriptedCockpit([
    event("e:1", "turn_queued", { text: "hello", origin: "up" }) +
    event("e:2", "tool_call", { call_id: "c", mcp: "git", tool: "git_log", arguments: { a: 1 } }),
    event("e:3", "tool_result", {
      call_id: "c",
      status: "completed",
      text: "x\ny",
      duration_ms: 4.4,
    }) +
    event("e:4", "message", { text: "other turn" }, "t2") +
    event("e:5", "message", { text: "done" }) +
    event("e:6", "turn_ended", { outcome: "completed" }),
  ]);
  const lines: string[] = [];
  const report = await runTurn(client, TURN, {
    print: (line) => lines.push(line),
    stop: new AbortController().signal,
  });
  assert.ok(report.ok);
  assert.deepEqual(client.resumed, ["", "e:2"]);
  assert.deepEqual(lines, [
    "you: hello",
    '  → git.git_log {"a":1}',
    "  ← completed in 4 ms",
    "    x",
    "    y",
    "ada: done",
  ]);
});

Deno.test("runTurn() refuses with the turn's own code and reason unless it completes", async () => {
  for (
    const [payload, code, text] of [
      [
        { outcome: "failed", code: "model-unreachable", reason: "no route" },
        "model-unreachable",
        /failed: no route/,
      ],
      [{ outcome: "interrupted" }, "turn-interrupted", /was interrupted$/],
      [{ outcome: "cancelled" }, "turn-cancelled", /was cancelled$/],
    ] as const
  ) {
    const client = scriptedCockpit([event("e:1", "turn_ended", payload)]);
    const report = await runTurn(client, TURN, {
      print: () => {},
      stop: new AbortController().signal,
    });
    assert.ok(!report.ok);
    assert.equal(report.error.code, code);
    assert.match(report.error.message, text);
  }
});

Deno.test("runTurn() cancels the turn when it is stopped, and reports how it ended", async () => {
  const stop = new AbortController();
  const sent = Promise.withResolvers<void>();
  const client = scriptedCockpit([]);
  const cancelled: unknown[] = [];
  const lines: string[] = [];
  const report = await runTurn(
    {
      ...client,
      http: {
        fetch(input, init) {
          if (String(input).endsWith("/api/turns")) {
            stop.abort();
            return Promise.resolve(Response.json({ turn_id: "t1" }, { status: 202 }));
          }
          if (String(input).endsWith("/api/turns/cancel")) {
            cancelled.push(JSON.parse(String(init?.body)));
            sent.resolve();
            return Promise.resolve(Response.json({}, { status: 202 }));
          }
          const ended = event("e:2", "turn_ended", { outcome: "cancelled" });
          return Promise.resolve(
            new Response(
              new ReadableStream({
                async start(controller) {
                  await sent.promise;
                  controller.enqueue(new TextEncoder().encode(ended));
                  controller.close();
                },
              }),
            ),
          );
        },
      },
    },
    TURN,
    { print: (line) => lines.push(line), stop: stop.signal },
  );
  assert.ok(!report.ok);
  assert.equal(report.error.code, "turn-cancelled");
  assert.deepEqual(cancelled, [{ agent: "ada", turn_id: "t1" }]);
});

Deno.test("runTurn() reports that no event comes, and ends soon after it is stopped", async () => {
  const stop = new AbortController();
  const client = scriptedCockpit([]);
  const waits: number[] = [];
  const printed: string[] = [];
  const report = await runTurn(
    {
      ...client,
      clock: {
        ...client.clock,
        after: (ms, run) => {
          waits.push(ms);
          queueMicrotask(run);
          return () => {};
        },
      },
      http: {
        fetch(input, init) {
          if (String(input).endsWith("/api/turns")) {
            stop.abort();
            return Promise.resolve(Response.json({ turn_id: "t1" }, { status: 202 }));
          }
          if (String(input).endsWith("/api/turns/cancel")) return Promise.reject(new Error("down"));
          return Promise.resolve(
            new Response(
              new ReadableStream({
                start(controller) {
                  init?.signal?.addEventListener("abort", () => controller.error("closed"));
                },
              }),
            ),
          );
        },
      },
    },
    TURN,
    { print: (line) => printed.push(line), stop: stop.signal },
  );
  assert.ok(!report.ok);
  assert.equal(report.error.code, "turn-stopped");
  assert.deepEqual(waits, [20_000, 5000]);
  assert.deepEqual(printed, ["note: nothing for 20 s; fleetctl logs ada shows what it does"]);
});

Deno.test("transcriptLines() prints a program's question and how to answer it", () => {
  const lines = (message: unknown, fields: unknown) =>
    transcriptLines("ada", {
      kind: "question_asked",
      data: { payload: { question_id: "3f2a81c0-77", message, fields } },
    });
  const wait = "  waits for a person: fleetctl questions answer 3f2a81c0";
  assert.deepEqual(lines("Which\u001b[2J?\nNow", []), [
    "  asks: Which\ufffd[2J?",
    "  asks: Now",
    wait,
  ]);
  assert.deepEqual(lines("", [{ title: "Colour" }, { title: "Size" }, null]), [
    "  asks: Colour; Size;",
    wait,
  ]);
});

Deno.test("transcriptLines() prints a summary, and who wrote it", () => {
  const lines = (by: string) =>
    transcriptLines("ada", {
      kind: "summary",
      data: { payload: { summary_id: "s", text: "Goals\n- ship", by, cut_bytes: 0 } },
    });
  assert.deepEqual(lines("model"), [
    "note: Earlier messages were summarised",
    "  | Goals",
    "  | - ship",
  ]);
  assert.equal(lines("owner")[0], "note: The summary was changed");
});

Deno.test("transcriptLines() prints a todo list, and nothing for a list in another form", () => {
  const lines = (payload: unknown) => transcriptLines("ada", { kind: "plan", data: { payload } });
  const entries = [{ text: "read", state: "done" }, { text: "mend", state: "active" }];
  assert.deepEqual(lines({ entries }), ["  [x] read", "  [>] mend"]);
  assert.deepEqual(lines({ entries: "x" }), []);
});

Deno.test("transcriptLines() prints a message that was sent into a turn, on both turns", () => {
  const lines = (kind: string, payload: unknown) =>
    transcriptLines("ada", { kind, data: { payload } });
  assert.deepEqual(lines("turn_steered", { from: "t2", text: "red", cut_bytes: 0 }), [
    "note: a message was sent into the turn",
    "  | red",
  ]);
  assert.deepEqual(lines("turn_ended", { outcome: "completed", code: "steered" }), [
    "note: the running turn reads this message",
  ]);
  assert.deepEqual(lines("turn_ended", { outcome: "completed" }), []);
});

Deno.test("transcriptLines() cuts long results and states what was cut", () => {
  const lines = transcriptLines("ada", {
    kind: "tool_result",
    data: {
      payload: {
        status: "failed",
        duration_ms: 1,
        text: Array.from({ length: 50 }, (_, n) => `line ${n}`).join("\n"),
        cut_bytes: 9,
      },
    },
  });
  assert.equal(lines[0], "  ← failed in 1 ms");
  assert.equal(lines.at(-2), "    (10 more lines)");
  assert.equal(lines.at(-1), "    (9 bytes cut)");
});

Deno.test("printable() leaves no control character that could drive a terminal", () => {
  assert.equal(printable("a\u001b]0;x\u0007b\u009bc\td"), "a�]0;x�b�c\td");
});
