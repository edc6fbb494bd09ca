/**
 * The streaming answers of three model protocols as server-sent events: OpenAI-compatible chat
 * completions, Anthropic messages, OpenAI responses. A reply that is cut or hangs ends after its
 * text, without the closing events.
 *
 * @module
 */

/** Tokens that an answer reports, each counted once; the protocols add some of them up. */
export interface ReplyUsage {
  readonly input: number;
  readonly output: number;
  readonly cachedRead?: number;
  readonly cachedWrite?: number;
}

const USAGE: ReplyUsage = { input: 7, output: 3 };

/** The content of an answer. */
export interface ProtocolReply {
  readonly kind: "answer" | "cut" | "hang";
  readonly text?: string;
  readonly calls?: readonly { readonly tool: string; readonly arguments: unknown }[];
  readonly finish?: "stop" | "length";
  readonly rawArguments?: string;
  readonly usage?: ReplyUsage;
}

let serial = 0;

function pieces(text: string): readonly string[] {
  return text.match(/[\s\S]{1,12}/g) ?? [];
}

/** Returns the `data:` events of chat completions. */
export function chatEvents(reply: ProtocolReply): readonly string[] {
  const id = `chat-${++serial}`;
  const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
  const chunk = (delta: unknown, finish: string | null = null) =>
    data({ id, model: "fake", choices: [{ index: 0, delta, finish_reason: finish }] });
  const events = [chunk({ role: "assistant", content: "" })];
  for (const piece of pieces(reply.text ?? "")) events.push(chunk({ content: piece }));
  if (reply.kind !== "answer") return events;
  (reply.calls ?? []).forEach((call, index) => {
    const args = reply.rawArguments ?? JSON.stringify(call.arguments);
    const named = { index, id: `call-${++serial}`, type: "function" };
    events.push(
      chunk({ tool_calls: [{ ...named, function: { name: call.tool, arguments: "" } }] }),
    );
    for (const piece of pieces(args)) {
      events.push(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
    }
  });
  const hasCalls = (reply.calls ?? []).length > 0;
  events.push(chunk({}, reply.finish ?? (hasCalls ? "tool_calls" : "stop")));
  events.push(data({ id, model: "fake", choices: [], usage: chatUsage(reply.usage) }));
  events.push("data: [DONE]\n\n");
  return events;
}

function chatUsage({ input, output, cachedRead = 0, cachedWrite = 0 }: ReplyUsage = USAGE) {
  const prompt_tokens = input + cachedRead + cachedWrite;
  return {
    prompt_tokens,
    completion_tokens: output,
    total_tokens: prompt_tokens + output,
    prompt_tokens_details: { cached_tokens: cachedRead, cache_write_tokens: cachedWrite },
  };
}

/** Returns the named events of Anthropic messages. */
export function anthropicEvents(reply: ProtocolReply): readonly string[] {
  const event = (type: string, fields: Readonly<Record<string, unknown>> = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const { input, output, cachedRead = 0, cachedWrite = 0 } = reply.usage ?? USAGE;
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: cachedRead,
    cache_creation_input_tokens: cachedWrite,
    output_tokens: 0,
  };
  const message = {
    id: `msg-${++serial}`,
    type: "message",
    role: "assistant",
    model: "fake",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const events = [event("message_start", { message })];
  let index = 0;
  if (reply.text !== undefined) {
    const block = { index, content_block: { type: "text", text: "" } };
    events.push(event("content_block_start", block));
    for (const text of pieces(reply.text)) {
      events.push(event("content_block_delta", { index, delta: { type: "text_delta", text } }));
    }
    if (reply.kind !== "answer") return events;
    events.push(event("content_block_stop", { index: index++ }));
  }
  for (const call of reply.calls ?? []) {
    const tool = { type: "tool_use", id: `toolu_${++serial}`, name: call.tool, input: {} };
    events.push(event("content_block_start", { index, content_block: tool }));
    const json = JSON.stringify(call.arguments);
    const delta = { type: "input_json_delta", partial_json: json };
    events.push(event("content_block_delta", { index, delta }));
    events.push(event("content_block_stop", { index: index++ }));
  }
  const hasCalls = (reply.calls ?? []).length > 0;
  const reason = reply.finish === "length" ? "max_tokens" : hasCalls ? "tool_use" : "end_turn";
  const delta = { stop_reason: reason, stop_sequence: null };
  events.push(event("message_delta", { delta, usage: { output_tokens: output } }));
  events.push(event("message_stop"));
  return events;
}

/**
 * Returns the named events of OpenAI responses. A call of `<namespace>__<tool>` has separate fields
 * for namespace and tool when the request declares that namespace.
 */
export function responsesEvents(
  reply: ProtocolReply,
  namespaces: readonly string[] = [],
): readonly string[] {
  const event = (type: string, fields: Readonly<Record<string, unknown>> = {}) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const response = {
    id: `resp_${++serial}`,
    object: "response",
    created_at: 1,
    model: "fake",
    status: "in_progress",
    output: [],
  };
  const events = [event("response.created", { response })];
  let index = 0;
  if (reply.text !== undefined) {
    const item_id = `msg_${++serial}`;
    const item = { id: item_id, type: "message", role: "assistant", content: [] };
    events.push(event("response.output_item.added", { output_index: index, item }));
    for (const delta of pieces(reply.text)) {
      const at = { item_id, output_index: index, content_index: 0 };
      events.push(event("response.output_text.delta", { ...at, delta, logprobs: [] }));
    }
    if (reply.kind !== "answer") return events;
    const content = [{ type: "output_text", text: reply.text, annotations: [] }];
    const whole = { ...item, status: "completed", content };
    events.push(event("response.output_item.done", { output_index: index++, item: whole }));
  }
  for (const call of reply.calls ?? []) {
    const namespace = namespaces.find((each) => call.tool.startsWith(`${each}__`));
    const item = {
      id: `fc_${++serial}`,
      type: "function_call",
      call_id: `call_${++serial}`,
      ...(namespace === undefined ? { name: call.tool } : {
        namespace,
        name: call.tool.slice(namespace.length + 2),
      }),
      arguments: "",
    };
    const json = JSON.stringify(call.arguments);
    events.push(event("response.output_item.added", { output_index: index, item }));
    const at = { item_id: item.id, output_index: index };
    events.push(event("response.function_call_arguments.delta", { ...at, delta: json }));
    const whole = { ...item, arguments: json, status: "completed" };
    events.push(event("response.output_item.done", { output_index: index++, item: whole }));
  }
  const { input, output, cachedRead = 0, cachedWrite = 0 } = reply.usage ?? USAGE;
  const input_tokens = input + cachedRead + cachedWrite;
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens: cachedRead, cache_write_tokens: cachedWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output,
  };
  const done = { ...response, status: "completed", usage };
  events.push(event("response.completed", { response: done }));
  return events;
}
