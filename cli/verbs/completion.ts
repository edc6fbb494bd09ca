/**
 * `fleetctl completion <shell>`: prints a completion script. Changes nothing.
 *
 * @module
 */

import { completionScript, type Shell, SHELLS } from "cli/completion_script.ts";
import type { VerbContext } from "cli/context.ts";
import { verbatimReport, type VerbReport } from "cli/output.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl completion`. */
export interface Options {
  readonly shell: Shell;
}

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const shell = SHELLS.find((one) => one === invocation.args.shell);
  return shell === undefined
    ? err(refusal("usage", `Cannot make a completion script: the shell is not known`, {
      kind: "usage",
      hints: SHELLS.map((one) => `fleetctl completion ${one}`),
    }))
    : ok({ shell });
}

/** Prints the script. */
export async function run(_context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const script = completionScript(options.shell);
  return ok(verbatimReport({ shell: options.shell, script }, script.trimEnd().split("\n")));
}
