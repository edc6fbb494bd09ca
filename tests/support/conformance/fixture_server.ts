/**
 * The server under the conformance suite, at the far end of the product's path: newline-delimited
 * JSON-RPC on a unix socket, both protocol revisions, one state for all connections. Test code.
 *
 * @module
 */

import {
  ELICITATIONS,
  FIXED_TOOLS,
  type Json,
  promptResult,
  PROMPTS,
  resourceResult,
  RESOURCES,
  TEMPLATES,
  text,
  TOOLS,
} from "tests/support/conformance/content.ts";
import { answerInput, InputFault, promptInput } from "tests/support/conformance/inputs.ts";

/** A received message. */
export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

/** An error that becomes a JSON-RPC error. */
class RpcFault extends Error {
  constructor(readonly code: number, message: string, readonly data?: unknown) {
    super(message);
  }
}

const REVISION = "2026-07-28";
const VERSIONS = [REVISION];
const META = "io.modelcontextprotocol/";
const IDENTITY = { name: "conformance-fixture", version: "1.0.0" };
const STEP_MS = 20;
/** Methods of the older revision that the newer one removed. */
const REMOVED: ReadonlySet<string> = new Set([
  "initialize",
  "ping",
  "logging/setLevel",
  "resources/subscribe",
  "resources/unsubscribe",
]);
const LISTS: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

type Listener = (kind: string) => void;

/** Serves a listener until it is closed. */
export function serveFixture(listener: Deno.UnixListener): void {
  const listeners = new Set<Listener>();
  void (async () => {
    for await (const connection of listener) {
      new Session(connection, listeners).run().catch(() => {/* the client disconnected */});
    }
  })();
}

