/**
 * The terminal of a command: writes to stdout and stderr, reads stdin, prompts without echo. A
 * reader that closes the pipe early (`| head`) is not an error: writing ends silently.
 *
 * @module
 */

import { errorText, refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** What a command line program uses of its terminal. */
export interface CommandTerminal {
  /** Width of stdout; 0 when it is not a terminal. */
  readonly columns: number;
  readonly color: boolean;
  /** Whether stderr can redraw a line. */
  readonly live: boolean;
  out(text: string): Promise<void>;
  err(text: string): Promise<void>;
  /** Reads all of stdin as UTF-8 text, up to `bytesMax` bytes. */
  readStdin(bytesMax: number): Promise<Result<string>>;
  /**
   * Prompts on stderr without echo. Returns undefined when stdin or stderr is not a terminal, or
   * after Ctrl-C.
   */
  promptSecret(label: string): Promise<string | undefined>;
  /**
   * Prompts on stderr for one line. Returns "" at end of input, undefined when there is no
   * terminal.
   */
  promptLine(label: string): Promise<string | undefined>;
}

/** Opens the terminal of this process. `noColor` is the value of `NO_COLOR`. */
export function openTerminal(noColor: string | undefined): CommandTerminal {
  const isTerminal = Deno.stdout.isTerminal();
  return {
    columns: isTerminal ? width() : 0,
    color: isTerminal && (noColor === undefined || noColor === ""),
    live: Deno.stderr.isTerminal(),
    out: (text) => writeAll(Deno.stdout, text),
    err: (text) => writeAll(Deno.stderr, text),
    readStdin,
    promptSecret,
    promptLine,
  };
}

function width(): number {
  try {
    return Deno.consoleSize().columns;
  } catch {
    return 80;
  }
}

async function writeAll(
  to: { write(bytes: Uint8Array): Promise<number> },
  text: string,
): Promise<void> {
  let bytes = new TextEncoder().encode(text);
  try {
    while (bytes.length > 0) bytes = bytes.subarray(await to.write(bytes));
  } catch (thrown) {
    if (!(thrown instanceof Deno.errors.BrokenPipe)) throw thrown;
  }
}

async function readStdin(bytesMax: number): Promise<Result<string>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const part of Deno.stdin.readable) {
    chunks.push(part);
    length += part.length;
    if (length > bytesMax) {
      return err(refusal(
        "stdin-too-long",
        `Cannot read stdin: it is longer than ${bytesMax} bytes`,
        { kind: "usage" },
      ));
    }
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of chunks) {
    bytes.set(part, at);
    at += part.length;
  }
  try {
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (thrown) {
    return err(refusal("stdin-not-text", `Cannot read stdin: ${errorText(thrown)}`, {
      kind: "usage",
    }));
  }
}

const ENTER = [10, 13];
const ERASE = [8, 127];
const INTERRUPT = 3;
const END = 4;
const LINE_BYTES_MAX = 64 * 1024;

async function promptSecret(label: string): Promise<string | undefined> {
  if (!Deno.stdin.isTerminal() || !Deno.stderr.isTerminal()) return undefined;
  // Set raw mode before the label shows, so that text typed or pasted at once is not echoed.
  Deno.stdin.setRaw(true);
  try {
    await writeAll(Deno.stderr, label);
    return await readHidden();
  } finally {
    Deno.stdin.setRaw(false);
    await writeAll(Deno.stderr, "\n");
  }
}

async function promptLine(label: string): Promise<string | undefined> {
  if (!Deno.stdin.isTerminal() || !Deno.stderr.isTerminal()) return undefined;
  await writeAll(Deno.stderr, label);
  // A terminal delivers whole lines, of at most this size.
  const chunk = new Uint8Array(4096);
  const count = await Deno.stdin.read(chunk);
  if (count !== null) return new TextDecoder().decode(chunk.subarray(0, count)).trim();
  await writeAll(Deno.stderr, "\n");
  return "";
}

/** Reads to the end of the line; undefined when it is interrupted. */
async function readHidden(): Promise<string | undefined> {
  const typed: number[] = [];
  const chunk = new Uint8Array(256);
  while (typed.length < LINE_BYTES_MAX) {
    const count = await Deno.stdin.read(chunk);
    if (count === null) break;
    for (const byte of chunk.subarray(0, count)) {
      if (ENTER.includes(byte) || byte === END) return decode(typed);
      if (byte === INTERRUPT) return undefined;
      if (ERASE.includes(byte)) dropCharacter(typed);
      else typed.push(byte);
    }
  }
  return decode(typed);
}

/** Removes the last character with all of its UTF-8 bytes. */
function dropCharacter(typed: number[]): void {
  while (((typed.pop() ?? 0) & 0xc0) === 0x80);
}

function decode(bytes: readonly number[]): string {
  return new TextDecoder().decode(Uint8Array.from(bytes));
}
