/**
 * A growing transcript: each message is printed once, whatever its previews left out.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createTranscript } from "cli/transcript.ts";
import type { TurnUpdate } from "cli/ask_turn.ts";

function preview(text: string, offset: number, id = "m"): TurnUpdate {
  const payload = { message_id: id, text, offset };
  return { type: "turn_preview", event: { turn_id: "t", kind: "text_delta", payload } };
}
function event(kind: string, payload: Record<string, unknown>): TurnUpdate {
  return { type: "turn_event", kind, payload };
}
const message = (text: string, id = "m") => event("message", { message_id: id, text });
const BASH = event("tool_call", { mcp: null, tool: "bash", arguments: { command: "ls" } });

const ROWS: readonly {
  readonly name: string;
  readonly news: TurnUpdate[];
  readonly want: string;
}[] = [
  { name: "a message alone", news: [message("a\nb")], want: "ada: a\nada: b\n" },
  {
    name: "previews of the whole message",
    news: [preview("a\n", 0), preview("b", 2), message("a\nb")],
    want: "ada: a\nada: b\n",
  },
  {
    name: "a preview that was dropped",
    news: [preview("one ", 0), preview("three", 8), message("one two three")],
    want: "ada: one two three\n",
  },
  {
    name: "a message in two events",
    news: [preview("ab", 0), message("a"), message("bc")],
    want: "ada: ab\nada: c\n",
  },
  {
    name: "a call between two messages",
    news: [preview("one", 0), message("one"), BASH, preview("two", 0, "n"), message("two", "n")],
    want: 'ada: one\n  → bash {"command":"ls"}\nada: two\n',
  },
  {
    name: "the sender's name, with control characters",
    news: [event("turn_asked", { text: "hi\u001b[2J", by: "the operator" })],
    want: "the operator: hi\ufffd[2J\n",
  },
];
for (const { name, news, want } of ROWS) {
  Deno.test(`a transcript shows ${name}`, async () => {
    let shown = "";
    const transcript = createTranscript("ada", async (text) => {
      shown += text;
    });
    for (const one of news) await transcript.take(one);
    assert.equal(shown, want);
  });
}
