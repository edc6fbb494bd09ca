/**
 * Answers help and version requests from the verb table. Pure. `fleetctl --help` loads little more
 * than this file and its imports, so they stay few.
 *
 * @module
 */

import { exitCode, refusalLines } from "cli/exit.ts";
import { helpText } from "cli/help.ts";
import { withLocalHints } from "core/hints/local_hints.ts";
import { parseRequest } from "core/verbs/invocation.ts";
import type { ArgumentToken } from "core/text/argument_token.ts";

/** The text to print, and the stream. */
export interface HelpAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Help is printed regardless of the other words, so only this option needs parsing. */
const ASKS_FOR_HELP: readonly ArgumentToken[] = [
  { kind: "option", name: "help", rawName: "--help", value: undefined, isInline: false },
];

/** Answers an argument list that is empty, starts with `--version` or contains `--help`. */
export function answerHelp(
  argv: readonly string[],
  version: string,
  env: Readonly<Record<string, string>>,
): HelpAnswer {
  const request = parseRequest(argv, () => ASKS_FOR_HELP);
  if (!request.ok) {
    const stderr = `${refusalLines(withLocalHints(request.error, env)).join("\n")}\n`;
    return { code: exitCode(request.error), stdout: "", stderr };
  }
  if (request.value.kind === "version") {
    return { code: 0, stdout: versionText(version, request.value.json), stderr: "" };
  }
  const words = request.value.kind === "help" ? request.value.words : [];
  return { code: 0, stdout: helpText(words) ?? "", stderr: "" };
}

/** Returns what `--version` prints. */
export function versionText(version: string, json: boolean): string {
  return json ? `${JSON.stringify({ version })}\n` : `fleetctl ${version}\n`;
}
