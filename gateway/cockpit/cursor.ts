/**
 * Ids of events on the wire: `<epoch>:<seq>`. No I/O.
 *
 * @module
 */

/** A position in a log. */
export interface Cursor {
  readonly epoch: string;
  readonly seq: number;
}

/** Formats an id. */
export function formatCursor(epoch: string, seq: number): string {
  return `${epoch}:${seq}`;
}

/** Parses an id; undefined when it is malformed. */
export function parseCursor(text: string): Cursor | undefined {
  const match = /^([A-Za-z0-9-]{1,64}):(\d{1,15})$/.exec(text);
  return match === null ? undefined : { epoch: match[1] ?? "", seq: Number(match[2]) };
}
