/**
 * The journal of one turn: a header, then one mark for each call that is about to be sent. Answers
 * and results are not repeated here: they are in the session file. ADR 0036. No I/O.
 *
 * | Found | State | Consequence for a call without a result |
 * |---|---|---|
 * | header and marks of this turn | usable | without a mark it was not sent |
 * | an incomplete last line | usable | the call of that line was not sent |
 * | no file | missing | unknown |
 * | a line that cannot be read, too many bytes | damaged | unknown |
 * | another agent, turn or session | foreign | unknown |
 * | another version | other-version | unknown |
 *
 * @module
 */

import * as z from "zod";
import { byteLength } from "core/text/cut_text.ts";
import { parseJsonLine } from "core/text/json_lines.ts";

const VERSION = 1;
/** A turn has at most 64 answers; this is room for about 80 calls in each. */
export const JOURNAL_BYTES_MAX = 1024 * 1024;

const header = z.object({
  type: z.literal("turn"),
  version: z.number().int(),
  agent: z.string(),
  turn_id: z.string(),
  session: z.string(),
  at: z.number(),
});

const mark = z.object({
  type: z.literal("started"),
  /** Number of the answer within the turn, from 0. */
  step: z.number().int().nonnegative(),
  call_id: z.string(),
  tool: z.string(),
  at: z.number(),
});

/** A call that was about to be sent. */
export type StartMark = Omit<z.infer<typeof mark>, "type">;

/** What a journal belongs to. */
export interface JournalOwner {
  readonly agent: string;
  readonly turnId: string;
  readonly session: string;
}

/** What was found of a journal. */
export interface FoundJournal {
  readonly state: "usable" | "missing" | "damaged" | "foreign" | "other-version";
  /** Marks that could be read, also those of a damaged journal. */
  readonly marks: readonly StartMark[];
  /** Whether an incomplete last line must be removed before the next mark. */
  readonly isTorn: boolean;
}

/** Prints the first line of a journal. */
export function printHeader({ agent, turnId, session }: JournalOwner, at: number): string {
  const line: z.infer<typeof header> = {
    type: "turn",
    version: VERSION,
    agent,
    turn_id: turnId,
    session,
    at,
  };
  return `${JSON.stringify(line)}\n`;
}

/** Prints the line of a mark. */
export function printMark(started: StartMark): string {
  return `${JSON.stringify({ type: "started", ...started })}\n`;
}

/** Reads a journal; `text` is undefined without a file. */
export function parseJournal(text: string | undefined, owner: JournalOwner): FoundJournal {
  const found = (
    state: FoundJournal["state"],
    marks: readonly StartMark[] = [],
    isTorn = false,
  ) => ({
    state,
    marks,
    isTorn,
  });
  if (text === undefined) return found("missing");
  const lines = text.split("\n");
  // Without its line break the last line was never synced, so its call was never sent.
  const isTorn = lines.pop() !== "";
  const [first, ...rest] = lines;
  const head = header.safeParse(parseJsonLine(first ?? ""));
  const read = rest.map((line) => mark.safeParse(parseJsonLine(line)));
  const marks = read.flatMap((each) => each.success ? [each.data] : []);
  if (!head.success) return found("damaged", marks, isTorn);
  const { agent, turn_id: turnId, session, version } = head.data;
  if (version !== VERSION) return found("other-version", [], isTorn);
  if (agent !== owner.agent || turnId !== owner.turnId) return found("foreign", [], isTorn);
  // A new conversation of the same turn: the marks still say which calls were sent.
  if (session !== owner.session) return found("foreign", marks, isTorn);
  const isWhole = marks.length === rest.length && byteLength(text) <= JOURNAL_BYTES_MAX;
  return found(isWhole ? "usable" : "damaged", marks, isTorn);
}
