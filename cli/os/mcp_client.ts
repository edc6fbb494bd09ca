/**
 * The adapter of `McpClient`: the official SDK's client over a unix socket, a program's stdio or a
 * URL. It negotiates the protocol revision of the server. Time and bytes are bounded. It does not
 * gate calls.
 *
 * @module
 */

import {
  Client,
  type ClientCapabilities,
  type JSONRPCMessage,
  type Transport,
} from "@modelcontextprotocol/client";
import { brokenMessage } from "core/mcp/broken_message.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { McpAnswer, McpClient, McpEndpoint, McpTool } from "core/ports/mcp_client.ts";
import { keepStderr, type StderrTail } from "cli/os/stderr_tail.ts";
import { openMcpHttp } from "core/os/mcp_http.ts";
import { answerQuestions, ASKABLE, startDeadline } from "cli/os/mcp_questions.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { Processes } from "core/ports/processes.ts";
import type { ByteStream, Sockets } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import { readLineBytes } from "core/text/lines.ts";
import { VERSION } from "core/version.ts";
import { isRecord } from "core/text/json_object.ts";

/**
 * The longest timer. The SDK's timeout is disabled, because a call's own deadline pauses while a
 * person answers.
 */
const NEVER_MS = 2_147_483_647;
const TOOLS_MAX = 2_000;
/** A truncated message is not a message. */
const LINES = { lineBytesMax: MCP_LIMITS.messageBytesMax, mustEnd: true };

/** The ports that the client needs. */
export interface McpClientPorts {
  readonly sockets: Pick<Sockets, "connectUnix">;
  readonly processes: Pick<Processes, "spawn">;
  readonly http: HttpClient;
  readonly clock: Pick<Clock, "after">;
}

/** Creates a client. */
export function systemMcpClient(ports: McpClientPorts): McpClient {
  return {
    listTools: (mcp, at) =>
      withClient(mcp, at, ports, async (client, sent) => ok(await listTools(client, sent))),
    callTool: (mcp, at, call) =>
      withClient(mcp, at, ports, async (client, sent) => {
        const admitted = await call.admit?.(await listTools(client, sent)) ?? ok(undefined);
        if (!admitted.ok) return admitted;
        const deadline = startDeadline(
          ports.clock,
          call.timeoutMs ?? MCP_LIMITS.callSeconds * 1000,
        );
        if (call.answer !== undefined) answerQuestions(client, call.answer, deadline);
        // Only this product's proxy learns where a call comes from, because only it waits for
        // approval.
        const meta = !("command" in at) || call.origin === undefined
          ? {}
          : { _meta: { fleetctl: { origin: call.origin } } };
        const result = await client.callTool(
          { name: call.tool, arguments: { ...call.arguments }, ...meta },
          { timeout: NEVER_MS, signal: deadline.signal, onprogress: () => deadline.restart() },
        ).catch((thrown: unknown) => {
          if (deadline.isOver()) throw new Error("the call timed out");
          throw thrown;
        }).finally(() => deadline.stop());
        return ok(toAnswer(result as unknown as Readonly<Record<string, unknown>>));
      }, call.answer === undefined ? {} : ASKABLE),
  };
}

type Definition = Readonly<Record<string, unknown>>;

/**
 * Lists the tools with the definitions that the server sent. The SDK drops unknown fields, but
 * another client may show them to its model, so they must be locked and compared.
 */
async function listTools(
  client: Client,
  sent: readonly Definition[],
): Promise<readonly McpTool[]> {
  const before = sent.length;
  const { tools } = await client.listTools(undefined, {
    timeout: MCP_LIMITS.handshakeSeconds * 1000,
  });
  const whole = sent.slice(before);
  return tools.slice(0, TOOLS_MAX).map((tool, at): McpTool => ({
    name: tool.name,
    description: tool.description ?? tool.title ?? "",
    inputSchema: tool.inputSchema as Definition,
    definition: whole[at]?.["name"] === tool.name
      ? whole[at]
      : whole.find(({ name }) => name === tool.name) ?? tool as unknown as Definition,
  }));
}

function toAnswer(result: Readonly<Record<string, unknown>>): McpAnswer {
  const content: readonly unknown[] = Array.isArray(result["content"]) ? result["content"] : [];
  const texts = content.flatMap((block) => {
    const { type, text } = block as { type?: unknown; text?: unknown };
    return type === "text" && typeof text === "string" ? [text] : [];
  });
  return { isError: result["isError"] === true, text: texts.join("\n"), result };
}

async function withClient<T>(
  mcp: string,
  at: McpEndpoint,
  ports: McpClientPorts,
  work: (client: Client, sent: readonly Definition[]) => Promise<Result<T>>,
  capabilities: ClientCapabilities = {},
): Promise<Result<T>> {
  let stream: ByteStream & { readonly stderr?: StderrTail };
  try {
    stream = await openStream(at, ports);
  } catch (thrown) {
    return err(refusal(
      "mcp-unreachable",
      `Cannot reach MCP ${JSON.stringify(mcp)}: ${reachText(at, thrown)}`,
      { hints: ["fleetctl apply"] },
    ));
  }
  const { transport, fault, sent } = streamTransport(stream);
  const client = new Client({ name: "fleetctl", version: VERSION }, {
    capabilities,
    versionNegotiation: { mode: "auto", probe: { timeoutMs: MCP_LIMITS.probeMs } },
  });
  try {
    await client.connect(transport, { timeout: MCP_LIMITS.handshakeSeconds * 1000 });
    return await work(client, sent);
  } catch (thrown) {
    const refused = callRefusal(mcp, at, thrown, fault());
    stream.close();
    const output = await stream.stderr?.read(ports.clock) ?? "";
    return err(output === "" ? refused : { ...refused, details: output.split("\n") });
  } finally {
    await client.close().catch(() => {/* the connection is already closed */});
    stream.close();
  }
}

