/**
 * The protocol of the daemon's socket: newline-delimited JSON with one request from the client,
 * then output and one `exit` or `refused` from the daemon. For a verb that reads input, the client
 * sends the bytes of its stdin after the request. The parser refuses input that could break a verb:
 * control characters, bad UTF-8, too many or too long arguments. No I/O.
 *
 * | Direction | Frame |
 * |---|---|
 * | client | `{"argv": [...], "as"?, "tty"?: {"columns", "color", "live", "tree"?}, "stdin"?}` |
 * | daemon | `{"type": "out" \| "err", "text"}` any number of times |
 * | daemon | `{"type": "exit", "code"}`, or `{"type": "refused", "error"}`; then it closes |
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type Refusal, refusal, type RefusalKind } from "core/errors.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";
import { strictUtf8 } from "core/text/utf8.ts";

/** The terminal of the client, so that the output is the same as without the daemon. */
export interface Terminal {
  /** Width of stdout; 0 when it is not a terminal, and then nothing is truncated. */
  readonly columns: number;
  readonly color: boolean;
  /** Whether stderr can redraw a line. */
  readonly live: boolean;
  /** The source tree that the client runs from, so that hints can be pasted there. */
  readonly tree?: string;
}

/** For output to pipes and files. */
export const NO_TERMINAL: Terminal = { columns: 0, color: false, live: false };

/** One verb to run. */
export interface VerbRequest {
  readonly argv: readonly string[];
  readonly as?: string;
  readonly tty?: Terminal;
  readonly stdin?: string;
}

/** One frame from the daemon. */
export type DaemonFrame =
  | { readonly type: "out" | "err"; readonly text: string }
  | { readonly type: "exit"; readonly code: number }
  | { readonly type: "refused"; readonly error: Refusal };

const COLUMNS_MAX = 1000;
const KINDS: readonly RefusalKind[] = ["refused", "usage", "settings", "denied"];

/** Prints a request with its keys in a fixed order, so that equal requests have equal digests. */
export function requestText(request: VerbRequest): string {
  const { argv, as, tty, stdin } = request;
  return JSON.stringify({
    argv,
    ...defined({ as }),
    ...(tty === undefined ? {} : {
      tty: {
        columns: tty.columns,
        color: tty.color,
        live: tty.live,
        ...defined({ tree: tty.tree }),
      },
    }),
    ...defined({ stdin }),
  });
}

/** Parses one request line; a refusal never repeats a value. */
export function parseVerbRequest(line: Uint8Array): Result<VerbRequest> {
  if (line.length > DAEMON_LIMITS.requestBytesMax) {
    return err(badRequest(`it is longer than ${DAEMON_LIMITS.requestBytesMax} bytes`));
  }
  let value: unknown;
  try {
    value = JSON.parse(strictUtf8().decode(line));
  } catch {
    return err(badRequest("it is not JSON in UTF-8"));
  }
  if (!isRecord(value)) return err(badRequest("it is not a JSON object"));
  const { argv, as, tty, stdin, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return err(badRequest("it has a field that is not known"));
  const fault = argvFault(argv) ?? asFault(as) ?? stdinFault(stdin) ?? ttyFault(tty);
  if (fault !== undefined) return err(badRequest(fault));
  return ok({
    argv: argv as readonly string[],
    ...(as === undefined ? {} : { as: as as string }),
    ...(tty === undefined ? {} : { tty: tty as Terminal }),
    ...(stdin === undefined ? {} : { stdin: stdin as string }),
  });
}

/** Prints one frame as a line. */
export function frameLine(frame: DaemonFrame): string {
  return `${JSON.stringify(frame)}\n`;
}

/** Parses one line from the daemon; undefined for anything but a frame. */
export function parseDaemonFrame(line: string): DaemonFrame | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { type, text, code, error } = value;
  if ((type === "out" || type === "err") && typeof text === "string") return { type, text };
  if (type === "exit" && typeof code === "number" && Number.isInteger(code)) return { type, code };
  if (type === "refused") {
    const parsed = parseRefusal(error);
    if (parsed !== undefined) return { type, error: parsed };
  }
  return undefined;
}

function parseRefusal(value: unknown): Refusal | undefined {
  if (!isRecord(value)) return undefined;
  const { code, message, details, hints } = value;
  const kind = KINDS.find((one) => one === value.kind);
  if (typeof code !== "string" || typeof message !== "string" || kind === undefined) {
    return undefined;
  }
  return refusal(code, message, { kind, details: texts(details), hints: texts(hints) });
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function argvFault(argv: unknown): string | undefined {
  if (!Array.isArray(argv) || argv.length === 0) return "argv must be a list with a verb";
  if (argv.length > DAEMON_LIMITS.argumentsMax) {
    return `argv has ${argv.length} items, must have at most ${DAEMON_LIMITS.argumentsMax}`;
  }
  for (const [index, item] of argv.entries()) {
    const fault = textFault(item);
    if (fault !== undefined) return `argv item ${index} ${fault}`;
  }
  // The first word must be a verb, because the daemon must know the verb before its options.
  return String(argv[0]).startsWith("-") ? "argv must start with a verb, not an option" : undefined;
}

function asFault(as: unknown): string | undefined {
  if (as === undefined) return undefined;
  const fault = textFault(as);
  return fault === undefined ? undefined : `as ${fault}`;
}

function textFault(value: unknown): string | undefined {
  if (typeof value !== "string") return "is not text";
  if (value.length > DAEMON_LIMITS.argumentLengthMax) {
    return `is longer than ${DAEMON_LIMITS.argumentLengthMax} characters`;
  }
  // deno-lint-ignore no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f]/.test(value)) return "contains a control character";
  return value.isWellFormed() ? undefined : "is not well-formed text";
}

function stdinFault(stdin: unknown): string | undefined {
  if (stdin === undefined) return undefined;
  if (typeof stdin !== "string") return "stdin is not text";
  return stdin.isWellFormed() ? undefined : "stdin is not well-formed text";
}

function ttyFault(tty: unknown): string | undefined {
  if (tty === undefined) return undefined;
  if (!isRecord(tty)) return "tty is not an object";
  const { columns, color, live, tree, ...others } = tty;
  const isColumns = typeof columns === "number" && Number.isInteger(columns) && columns >= 0 &&
    columns <= COLUMNS_MAX;
  const isKnown = Object.keys(others).length === 0 && typeof color === "boolean" &&
    typeof live === "boolean";
  if (!isColumns || !isKnown) return "tty must be {columns, color, live, tree?}";
  const fault = tree === undefined ? undefined : textFault(tree);
  return fault === undefined ? undefined : `tree of tty ${fault}`;
}

function badRequest(found: string): Refusal {
  return refusal("request-invalid", `Cannot read the request: ${found}`, { kind: "usage" });
}
