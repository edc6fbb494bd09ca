/**
 * Reads HTTP/1.1 with `llhttp`, the parser of Node and undici, in its strict mode: the second
 * reader, for comparison with fleetctl. undici ships it as WebAssembly.
 * @module
 */

import wasm from "undici/lib/llhttp/llhttp-wasm.js";
import type { Ending, Message, Reading } from "tests/core/http1/os/reading.ts";
import { trimmed } from "core/http1/messages.ts";

/** The exports of the WebAssembly module that this file uses. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(bytes: number): number;
  free(pointer: number): void;
  llhttp_alloc(type: number): number;
  llhttp_free(parser: number): void;
  llhttp_execute(parser: number, data: number, length: number): number;
  llhttp_finish(parser: number): number;
  llhttp_resume(parser: number): void;
  llhttp_should_keep_alive(parser: number): number;
  llhttp_get_error_pos(parser: number): number;
  llhttp_get_error_reason(parser: number): number;
  llhttp_get_method(parser: number): number;
  llhttp_get_http_major(parser: number): number;
  llhttp_get_http_minor(parser: number): number;
  llhttp_method_name(method: number): number;
}

const TYPE = { request: 1, answer: 2 } as const;
const OK = 0;
const CLOSED_CONNECTION = 5;
const PAUSED = 21;
const PAUSED_UPGRADE = 22;
/** Return value of `on_headers_complete`: no body follows, regardless of the headers. */
const NO_BODY = 1;

/** How a stream is read. */
export interface Reader {
  readonly type: keyof typeof TYPE;
  /** Whether the answer is one to HEAD. */
  readonly isHead?: boolean;
}

/** The state of one stream while it is read. */
class Session {
  readonly messages: Message[] = [];
  stage: "between" | "head" | "body" = "between";
  method = "";
  target = "";
  status = 0;
  minor = 0;
  isKept = false;
  isUpgrade = false;
  body = "";
  /** Names and values in turn; trailers follow the headers. */
  lines: string[] = [];
  headerLines = 0;

  begin(): void {
    this.stage = "head";
    this.target = "";
    this.body = "";
    this.lines = [];
    this.isUpgrade = false;
  }

  /** Adds text to a name (even index) or a value (odd index). llhttp reports empty values too. */
  add(text: string, isValue: boolean): void {
    const isNew = (this.lines.length % 2 === 1) === isValue;
    if (isNew) this.lines.push(text);
    else this.lines[this.lines.length - 1] += text;
  }

  end(): void {
    const headers: (readonly [string, string])[] = [];
    for (let at = 0; at < this.headerLines; at += 2) {
      // Node strips the white space that llhttp leaves at the end of a value.
      headers.push([(this.lines[at] ?? "").toLowerCase(), trimmed(this.lines[at + 1] ?? "")]);
    }
    const { method, target, status, minor, isKept, isUpgrade, body } = this;
    this.messages.push({ method, target, status, minor, headers, body, isKept, isUpgrade });
    this.stage = "between";
  }
}

let isHead = false;
let session = new Session();
const latin1 = new TextDecoder("latin1");

function textAt(at: number, length: number): string {
  let text = "";
  // Not a `TextDecoder`: its Latin-1 is Windows-1252, which differs for some bytes from 0x80.
  for (const byte of new Uint8Array(llhttp.memory.buffer, at, length)) {
    text += String.fromCharCode(byte);
  }
  return text;
}

function cText(at: number): string {
  if (at === 0) return "";
  const bytes = new Uint8Array(llhttp.memory.buffer, at);
  return latin1.decode(bytes.subarray(0, bytes.indexOf(0)));
}

