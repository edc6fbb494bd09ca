/**
 * Stdin of `fleetctl-exec`: the envelope in the first line, then what the client sends to its verb.
 *
 * @module
 */

import type { CliDeps } from "cli/context.ts";
import { errorText, refusal } from "core/errors.ts";
import { err, ok } from "core/result.ts";
import { takeFirstLine } from "core/text/first_line.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** Returns the two readers; `readStdin` comes first and returns the envelope. */
export function envelopeInput(
  stdin: ReadableStream<Uint8Array>,
): Pick<CliDeps, "readStdin" | "openStdin"> {
  let rest: ReadableStream<Uint8Array> | undefined;
  return {
    async readStdin(bytesMax) {
      try {
        const first = await takeFirstLine(stdin, { lineBytesMax: bytesMax });
        rest = first?.rest;
        return ok(strictUtf8().decode(first?.line));
      } catch (thrown) {
        return err(refusal("envelope-unreadable", `Cannot read stdin: ${errorText(thrown)}`));
      }
    },
    openStdin: () => rest ?? new Blob([]).stream(),
  };
}
