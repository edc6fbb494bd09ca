/**
 * The port through which verbs speak to MCP servers. Types only; the adapter is
 * `cli/os/mcp_client.ts`. No part of `Host`, because only `mcp read` and `mcp call` need it.
 *
 * @module
 */

import type { McpQuestion, McpReply } from "core/mcp/question.ts";
import type { ProcessSpec } from "core/ports/processes.ts";
import type { Result } from "core/result.ts";
import type { CallOrigin } from "core/mcp/call_origin.ts";

/** One tool as a server lists it. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The whole definition as the server sent it. */
  readonly definition: Readonly<Record<string, unknown>>;
}

/** What a tool answered. */
export interface McpAnswer {
  readonly isError: boolean;
  /** The texts of the answer, joined by line breaks. */
  readonly text: string;
  /** The whole result as the server sent it. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** An MCP server that is reached by URL, with every key filled in. */
export interface HttpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that may stand in no message: values of keys, as they are and as the URL holds them. */
  readonly secrets: readonly string[];
}

/** Where an MCP server is: its socket starts it on connect, it is a program on stdio, or a URL. */
export type McpEndpoint =
  | { readonly socket: string }
  | { readonly http: HttpEndpoint }
  | ProgramEndpoint;

/** A program on stdio. */
export type ProgramEndpoint = ProcessSpec & {
  /** The end of what it prints on stderr goes with a refusal, line by line. */
  readonly keepsWords?: true;
};

/**
 * A short-lived MCP client: one connection per call. It does not gate:
 * `core/risk/admission.ts` does.
 */
export interface McpClient {
  listTools(mcp: string, at: McpEndpoint): Promise<Result<readonly McpTool[]>>;
  callTool(
    mcp: string,
    at: McpEndpoint,
    call: {
      readonly tool: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      /** Since the call or its last sign of life. */
      readonly timeoutMs?: number;
      /** Judges what the server lists right before the call; a refusal of it is the answer. */
      readonly admit?: (listed: readonly McpTool[]) => Promise<Result<void>>;
      /** Answers what the server asks; without it the server is told that it may not ask. */
      readonly answer?: (question: McpQuestion) => Promise<McpReply>;
      /** Told to our own proxy, never to a server. */
      readonly origin?: CallOrigin;
    },
  ): Promise<Result<McpAnswer>>;
}