const llhttp = new WebAssembly.Instance(new WebAssembly.Module(wasm), {
  env: {
    wasm_on_message_begin: () => {
      session.begin();
      return OK;
    },
    wasm_on_url: (_parser: number, at: number, length: number) => {
      session.target += textAt(at, length);
      return OK;
    },
    wasm_on_status: () => OK,
    wasm_on_header_field: (_parser: number, at: number, length: number) => {
      session.add(textAt(at, length), false);
      return OK;
    },
    wasm_on_header_value: (_parser: number, at: number, length: number) => {
      session.add(textAt(at, length), true);
      return OK;
    },
    wasm_on_headers_complete: (
      parser: number,
      status: number,
      isUpgrade: number,
    ) => {
      session.stage = "body";
      session.headerLines = session.lines.length;
      session.status = status;
      session.isUpgrade = isUpgrade !== 0;
      session.minor = llhttp.llhttp_get_http_minor(parser);
      if (status === 0) session.method = cText(llhttp.llhttp_method_name(methodOf(parser)));
      return isHead ? NO_BODY : OK;
    },
    wasm_on_body: (_parser: number, at: number, length: number) => {
      session.body += textAt(at, length);
      return OK;
    },
    // Pauses after each message, so that the exact byte of its end is known.
    wasm_on_message_complete: (parser: number) => {
      session.isKept = llhttp.llhttp_should_keep_alive(parser) !== 0;
      session.end();
      return PAUSED;
    },
  },
}).exports as unknown as Exports;
llhttp._initialize();

function methodOf(parser: number): number {
  return llhttp.llhttp_get_method(parser);
}

/** Reads the pieces and then the end of the connection. */
export function readByLlhttp(pieces: readonly Uint8Array[], reader: Reader): Reading {
  isHead = reader.isHead === true;
  session = new Session();
  const parser = llhttp.llhttp_alloc(TYPE[reader.type]);
  const starts = [0];
  let ending: Ending | undefined;
  let base = 0;
  try {
    for (const piece of pieces) {
      for (let from = 0; from < piece.length && ending === undefined;) {
        const { code, used } = execute(parser, piece.subarray(from));
        from += used;
        if (code === PAUSED) starts.push(base + from);
        else if (code === PAUSED_UPGRADE) ending = { kind: "upgraded", rest: "" };
        else if (code !== OK) ending = refusal(code, parser);
      }
      if (ending !== undefined) break;
      base += piece.length;
    }
    ending ??= endOf(parser);
    if (ending.kind === "upgraded") ending = { kind: "upgraded", rest: behind(pieces, starts) };
    return { messages: session.messages, starts, ending };
  } finally {
    llhttp.llhttp_free(parser);
  }
}

/** Returns the bytes after the last message. */
function behind(pieces: readonly Uint8Array[], starts: readonly number[]): string {
  let text = "";
  for (const piece of pieces) for (const byte of piece) text += String.fromCharCode(byte);
  return text.slice(starts.at(-1));
}

function execute(parser: number, bytes: Uint8Array): { code: number; used: number } {
  const data = llhttp.malloc(bytes.length);
  try {
    new Uint8Array(llhttp.memory.buffer, data, bytes.length).set(bytes);
    const code = llhttp.llhttp_execute(parser, data, bytes.length);
    if (code === OK) return { code, used: bytes.length };
    const used = llhttp.llhttp_get_error_pos(parser) - data;
    if (code === PAUSED) llhttp.llhttp_resume(parser);
    return { code, used };
  } finally {
    llhttp.free(data);
  }
}

function refusal(code: number, parser: number): Ending {
  if (code === CLOSED_CONNECTION) return { kind: "closed" };
  const reason = cText(llhttp.llhttp_get_error_reason(parser));
  return { kind: "refused", stage: session.stage === "body" ? "body" : "head", reason };
}

/** Returns the ending when the peer closes the connection. */
function endOf(parser: number): Ending {
  const { stage, messages } = session;
  const count = messages.length;
  if (stage === "between") {
    return messages.at(-1)?.isUpgrade === true ? { kind: "upgraded", rest: "" } : { kind: "ended" };
  }
  // A body that is delimited by the end of the connection is complete now.
  llhttp.llhttp_finish(parser);
  return messages.length > count ? { kind: "ended" } : { kind: "cut", stage };
}
