/**
 * `fleetctl questions decline <id>`: declines to answer a question. The program learns only that a
 * person declined.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { findQuestion } from "cli/questions/queries.ts";
import { send } from "cli/questions/send.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl questions decline`. */
export interface Options {
  readonly id: string;
}

/** Parses the arguments. */
export function parseOptions({ args }: Invocation): Result<Options> {
  return ok({ id: args.id ?? "" });
}

/** Sends the answer. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const found = await findQuestion(context, options.id);
  return found.ok ? await send(context, found.value, { action: "declined" }) : found;
}
