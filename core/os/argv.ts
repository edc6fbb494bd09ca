/**
 * Splits an argument list into options and words with the platform's own parser. Does not judge
 * faults: the verb table knows what is allowed (`core/verbs/invocation.ts`).
 *
 * @module
 */

import { parseArgs } from "node:util";
import type { ArgumentToken } from "core/text/argument_token.ts";

/** An option as the splitter needs it. With `value`, it accepts a value. */
export interface SplitOption {
  readonly name: string;
  readonly value?: string;
}

/** Splits `argv`. Options after `--` are words; unknown options are kept as switches. */
export function splitArguments(
  argv: readonly string[],
  options: readonly SplitOption[],
): readonly ArgumentToken[] {
  const known: Record<string, { type: "string" | "boolean"; multiple: true; short?: string }> = {};
  for (const option of options) {
    known[option.name] = {
      type: option.value === undefined ? "boolean" : "string",
      multiple: true,
      ...(option.name === "help" ? { short: "h" } : {}),
    };
  }
  const { tokens } = parseArgs({
    args: [...argv],
    options: known,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  return tokens.flatMap((token): ArgumentToken[] => {
    if (token.kind === "positional") return [{ kind: "positional", value: token.value }];
    if (token.kind !== "option") return [];
    return [{
      kind: "option",
      name: token.name,
      rawName: token.rawName,
      value: token.value,
      isInline: token.inlineValue ?? false,
    }];
  });
}
