/**
 * The answer to `elicitation/create` of an ACP program: a question to a person. The protocol does
 * not say which MCP asks. A form that cannot be shown is cancelled, and a notice says why.
 *
 * @module
 */

import type { CreateElicitationRequest, CreateElicitationResponse } from "@agentclientprotocol/sdk";
import { askSafely, elicitationOf, type QuestionAsker } from "units/dial/runtimes/question.ts";

/** What an ACP session knows that an elicitation needs. */
export interface ElicitationContext {
  readonly ask: QuestionAsker | undefined;
  /** Aborts when the running turn is cancelled. */
  signal(): AbortSignal | undefined;
  /** Shows a notice in the running turn. */
  onNotice(update: unknown): void;
}

/** Asks a person and answers in the protocol's terms; `gone` aborts when the program gives up. */
export async function answerElicitation(
  { message, mode, ...rest }: CreateElicitationRequest,
  gone: AbortSignal,
  context: ElicitationContext,
): Promise<CreateElicitationResponse> {
  const { url, requestedSchema: schema }: Readonly<Record<string, unknown>> = rest;
  const read = elicitationOf({ mcp: null, message, mode, url, schema });
  if (read.form === undefined) {
    context.onNotice(read.notice);
    return { action: "cancel" };
  }
  const turn = context.signal();
  const over = turn === undefined ? gone : AbortSignal.any([gone, turn]);
  return read.resultOf(await askSafely(context.ask, read.form, over)) as CreateElicitationResponse;
}
