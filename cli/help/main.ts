/**
 * Composition root of `fleetctl-help`. The launcher of `fleetctl` starts it for help and the
 * version. It loads only the verb table, so `--help` is fast.
 *
 * @module
 */

import { answerHelp } from "cli/help/answer.ts";
import { VERSION } from "core/version.ts";

const { code, stdout, stderr } = answerHelp(Deno.args, VERSION, Deno.env.toObject());
await print(Deno.stdout, stdout);
await print(Deno.stderr, stderr);
Deno.exit(code);

async function print(
  to: { write(bytes: Uint8Array): Promise<number> },
  text: string,
): Promise<void> {
  let bytes = new TextEncoder().encode(text);
  while (bytes.length > 0) bytes = bytes.subarray(await to.write(bytes));
}
