/**
 * Help and version for an argument list, from the verb table alone. Pure. It is the whole of
 * `fleetctl --help`, so it imports nothing that is not needed for that.
 *
 * @module
 */

import { exitCode, refusalLines } from "cli/exit.ts";
import { helpText } from "cli/help.ts";
import { withLocalHints } from "core/hints/local_hints.ts";
import { parseRequest } from "core/verbs/invocation.ts";
import type { ArgumentToken } from "core/text/argument_token.ts";

/** What to print, and where. */
export interface HelpAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whoever asks for help gets it, whatever else was typed, so nothing else needs to be split. */
const ASKS_FOR_HELP: readonly ArgumentToken[] = [
  { kind: "option", name: "help", rawName: "--help", value: undefined, isInline: false },
];

/** Answers an argument list that is empty, starts with `--version` or holds `--help`. */
export function answerHelp(
  argv: readonly string[],
  version: string,
  env: Readonly<Record<string, string>>,
): HelpAnswer {
  const asked = parseRequest(argv, () => ASKS_FOR_HELP);
  if (!asked.ok) {
    const stderr = `${refusalLines(withLocalHints(asked.error, env)).join("\n")}\n`;
    return { code: exitCode(asked.error), stdout: "", stderr };
  }
  if (asked.value.kind === "version") {
    return { code: 0, stdout: versionText(version, asked.value.json), stderr: "" };
  }
  const words = asked.value.kind === "help" ? asked.value.words : [];
  return { code: 0, stdout: helpText(words) ?? "", stderr: "" };
}

/** Returns what `--version` prints. */
export function versionText(version: string, json: boolean): string {
  return json ? `${JSON.stringify({ version })}\n` : `fleetctl ${version}\n`;
}
