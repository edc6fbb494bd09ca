/**
 * Journals on disk: one file of each running turn in `~/.fleetctl/dial/journal`, mode 0600. A mark
 * is synced before its call is sent. The dial unit deletes the file once the end of the turn is on
 * disk. This does not protect the file against the agent's own user, who owns it.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import {
  type FoundJournal,
  JOURNAL_BYTES_MAX,
  type JournalOwner,
  parseJournal,
  printHeader,
  printMark,
  type StartMark,
} from "units/agent_loop/journal/record.ts";

/** The open journal of a turn. */
export interface TurnJournal {
  /** Stores that a call is about to be sent; it is on disk when the promise resolves. */
  started(call: Omit<StartMark, "at">): Promise<void>;
}

/** The journals of an agent. */
export interface Journals {
  /** Reads the journal of a turn; rejects with `FileFault`. */
  read(turn: Omit<JournalOwner, "agent">): Promise<FoundJournal>;
  /** Opens the journal of a turn. Begins a new one unless `found` can be continued. */
  open(turn: Omit<JournalOwner, "agent">, found: FoundJournal): Promise<TurnJournal>;
}

/** A turn that its client cannot name has no journal: no later request could continue it. */
export const NO_JOURNAL: TurnJournal = { started: () => Promise.resolve() };

const TURN_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** Whether a turn with this id can have a journal; the id is a file name. */
export function isJournalId(turnId: string): boolean {
  return TURN_ID.test(turnId);
}

/** Creates the journals of one agent in `folder`. */
export function createJournals(
  folder: string,
  agent: string,
  { files, clock }: { readonly files: Files; readonly clock: Clock },
): Journals {
  const pathOf = (turnId: string) => `${folder}/${turnId}.jsonl`;
  return {
    async read(turn) {
      const owner = { agent, ...turn };
      const path = pathOf(turn.turnId);
      const stat = await files.stat(path);
      const isReadable = stat === undefined ||
        (stat.kind === "file" && stat.size <= JOURNAL_BYTES_MAX);
      return parseJournal(isReadable ? await files.readText(path) : "", owner);
    },
    async open(turn, found) {
      const path = pathOf(turn.turnId);
      const isContinued = found.state === "usable";
      let bytes: number;
      if (!isContinued || found.isTorn) {
        const marks = isContinued ? found.marks.map(printMark) : [];
        const text = printHeader({ agent, ...turn }, clock.now()) + marks.join("");
        await files.ensureDir(folder, { mode: 0o700 });
        await files.write(path, text, { mode: 0o600 });
        bytes = text.length;
      } else bytes = (await files.stat(path))?.size ?? 0;
      return {
        async started(call) {
          const line = printMark({ ...call, at: clock.now() });
          bytes += line.length;
          if (bytes > JOURNAL_BYTES_MAX) {
            throw new Error(`the journal of the turn has more than ${JOURNAL_BYTES_MAX} bytes`);
          }
          await files.appendDurably(path, line, 0o600);
        },
      };
    },
  };
}
