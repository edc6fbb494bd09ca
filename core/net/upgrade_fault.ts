/**
 * The error that `Sockets.connectFrames` throws when the server answers with a status. No I/O.
 *
 * @module
 */

/** The server answered a WebSocket handshake with an HTTP status. */
export class UpgradeFault extends Error {
  override readonly name = "UpgradeFault";
  /** `text` is the beginning of the response body. */
  constructor(readonly status: number, readonly text: string, message: string) {
    super(message);
  }
}
