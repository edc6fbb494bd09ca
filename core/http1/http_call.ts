/**
 * A request and an answer with short, fully buffered bodies. Types only; the adapter is
 * `core/http1/os/http_call.ts`. `fetch` costs five times as much for such a request, and does not
 * report reliably whether anything was sent.
 *
 * @module
 */

/** A request. */
export interface HttpCallRequest {
  readonly method: "POST" | "PUT";
  /** Scheme http or https, host, path, in ASCII; neither user nor fragment. */
  readonly url: string;
  /** Names and values in ASCII; the adapter adds framing and `host`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Limit for the body of the answer. */
  readonly answerBytesMax: number;
  /** For the whole call, to the end of the answer. */
  readonly timeoutMs: number;
}

/** The answer; redirects are not followed. */
export interface HttpCallAnswer {
  readonly status: number;
  /** The value of a header, by its name in lowercase. */
  header(name: string): string | undefined;
  /** Undefined if it was too long, truncated, late, compressed or not UTF-8. */
  readonly body: string | undefined;
}

/** Sends one request; rejects with `HttpCallFault` if there is no answer. Never retries. */
export type HttpCall = (request: HttpCallRequest) => Promise<HttpCallAnswer>;

/** Why there is no answer. `unmade`: nothing was sent. `unanswered`: it may have been received. */
export class HttpCallFault extends Error {
  override readonly name = "HttpCallFault";
  constructor(readonly reason: "unmade" | "unanswered", message: string) {
    super(message);
  }
}
