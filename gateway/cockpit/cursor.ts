/**
 * Ids of events on the wire: `<epoch>:<seq>`. No I/O.
 *
 * @module
 */

/** A place in a log. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** Prints an id. */
export function printCursor(epoch: string, seq: number): string {
  return `${epoch}:${seq}`;
}

/** Reads an id; undefined when it is none. */
export function parseCursor(text: string): Cursor | undefined {
  const match = /^([A-Za-z0-9-]{1,64}):(\d{1,15})$/.exec(text);
  return match === null ? undefined : { epoch: match[1] ?? "", seq: Number(match[2]) };
}
