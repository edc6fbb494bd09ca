/**
 * The port through which verbs call MCP servers. Types only; the adapter is `cli/os/mcp_client.ts`.
 * Not part of `Host`, because only verbs about MCPs need it.
 *
 * @module
 */

import type { QuestionForm, QuestionReply } from "core/questions/form.ts";
import type { ProcessSpec } from "core/ports/processes.ts";
import type { Result } from "core/result.ts";
import type { CallOrigin } from "core/mcp/call_origin.ts";

/** One tool as a server lists it. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The complete definition, as the server sent it. */
  readonly definition: Readonly<Record<string, unknown>>;
}

/** The result of a tool call. */
export interface McpAnswer {
  readonly isError: boolean;
  /** The texts of the result, joined by line breaks. */
  readonly text: string;
  /** The complete result, as the server sent it. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** An MCP server reached by URL, with every key filled in. */
export interface HttpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Values of keys, both plain and as encoded in the URL. No message may contain them. */
  readonly secrets: readonly string[];
}

/**
 * How an MCP server is reached: a socket that starts it on connect, a program on stdio, or a URL.
 */
export type McpEndpoint =
  | { readonly socket: string }
  | { readonly http: HttpEndpoint }
  | ProgramEndpoint;

/** A program on stdio. */
export type ProgramEndpoint = ProcessSpec & {
  /** Adds the end of the program's stderr to a refusal, line by line. */
  readonly keepsStderr?: true;
};

/**
 * A short-lived MCP client: one connection per call. It does not gate; `core/risk/admission.ts`
 * does.
 */
export interface McpClient {
  listTools(mcp: string, at: McpEndpoint): Promise<Result<readonly McpTool[]>>;
  callTool(
    mcp: string,
    at: McpEndpoint,
    call: {
      readonly tool: string;
      readonly arguments: Readonly<Record<string, unknown>>;
      /** Counted from the call or from its last sign of life. */
      readonly timeoutMs?: number;
      /**
       * Checks the server's tool list right before the call. A refusal is returned as the result.
       */
      readonly admit?: (listed: readonly McpTool[]) => Promise<Result<void>>;
      /**
       * Answers the server's requests. Without it, the server learns that requests are not
       * supported.
       */
      readonly answer?: (question: QuestionForm) => Promise<QuestionReply>;
      /** Sent to the MCP proxy only, never to a server. */
      readonly origin?: CallOrigin;
    },
  ): Promise<Result<McpAnswer>>;
}
