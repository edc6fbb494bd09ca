/**
 * What `Sockets.connectFrames` throws when the server answers with a status. No I/O.
 *
 * @module
 */

/** A server that answered the opening of a WebSocket with an HTTP status. */
export class UpgradeFault extends Error {
  override readonly name = "UpgradeFault";
  /** `text` is the beginning of its answer. */
  constructor(readonly status: number, readonly text: string, message: string) {
    super(message);
  }
}
