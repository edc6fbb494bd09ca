/**
 * A model endpoint controlled by a test: real HTTP on loopback, the real streaming protocols of
 * three providers, and a script of replies. It records each request unchanged.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  anthropicEvents,
  chatEvents,
  type ReplyUsage,
  responsesEvents,
} from "tests/fakes/model_protocols.ts";

/** What the endpoint does with one request. */
export type ModelReply =
  /** A complete answer: text, tool calls, or both. */
  | {
    readonly kind: "answer";
    readonly text?: string;
    readonly calls?: readonly { readonly tool: string; readonly arguments: unknown }[];
    readonly finish?: "stop" | "length";
    /** Raw text of the arguments, such as broken JSON. */
    readonly rawArguments?: string;
    /** Tokens that the answer reports; a few when absent. */
    readonly usage?: ReplyUsage;
    /** The answer begins when this has resolved. */
    readonly after?: Promise<void>;
  }
  /** An HTTP status with headers and a body. */
  | {
    readonly kind: "status";
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  }
  /** Some text, then the connection breaks. With `cleanly`, it ends without the closing events. */
  | { readonly kind: "cut"; readonly text: string; readonly cleanly?: boolean }
  /** Some text, then nothing until the client disconnects. */
  | { readonly kind: "hang"; readonly text: string }
  /** A body that is not a valid answer. */
  | { readonly kind: "garbage"; readonly body: string; readonly contentType?: string };

/** A recorded request. */
export interface ModelRequest {
  readonly path: string;
  readonly headers: Headers;
  // deno-lint-ignore no-explicit-any -- a test inspects the JSON of three protocols.
  readonly body: any;
}

/** A running endpoint. */
export interface FakeModel {
  /** `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string;
  readonly requests: readonly ModelRequest[];
  /**
   * Adds replies to the script. When the script is empty, the endpoint answers 500 `script is
   * over`.
   */
  script(...replies: readonly (ModelReply | ((request: ModelRequest) => ModelReply))[]): void;
  /** Drops the rest of the script. */
  forget(): void;
  /** Resolves when the client of a `hang` reply has disconnected. */
  readonly hungUp: Promise<void>;
  close(): Promise<void>;
}

/** Whether a request is a side request, which a program makes outside its turns. */
export type IsAside = (request: ModelRequest) => boolean;

/** Some programs request a title of the conversation; that request declares no tools. */
export const hasNoTools: IsAside = ({ body }) => !(body?.tools?.length > 0);

/**
 * Starts an endpoint on 127.0.0.1. It uses `node:http`, which can break a connection in the middle
 * of an answer. A side request gets a short answer; it is not recorded and consumes no reply.
 */
export async function startFakeModel(isAside: IsAside = () => false): Promise<FakeModel> {
  const replies: (ModelReply | ((request: ModelRequest) => ModelReply))[] = [];
  const requests: ModelRequest[] = [];
  const hungUp = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    // Programs probe the address before they use it; a probe is not a model request.
    if (request.method === "HEAD") return void response.writeHead(200).end();
    const chunks = await request.toArray().catch(() => undefined);
    // The program was stopped while it sent the request.
    if (chunks === undefined) return;
    const text = Buffer.concat(chunks).toString();
    const seen: ModelRequest = {
      path: request.url ?? "",
      headers: new Headers(request.headers as Record<string, string>),
      body: text === "" ? undefined : JSON.parse(text),
    };
    if (isAside(seen)) return respond(ASIDE, seen, response);
    requests.push(seen);
    const next = replies.shift();
    const reply = typeof next === "function" ? next(seen) : next;
    if (reply?.kind === "answer") await reply.after;
    if (reply?.kind === "hang") response.on("close", () => hungUp.resolve());
    respond(reply ?? SCRIPT_OVER, seen, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    requests,
    script: (...more) => void replies.push(...more),
    forget: () => void replies.splice(0),
    hungUp: hungUp.promise,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Without tokens, so that those of a turn do not depend on side requests. */
const ASIDE: ModelReply = { kind: "answer", text: "A title", usage: { input: 0, output: 0 } };

function pathOf({ path }: ModelRequest): string {
  return path.split("?")[0] ?? "";
}

const SCRIPT_OVER: ModelReply = {
  kind: "status",
  status: 400,
  body: { error: { message: "the script is over" } },
};

/** Returns the tool namespaces that an OpenAI Responses request declares. */
function namespacesOf({ body }: ModelRequest): readonly string[] {
  const tools: readonly { readonly type?: string; readonly name: string }[] = body?.tools ?? [];
  return tools.filter(({ type }) => type === "namespace").map(({ name }) => name);
}

function respond(reply: ModelReply, request: ModelRequest, response: ServerResponse): void {
  if (reply.kind === "status") {
    response.writeHead(reply.status, { "content-type": "application/json", ...reply.headers });
    response.end(JSON.stringify(reply.body ?? { error: { message: `status ${reply.status}` } }));
    return;
  }
  if (reply.kind === "garbage") {
    response.writeHead(200, { "content-type": reply.contentType ?? "text/event-stream" });
    response.end(reply.body);
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const path = pathOf(request);
  const events = path.endsWith("/messages")
    ? anthropicEvents(reply)
    : path.endsWith("/responses")
    ? responsesEvents(reply, namespacesOf(request))
    : chatEvents(reply);
  const end = () => {
    if (reply.kind === "cut" && reply.cleanly !== true) response.destroy();
    else if (reply.kind !== "hang") response.end();
  };
  const write = (at: number): void => {
    const event = events[at];
    if (event === undefined) return end();
    response.write(event, () => write(at + 1));
  };
  write(0);
}
