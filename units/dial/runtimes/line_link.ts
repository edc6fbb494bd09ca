/**
 * The input and output of a program that exchanges lines of JSON. The link reads a line only after
 * it has handled the previous one. It skips lines that are not JSON objects.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Child } from "core/ports/processes.ts";
import { parseJsonLine } from "core/text/json_lines.ts";
import { readLines } from "core/text/lines.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import type { SupervisedChild } from "units/dial/runtimes/supervise.ts";

/** The input and output of a runtime. */
export interface Link {
  readonly send: (message: Message) => Promise<void>;
  /** Reads until the output ends; handles each message before it reads the next. */
  readonly follow: (handle: (message: Message) => Promise<void>) => void;
  /** Resolves when no more messages can arrive, with a sentence that says why. */
  readonly ended: Promise<string>;
  readonly endInput: () => Promise<void>;
}

/** How long to wait for output that is still in the pipe after the process has ended. */
const OUTPUT_AFTER_EXIT_MS = 2_000;

/** Opens the link to a running program. */
export function openLink(child: Child, supervised: SupervisedChild, clock: Clock): Link {
  const input = child.stdin.getWriter();
  const encoder = new TextEncoder();
  const ended = Promise.withResolvers<string>();
  let isBusy = false;
  let fault: string | undefined;

  async function readAll(handle: (message: Message) => Promise<void>): Promise<void> {
    for await (
      const line of readLines(child.stdout, { lineBytesMax: MCP_LIMITS.messageBytesMax })
    ) {
      const message = parseJsonLine(line);
      // Programs print banners on stdout.
      if (message === undefined) continue;
      isBusy = true;
      await handle(message);
      isBusy = false;
    }
  }

  /** Waits for output that is still in the pipe, but not for a grandchild that keeps it open. */
  async function settle(reading: Promise<void>): Promise<void> {
    const exit = await supervised.exited;
    void input.abort().catch(() => {
      // Already closed; `abort` only frees the descriptor.
    });
    const drained = new AbortController();
    void reading.finally(() => drained.abort());
    do await clock.sleep(OUTPUT_AFTER_EXIT_MS, drained.signal); while (
      isBusy && !drained.signal.aborted
    );
    ended.resolve((fault === undefined ? "" : `${fault}; `) + supervised.sentence(exit));
  }

  return {
    send: (message) =>
      input.write(encoder.encode(`${JSON.stringify(message)}\n`)).catch(() => {
        // The process has ended or closed its input; `ended` reports it.
      }),
    follow(handle) {
      const reading = readAll(handle).catch((error) => {
        fault = errorText(error);
        isBusy = false;
      });
      // A program that has closed its output can no longer answer.
      void reading.then(() => child.kill("SIGKILL"));
      void settle(reading);
    },
    ended: ended.promise,
    endInput: () =>
      input.close().catch(() => {
        // The process has already ended. Closing its input serves only to end it.
      }),
  };
}