class Session {
  readonly #connection: Deno.UnixConn;
  readonly #listeners: Set<Listener>;
  readonly #own = new Set<Listener>();
  readonly #asked = new Map<number, (message: Message) => void>();
  #capabilities: Json = {};
  #asks = 0;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(connection: Deno.UnixConn, listeners: Set<Listener>) {
    this.#connection = connection;
    this.#listeners = listeners;
  }

  async run(): Promise<void> {
    let rest = "";
    const decoder = new TextDecoderStream();
    try {
      for await (const chunk of this.#connection.readable.pipeThrough(decoder)) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) void this.#take(JSON.parse(line) as Message);
      }
    } finally {
      for (const listener of this.#own) this.#listeners.delete(listener);
    }
  }

  #send(message: Json): Promise<void> {
    const bytes = new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const written = this.#writing.then(async () => {
      for (let at = 0; at < bytes.length;) at += await this.#connection.write(bytes.subarray(at));
    });
    this.#writing = written.catch(() => {/* the client disconnected */});
    return written;
  }

  /** Sends a request to the client, as servers of the older revision do. */
  async #ask(method: string, params: unknown): Promise<Json> {
    const id = ++this.#asks;
    const answer = new Promise<Message>((resolve) => this.#asked.set(id, resolve));
    await this.#send({ id, method, params });
    const { result, error } = await answer;
    if (result === undefined) throw new RpcFault(-32603, String(error?.message));
    return result;
  }

  async #take(message: Message): Promise<void> {
    const { id, method, params = {} } = message;
    if (method === undefined) return this.#asked.get(Number(id))?.(message);
    if (id === undefined) return;
    try {
      const meta = (params._meta ?? {}) as Json;
      const isNew = method === "server/discover" || `${META}protocolVersion` in meta;
      const result = isNew
        ? await this.#answerNew(id, method, params, meta)
        : await this.#answerOld(method, params, meta);
      if (result !== undefined) await this.#send({ id, result });
    } catch (thrown) {
      const fault = thrown instanceof InputFault
        ? new RpcFault(-32602, thrown.message)
        : thrown instanceof RpcFault
        ? thrown
        : new RpcFault(-32603, String(thrown));
      const { code, message: words, data } = fault;
      await this.#send({ id, error: { code, message: words, data } });
    }
  }

  async #answerOld(method: string, params: Json, meta: Json): Promise<Json> {
    switch (method) {
      case "initialize":
        this.#capabilities = (params.capabilities ?? {}) as Json;
        return {
          protocolVersion: params.protocolVersion === "2025-11-25" ? "2025-11-25" : "2025-06-18",
          serverInfo: IDENTITY,
          capabilities: {
            tools: { listChanged: true },
            prompts: { listChanged: true },
            resources: { subscribe: true, listChanged: true },
            logging: {},
            completions: {},
          },
        };
      case "ping":
      case "logging/setLevel":
      case "resources/subscribe":
      case "resources/unsubscribe":
        return {};
      case "tools/call":
        return await this.#callOld(String(params.name), params, meta);
      default:
        return common(method, params);
    }
  }

  async #callOld(name: string, params: Json, meta: Json): Promise<Json> {
    const given = (params.arguments ?? {}) as Json;
    const asks = (words: string) => ({ content: [text(words)] });
    switch (name) {
      case "test_tool_with_logging":
        for (
          const data of [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
          ]
        ) {
          await this.#send({ method: "notifications/message", params: { level: "info", data } });
          await pause();
        }
        return asks("logged three times");
      case "test_sampling": {
        const { content } = await this.#ask("sampling/createMessage", {
          messages: [{ role: "user", content: text(String(given.prompt)) }],
          maxTokens: 100,
        });
        return asks(`LLM response: ${(content as Json).text}`);
      }
      case "test_elicitation": {
        const answered = await this.#elicit(String(given.message), {
          username: { type: "string", description: "User's response" },
          email: { type: "string", description: "User's email address" },
        }, ["username", "email"]);
        return asks(`User response: ${JSON.stringify(answered)}`);
      }
    }
    const schema = ELICITATIONS[name];
    if (schema === undefined) return await this.#callAny(name, meta);
    const answered = await this.#elicit("Please fill this in", schema, []);
    return asks(
      `Elicitation completed: action=${answered.action}, content=${
        JSON.stringify(answered.content)
      }`,
    );
  }

  #elicit(message: string, properties: Json, required: readonly string[]): Promise<Json> {
    const requestedSchema = { type: "object", properties, required };
    return this.#ask("elicitation/create", { message, requestedSchema });
  }

  /** Tools that are the same in both revisions. */
  async #callAny(name: string, meta: Json): Promise<Json> {
    const fixed = FIXED_TOOLS[name];
    if (fixed !== undefined) return fixed;
    if (name === "test_tool_with_progress") {
      const { progressToken } = meta;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100 };
          await this.#send({ method: "notifications/progress", params });
        }
        await pause();
      }
      return { content: [text("progress was reported")] };
    }
    if (name === "test_trigger_tool_change" || name === "test_trigger_prompt_change") {
      const kind = name.includes("tool") ? "tools" : "prompts";
      for (const tell of this.#listeners) tell(kind);
      return { content: [text("changed")] };
    }
    throw new RpcFault(-32602, `Unknown tool: ${name}`);
  }

  async #answerNew(
    id: string | number,
    method: string,
    params: Json,
    meta: Json,
  ): Promise<Json | undefined> {
    const version = meta[`${META}protocolVersion`];
    const capabilities = meta[`${META}clientCapabilities`];
    if (typeof version !== "string" || typeof capabilities !== "object" || capabilities === null) {
      throw new RpcFault(-32602, "_meta must name protocolVersion and clientCapabilities");
    }
    if (!VERSIONS.includes(version)) {
      const data = { supported: VERSIONS, requested: version };
      throw new RpcFault(-32022, "Unsupported protocol version", data);
    }
    if (REMOVED.has(method)) throw new RpcFault(-32601, `Method not found: ${method}`);
    if (method === "subscriptions/listen") return void await this.#listen(id, params);
    const result = await this.#resultNew(method, params, meta, capabilities as Json);
    const hints = LISTS.has(method) || method === "server/discover"
      ? { ttlMs: 60_000, cacheScope: "public" }
      : {};
    return {
      resultType: "complete",
      ...hints,
      ...result,
      _meta: { [`${META}serverInfo`]: IDENTITY },
    };
  }

  async #resultNew(method: string, params: Json, meta: Json, capabilities: Json): Promise<Json> {
    if (method === "server/discover") {
      return {
        supportedVersions: VERSIONS,
        capabilities: {
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { listChanged: true },
          completions: {},
        },
      };
    }
    if (method === "prompts/get" && params.name === "test_input_required_result_prompt") {
      return promptInput(params);
    }
    if (method !== "tools/call") return common(method, params);
    const name = String(params.name);
    if (name === "test_missing_capability" && capabilities.sampling === undefined) {
      throw new RpcFault(-32021, "The client must be able to sample", {
        requiredCapabilities: { sampling: {} },
      });
    }
    return await answerInput(name, params, capabilities) ?? await this.#callAny(name, meta);
  }

  async #listen(id: string | number, params: Json): Promise<void> {
    const wanted = (params.notifications ?? {}) as Json;
    const tagged = { _meta: { [`${META}subscriptionId`]: id } };
    await this.#send({
      method: "notifications/subscriptions/acknowledged",
      params: { ...tagged, notifications: wanted },
    });
    const tell: Listener = (kind) => {
      if (wanted[`${kind}ListChanged`] !== true) return;
      void this.#send({ method: `notifications/${kind}/list_changed`, params: tagged });
    };
    this.#own.add(tell);
    this.#listeners.add(tell);
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, STEP_MS));
}

/** Methods that are the same in both revisions. */
function common(method: string, params: Json): Json {
  switch (method) {
    case "tools/list":
      return { tools: TOOLS };
    case "prompts/list":
      return { prompts: PROMPTS };
    case "resources/list":
      return { resources: RESOURCES };
    case "resources/templates/list":
      return { resourceTemplates: TEMPLATES };
    case "completion/complete":
      return { completion: { values: ["paris", "park", "party"], total: 3, hasMore: false } };
    case "prompts/get": {
      const found = promptResult(params.name, (params.arguments ?? {}) as Json);
      if (found === undefined) throw new RpcFault(-32602, `Unknown prompt: ${params.name}`);
      return found;
    }
    case "resources/read": {
      const found = resourceResult(params.uri);
      if (found !== undefined) return found;
      throw new RpcFault(-32602, "Resource not found", { uri: params.uri });
    }
    default:
      throw new RpcFault(-32601, `Method not found: ${method}`);
  }
}