async function openStream(
  at: McpEndpoint,
  ports: McpClientPorts,
): Promise<ByteStream & { readonly stderr?: StderrTail }> {
  if ("socket" in at) return await ports.sockets.connectUnix(at.socket);
  if ("http" in at) return openMcpHttp(at.http, ports);
  const child = await ports.processes.spawn({ ...at, group: true });
  const stderr = keepStderr(child.stderr);
  return {
    ...(at.keepsStderr ? { stderr } : {}),
    readable: child.stdout,
    writable: child.stdin,
    close: () => child.kill("SIGTERM"),
  };
}

function reachText(at: McpEndpoint, thrown: unknown): string {
  if (!("socket" in at)) return errorText(thrown);
  const name = thrown instanceof Error ? thrown.name : "";
  const state = name === "NotFound"
    ? "does not exist"
    : name === "ConnectionRefused"
    ? "has no listener"
    : name === "PermissionDenied"
    ? "belongs to another user"
    : `cannot be used: ${errorText(thrown)}`;
  return `its socket "${at.socket}" ${state}`;
}

/**
 * Codes of this product's proxy that a verb passes on. A server's own errors become `mcp-failed`.
 */
const PROXY_CODES: ReadonlySet<unknown> = new Set(["mcp-ended", "server-garbage", "tree-altered"]);

function callRefusal(
  mcp: string,
  at: McpEndpoint,
  thrown: unknown,
  fault: Fault | undefined,
): Refusal {
  const text = errorText(thrown).replace(/\s+/g, " ").slice(0, 600);
  const name = JSON.stringify(mcp);
  const logs = { hints: [`fleetctl logs mcp:${mcp}`] };
  if (fault?.isGarbage) {
    return refusal("server-garbage", `Cannot finish the call of MCP ${name}: ${fault.why}`, logs);
  }
  if (fault !== undefined) {
    return refusal("mcp-ended", `Cannot finish the call of MCP ${name}: ${fault.why}`, logs);
  }
  const { code, data } = (thrown ?? {}) as { readonly code?: unknown; readonly data?: unknown };
  const ownCode = isRecord(data) ? data["code"] : undefined;
  if ("command" in at && PROXY_CODES.has(ownCode)) return refusal(String(ownCode), text, logs);
  if (code === "REQUEST_TIMEOUT" || /timed out/i.test(text)) {
    return refusal("mcp-timeout", `Cannot finish the call of MCP ${name}: no answer in time`);
  }
  return refusal("mcp-failed", `Cannot finish the call of MCP ${name}: it answered: ${text}`);
}

/** Why a stream cannot be used any longer. */
interface Fault {
  /** Part of a sentence. */
  readonly why: string;
  readonly isGarbage?: true;
}

/** A server that ends without reading its input resets the connection. */
function endOf(thrown: unknown): Fault {
  const { name, code } = thrown as { readonly name?: unknown; readonly code?: unknown };
  const isReset = name === "ConnectionReset" || code === "ECONNRESET";
  return { why: isReset ? "the server ended" : errorText(thrown) };
}

/** The SDK's transport over a byte stream. `fault` returns how the stream ended, once it has. */
function streamTransport(stream: ByteStream) {
  const writer = stream.writable.getWriter();
  writer.closed.catch(() => {/* the reader sees the end too */});
  const encoder = new TextEncoder();
  const sent: Definition[] = [];
  let fault: Fault | undefined;
  let isClosing = false;

  const transport: Transport = {
    start() {
      void receive();
      return Promise.resolve();
    },
    async send(message: JSONRPCMessage) {
      await writer.write(encoder.encode(`${JSON.stringify(message)}\n`));
    },
    close() {
      isClosing = true;
      stream.close();
      transport.onclose?.();
      return Promise.resolve();
    },
  };

  async function receive(): Promise<void> {
    try {
      for await (const line of readLineBytes(stream.readable, LINES)) {
        const message = parseMessage(line);
        if (message === undefined) {
          const why = brokenMessage(line);
          if (why === undefined) continue;
          fault = { why: `an answer of the server is unusable, ${why}`, isGarbage: true };
          break;
        }
        if (sent.length < TOOLS_MAX) sent.push(...toolsIn(message));
        transport.onmessage?.(message);
      }
      if (!isClosing) fault ??= { why: "the server ended" };
    } catch (thrown) {
      if (!isClosing) fault = endOf(thrown);
    }
    if (isClosing) return;
    isClosing = true;
    stream.close();
    transport.onclose?.();
  }

  return { transport, fault: () => fault, sent };
}

/** Returns the definitions in an answer, exactly as sent. */
function toolsIn(message: JSONRPCMessage): readonly Definition[] {
  const { result } = message as { readonly result?: { readonly tools?: unknown } };
  const tools: readonly unknown[] = Array.isArray(result?.tools) ? result.tools : [];
  return tools.filter((one): one is Definition => typeof one === "object" && one !== null)
    .slice(0, TOOLS_MAX);
}

/** Servers may print other text on stdout; it is ignored. */
function parseMessage(line: Uint8Array): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    return isRecord(value) ? value as JSONRPCMessage : undefined;
  } catch {
    return undefined;
  }
}
