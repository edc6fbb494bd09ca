/**
 * The demo model as a real endpoint: HTTP on a separate loopback port, a random bearer token, and
 * the OpenAI-compatible streaming chat completions protocol. The agent loop reaches it through the
 * same provider code as any other endpoint, so that a demo turn runs the whole real path.
 *
 * @module
 */

import { isEqualInConstantTime } from "core/crypto/constant_time.ts";
import * as z from "zod";
import { readJson } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Random } from "core/ports/random.ts";
import type { Listener, Sockets } from "core/ports/sockets.ts";
import { err } from "core/result.ts";
import {
  answerDemo,
  type DemoAnswer,
  type DemoEnvironment,
  type DemoMessage,
} from "units/agent_loop/demo/phrases.ts";

/** A running demo endpoint. */
export interface DemoEndpoint {
  readonly baseUrl: string;
  readonly key: string;
  close(): Promise<void>;
}

/** Dependencies of the endpoint. */
export interface DemoPorts {
  readonly sockets: Sockets;
  readonly random: Random;
  readonly clock: Clock;
}

const BODY_BYTES_MAX = 16 * 1024 * 1024;
/** Pause between chunks: long enough to make streaming visible, too short to feel slow. */
const CHUNK_MS = 8;
/** Words in one chunk. */
const CHUNK_WORDS = 3;
/** Maximum number of small chunks; a longer answer is streamed in larger ones. */
const SLOW_CHUNKS_MAX = 120;

const content = z.union([
  z.string(),
  z.null(),
  z.array(z.object({ type: z.string(), text: z.string().optional() })),
]);
const requestShape = z.object({
  model: z.string(),
  stream: z.boolean().optional(),
  messages: z.array(z.object({
    role: z.string(),
    content: content.optional(),
    tool_call_id: z.string().optional(),
  })),
  tools: z.array(z.object({
    type: z.literal("function"),
    function: z.object({ name: z.string(), description: z.string().optional() }),
  })).optional(),
});

/** Starts the demo model on 127.0.0.1. */
export async function startDemoEndpoint(
  environment: DemoEnvironment,
  ports: DemoPorts,
): Promise<DemoEndpoint> {
  const key = Array.from(
    ports.random.bytes(32),
    (byte) => byte.toString(16).padStart(2, "0"),
  ).join("");
  const listener: Listener = await ports.sockets.serveHttp(
    { hostname: "127.0.0.1", port: 0 },
    (request) => handleDemo(request, { key, environment, ports }),
  );
  return {
    baseUrl: `http://127.0.0.1:${listener.address.port}/v1`,
    key,
    close: () => listener.close(0),
  };
}

/** Answers one request of the protocol. */
async function handleDemo(
  request: Request,
  demo: { readonly key: string; readonly environment: DemoEnvironment; readonly ports: DemoPorts },
): Promise<Response> {
  if (!isEqualInConstantTime(request.headers.get("authorization") ?? "", `Bearer ${demo.key}`)) {
    return problem(401, "The token is not this agent's");
  }
  const path = new URL(request.url).pathname;
  if (request.method === "GET" && path === "/v1/models") {
    return Response.json({ object: "list", data: [{ id: "demo", object: "model" }] });
  }
  if (request.method !== "POST" || path !== "/v1/chat/completions") {
    return problem(404, "Not found");
  }
  const body = await readJson(request.body, BODY_BYTES_MAX).catch(() => err("broken" as const));
  if (!body.ok && body.error === "too-large") return problem(413, "The request is too large");
  const parsed = requestShape.safeParse(body.ok ? body.value : undefined);
  if (!parsed.success) return problem(400, "The request is not a chat completion request");
  const answer = answerDemo({
    messages: parsed.data.messages.map(toDemoMessage),
    tools: (parsed.data.tools ?? []).map((tool) => ({
      name: tool.function.name,
      description: tool.function.description ?? "",
    })),
  }, demo.environment);
  const id = `demo-${demo.ports.random.uuid()}`;
  return parsed.data.stream === true
    ? streamAnswer(answer, id, demo.ports.clock)
    : Response.json(wholeAnswer(answer, id));
}

