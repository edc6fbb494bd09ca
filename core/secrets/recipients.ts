/**
 * The readers of the store, and the decisions about changes to them. The file `recipients` in the
 * ledger has one age recipient per line, under a comment that names its owner. Pure.
 *
 * The file is shared and not secret, so a line in it is only a request: a write never adds a
 * reader. `rewrapSecrets` on a host that can already read the store grants it. A reader whose line
 * is removed loses access at the next write.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecipient } from "core/secrets/envelope.ts";
import { faultCount } from "core/text/fault_count.ts";

/** One entry of the file. */
export interface Recipient {
  readonly recipient: string;
  /** Text of the comment above it: `host atlas`, `recovery`. */
  readonly label: string;
}

/** Readers that a re-wrap would add and remove. */
export interface RewrapPlan {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** Largest number of hosts and recovery keys in a fleet. */
const RECIPIENTS_MAX = 1024;

/** Parses the file; a missing file has no recipients. */
export function parseRecipients(
  text: string | undefined,
  file: string,
): Result<readonly Recipient[]> {
  const found: Recipient[] = [];
  const faults: string[] = [];
  let label = "";
  for (const [index, line] of (text ?? "").split("\n").entries()) {
    const given = line.trim();
    if (given === "") continue;
    if (given.startsWith("#")) {
      label = given.slice(1).trim();
      continue;
    }
    if (!isRecipient(given)) faults.push(`${file}:${index + 1}: must be an age recipient, age1…`);
    else if (!found.some((each) => each.recipient === given)) {
      found.push({ recipient: given, label });
    }
    label = "";
  }
  if (found.length > RECIPIENTS_MAX) {
    faults.push(`${file}:1: ${found.length} recipients, must be at most ${RECIPIENTS_MAX}`);
  }
  if (faults.length === 0) return ok(found);
  return err(refusal(
    "recipients-invalid",
    `Cannot read the recipients "${file}": the file has ${faultCount(faults)}`,
    { details: faults, hints: [editHint(file, "fleetctl secret rewrap")] },
  ));
}

/** Appends a recipient to the text of the file, unless it is listed. Keeps comments and order. */
export function addRecipient(text: string | undefined, added: Recipient): string {
  const before = text ?? "";
  if (before.split("\n").some((line) => line.trim() === added.recipient)) return before;
  const gap = before === "" || before.endsWith("\n") ? "" : "\n";
  return `${before}${gap}# ${added.label}\n${added.recipient}\n`;
}

/** Removes lines, each with the comment directly above it that names its owner. */
export function dropRecipients(text: string | undefined, dropped: readonly string[]): string {
  const kept: string[] = [];
  for (const line of (text ?? "").split("\n")) {
    if (!dropped.includes(line.trim())) kept.push(line);
    else if (kept.at(-1)?.trim().startsWith("#") === true) kept.pop();
  }
  return kept.join("\n");
}

/**
 * Returns the readers of the next write: those of the last one that are still listed. Refuses when
 * none of `own`, the recipients of this host, remains.
 */
export function decideReaders(
  recorded: readonly string[],
  listed: readonly Recipient[],
  own: readonly string[],
): Result<readonly string[]> {
  const readers = recorded.filter((reader) => listed.some((each) => each.recipient === reader));
  if (own.some((each) => readers.includes(each))) return ok(readers);
  return err(refusal(
    "recipient-missing",
    "Cannot write the secret store: the key of this host is not among its recipients, so that " +
      "this host could not read it again",
    {
      details: [
        'run "fleetctl secret rewrap" on a host that can already read the store',
      ],
      hints: ["fleetctl secret list"],
    },
  ));
}

/** Compares the store's current readers with the list. */
export function planRewrap(
  recorded: readonly string[],
  listed: readonly Recipient[],
): RewrapPlan {
  const wanted = listed.map((each) => each.recipient);
  return {
    added: wanted.filter((recipient) => !recorded.includes(recipient)),
    removed: recorded.filter((recipient) => !wanted.includes(recipient)),
  };
}
