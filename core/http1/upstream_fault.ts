/**
 * Why a server returned no usable answer. No I/O.
 *
 * @module
 */

/** Why there is no answer; `message` is for the log. */
export class UpstreamFault extends Error {
  override readonly name = "UpstreamFault";
  constructor(
    readonly reason: "unreachable" | "aborted" | "malformed",
    message: string,
  ) {
    super(message);
  }
}