function toDemoMessage(
  message: z.infer<typeof requestShape>["messages"][number],
): DemoMessage {
  const given = message.content ?? "";
  const text = typeof given === "string" ? given : given.map((part) => part.text ?? "").join("");
  if (message.role === "tool") {
    return { role: "tool", callId: message.tool_call_id ?? "", text };
  }
  const role = message.role === "user" || message.role === "assistant" ? message.role : "system";
  return { role, text };
}

function streamAnswer(answer: DemoAnswer, id: string, clock: Clock): Response {
  const encoder = new TextEncoder();
  const events = eventsOf(answer, id);
  let sent = 0;
  const cancelled = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value, done } = events.next();
      if (done) return controller.close();
      // Pauses only between words; other events are sent at once.
      if (value.isWords && sent++ > 0) await clock.sleep(CHUNK_MS, cancelled.signal);
      if (cancelled.signal.aborted) return;
      controller.enqueue(encoder.encode(`data: ${value.data}\n\n`));
    },
    cancel: () => cancelled.abort(),
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

function* eventsOf(
  answer: DemoAnswer,
  id: string,
): Generator<{ readonly data: string; readonly isWords: boolean }, void, undefined> {
  const event = (value: unknown, isWords = false) => ({ data: JSON.stringify(value), isWords });
  const chunk = (delta: unknown, finish: string | null = null, isWords = false) =>
    event({
      id,
      object: "chat.completion.chunk",
      created: 0,
      model: "demo",
      choices: [{ index: 0, delta, finish_reason: finish }],
    }, isWords);
  yield chunk({ role: "assistant", content: "" });
  for (const piece of piecesOf(answer.text)) yield chunk({ content: piece }, null, true);
  if (answer.call !== undefined) {
    const { tool, arguments: args } = answer.call;
    const named = { index: 0, id: `call-${id}`, type: "function" };
    yield chunk({ tool_calls: [{ ...named, function: { name: tool, arguments: "" } }] });
    yield chunk({ tool_calls: [{ index: 0, function: { arguments: JSON.stringify(args) } }] });
  }
  yield chunk({}, answer.call === undefined ? "stop" : "tool_calls");
  const length = answer.text.length;
  const usage = { prompt_tokens: 0, completion_tokens: length, total_tokens: length };
  yield event({ id, object: "chat.completion.chunk", model: "demo", choices: [], usage });
  yield { data: "[DONE]", isWords: false };
}

/** Splits a text into pieces of a few words; whitespace stays with the word before it. */
export function piecesOf(text: string): readonly string[] {
  const words = text.match(/\s*\S+\s*/g) ?? (text === "" ? [] : [text]);
  const pieces: string[] = [];
  for (let at = 0; at < words.length;) {
    const count = pieces.length < SLOW_CHUNKS_MAX ? CHUNK_WORDS : CHUNK_WORDS * 20;
    pieces.push(words.slice(at, at + count).join(""));
    at += count;
  }
  return pieces;
}

function wholeAnswer(answer: DemoAnswer, id: string) {
  const calls = answer.call === undefined ? {} : {
    tool_calls: [{
      id: `call-${id}`,
      type: "function",
      function: { name: answer.call.tool, arguments: JSON.stringify(answer.call.arguments) },
    }],
  };
  return {
    id,
    object: "chat.completion",
    created: 0,
    model: "demo",
    choices: [{
      index: 0,
      message: { role: "assistant", content: answer.text, ...calls },
      finish_reason: answer.call === undefined ? "stop" : "tool_calls",
    }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}

function problem(status: number, message: string): Response {
  return Response.json({ error: { message, type: "invalid_request_error" } }, { status });
}
