/**
 * A request with a short body whose answer is short and read whole. Types only; the adapter is
 * `core/os/http_call.ts`. Beside `fetch` because that costs five times as much for such a request, and
 * tells with less care whether anything was sent.
 *
 * @module
 */

/** A request. */
export interface HttpCallRequest {
  readonly method: "POST" | "PUT";
  /** Scheme http or https, host, path, in ASCII; neither user nor fragment. */
  readonly url: string;
  /** Names and values in ASCII; framing and `host` are the adapter's. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Of the answer's body. */
  readonly answerBytesMax: number;
  /** From the beginning to the end of the answer. */
  readonly timeoutMs: number;
}

/** The answer: whatever it says, it is not followed. */
export interface HttpCallAnswer {
  readonly status: number;
  /** The value of a header, by its name in lowercase. */
  header(name: string): string | undefined;
  /** Undefined when it was too long, broke off, came too late, was packed or no UTF-8. */
  readonly body: string | undefined;
}

/** Sends one request; rejects with `HttpCallFault` when no answer begins. Nothing is sent twice. */
export type HttpCall = (request: HttpCallRequest) => Promise<HttpCallAnswer>;

/** Why there is no answer. `unmade`: nothing was sent. `unanswered`: it may have got there. */
export class HttpCallFault extends Error {
  override readonly name = "HttpCallFault";
  constructor(readonly reason: "unmade" | "unanswered", message: string) {
    super(message);
  }
}
