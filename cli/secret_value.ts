/**
 * Obtains the value of a secret option: from the option, from stdin with `-`, or from a prompt
 * without echo. From here on it is passed over stdin only. Never prints it.
 *
 * @module
 */

import type { CliDeps } from "cli/context.ts";
import { refusal } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Invocation, printTyped } from "core/verbs/invocation.ts";
import { verbName } from "core/verbs/verb.ts";

/** Leaves room for the rest of a daemon request, including JSON escapes. */
const VALUE_BYTES_MAX = DAEMON_LIMITS.requestBytesMax / 8;

/** Returns the value of the verb's secret argument or option; undefined for a verb without one. */
export async function readSecretValue(
  invocation: Invocation,
  deps: Pick<CliDeps, "readStdin" | "promptSecret">,
): Promise<Result<string | undefined>> {
  const argument = invocation.verb.args.find((one) => one.secret);
  if (argument !== undefined) return await givenOrStdin(invocation.args[argument.name], deps);
  const option = invocation.verb.options.find((one) => one.secret);
  if (option === undefined) return ok(undefined);
  if (option.unless?.some((word) => isGiven(word, invocation)) === true) return ok(undefined);
  const typed = invocation.options[option.name];
  if (typed !== undefined) return await givenOrStdin(typed, deps);
  const answer = await deps.promptSecret(
    option.unless === undefined
      ? `Value of ${invocation.args.KEY ?? option.name}: `
      : `Value of ${option.name} (empty for none): `,
  );
  if (answer !== undefined) return ok(answer);
  return err(refusal(
    "value-missing",
    `Cannot run "${verbName(invocation.verb)}": there is no --${option.name}, and no terminal to ` +
      `ask on`,
    {
      kind: "usage",
      hints: [`fleetctl ${printTyped(invocation)} --${option.name} - < file`],
    },
  ));
}

async function givenOrStdin(
  typed: string | undefined,
  deps: Pick<CliDeps, "readStdin">,
): Promise<Result<string | undefined>> {
  if (typed !== "-") return ok(typed);
  const text = await deps.readStdin(VALUE_BYTES_MAX);
  // The newline at the end of a pipe is not part of the value.
  return text.ok ? ok(text.value.replace(/\r?\n$/, "")) : text;
}

/** Whether a switch or an option was given. */
function isGiven(word: string, { switches, options }: Invocation): boolean {
  const [name = "", value] = word.split("=");
  return value === undefined ? switches.has(name) : options[name] === value;
}
