/**
 * A byte scanner over one JSON message that extracts only its envelope: the keys of the message and
 * of its `params`, and the values of `id` and `method`. Pure. It stores nothing else, so it can
 * scan a message that is too large for memory. It also sees duplicate keys, which `JSON.parse`
 * hides and of which a server might use the other one.
 *
 * @module
 */

/** One key of the message (depth 1) or of its `params` (depth 2). */
export interface EnvelopeKey {
  readonly depth: 1 | 2;
  readonly name: string;
}

/** The envelope of a message. */
export interface Envelope {
  readonly keys: readonly EnvelopeKey[];
  /** Whether there were more keys than are kept; duplicates are then unknown. */
  readonly hasMoreKeys: boolean;
  /** Undefined when absent, too long or not a string or number. */
  readonly id: string | number | undefined;
  readonly method: string | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const SPACE = 0x20;
/** Maximum number of keys kept; no method has more. */
const KEYS_MAX = 64;
/** Maximum number of bytes kept of a key, an `id` or a `method`. */
const TEXT_BYTES_MAX = 256;

/** Scans the pieces of one message, in order. */
export interface EnvelopeScanner {
  /** Scans the next piece. */
  feed(bytes: Uint8Array): void;
  /** Returns the envelope so far; complete after the last piece. */
  result(): Envelope;
}

/** Creates a scanner; feed it the pieces of the message in order. */
export function createEnvelopeScanner(): EnvelopeScanner {
  return new ByteScanner();
}

class ByteScanner implements EnvelopeScanner {
  readonly #keys: EnvelopeKey[] = [];
  readonly #kept: number[] = [];
  #hasMoreKeys = false;
  #depth = 0;
  #inString = false;
  #escaped = false;
  /** Whether the next string at this depth is a key; only for depths 1 and 2. */
  #wantsKey = false;
  #readsKey = false;
  /** Name of the last key at depth 1. */
  #parent = "";
  /** The value that is being kept: `id` or `method` at depth 1. */
  #keeps: "id" | "method" | undefined;
  readonly #isObject = [false, false, false];
  readonly #found: { id?: string | number; method?: string } = {};

  feed(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.#inString) this.#inText(byte);
      else if (byte === QUOTE) this.#beginString();
      else this.#structural(byte);
    }
  }

  result(): Envelope {
    const { id, method } = this.#found;
    return { keys: this.#keys, hasMoreKeys: this.#hasMoreKeys, id, method };
  }

  #beginString(): void {
    this.#inString = true;
    this.#readsKey = this.#wantsKey;
    if (this.#readsKey) this.#kept.length = 0;
    else this.#keepScalar(QUOTE);
  }

  #inText(byte: number): void {
    if (this.#escaped) this.#escaped = false;
    else if (byte === BACKSLASH) this.#escaped = true;
    else if (byte === QUOTE) {
      if (!this.#readsKey) this.#keepScalar(byte);
      return this.#endString();
    }
    if (this.#readsKey) this.#keep(byte);
    else this.#keepScalar(byte);
  }

  #endString(): void {
    this.#inString = false;
    if (!this.#readsKey) return;
    this.#readsKey = false;
    this.#wantsKey = false;
    const name = readKey(this.#kept);
    const depth = this.#depth;
    if (this.#keys.length >= KEYS_MAX) this.#hasMoreKeys = true;
    else if (name !== undefined && (depth === 1 || depth === 2)) this.#keys.push({ depth, name });
    if (depth === 1) {
      this.#parent = name ?? "";
      this.#keeps = name === "id" || name === "method" ? name : undefined;
    }
    this.#kept.length = 0;
  }

  #structural(byte: number): void {
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) this.#open(byte === OPEN_OBJECT);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) this.#close();
    else if (byte === COMMA) {
      if (this.#depth === 1) this.#endValue();
      const inObject = this.#depth <= 2 && this.#isObject[this.#depth] === true;
      this.#wantsKey = inObject && this.#isLooked();
    } else if (byte !== COLON && byte > SPACE) this.#keepScalar(byte);
  }

  #open(object: boolean): void {
    this.#keeps = undefined;
    this.#depth++;
    if (this.#depth <= 2) this.#isObject[this.#depth] = object;
    this.#wantsKey = object && this.#isLooked();
  }

  #close(): void {
    if (this.#depth === 1) this.#endValue();
    this.#depth--;
    this.#wantsKey = false;
  }

  #endValue(): void {
    if (this.#keeps !== undefined) {
      const value = readScalar(this.#kept);
      if (this.#keeps === "id" && (typeof value === "string" || typeof value === "number")) {
        this.#found.id = value;
      }
      if (this.#keeps === "method" && typeof value === "string") this.#found.method = value;
    }
    this.#keeps = undefined;
    this.#kept.length = 0;
  }

  #isLooked(): boolean {
    return this.#depth === 1 || this.#depth === 2 && this.#parent === "params";
  }

  #keepScalar(byte: number): void {
    if (this.#keeps !== undefined && this.#depth === 1) this.#keep(byte);
  }

  #keep(byte: number): void {
    if (this.#kept.length <= TEXT_BYTES_MAX) this.#kept.push(byte);
  }
}

/** Returns the text of a key from the bytes inside its quotes. */
function readKey(bytes: readonly number[]): string | undefined {
  return parseKept(bytes, '"') as string | undefined;
}

function readScalar(bytes: readonly number[]): unknown {
  return parseKept(bytes, "");
}

/** Returns undefined when there are too many bytes, or when they are not JSON. */
function parseKept(bytes: readonly number[], quote: '"' | ""): unknown {
  if (bytes.length > TEXT_BYTES_MAX) return undefined;
  const text = new TextDecoder().decode(new Uint8Array(bytes));
  try {
    return JSON.parse(quote + text + quote);
  } catch {
    return undefined;
  }
}

/** Scans a whole message. */
export function scanEnvelope(bytes: Uint8Array): Envelope {
  const scanner = createEnvelopeScanner();
  scanner.feed(bytes);
  return scanner.result();
}

/** Maximum length of a key; no method uses a longer one. */
const KEY_LENGTH_MAX = 1024;

/**
 * Returns the keys of a whole message that `JSON.parse` accepts, in order and with duplicates.
 * Returns undefined when there are more keys, or longer ones, than any method uses. It sees the
 * same keys as `scanEnvelope`, and is faster for a text in memory: each client message passes here.
 */
export function envelopeKeys(text: string): readonly EnvelopeKey[] | undefined {
  const keys: EnvelopeKey[] = [];
  let depth = 0;
  let isKey = false;
  let isParams = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = endOfString(text, at);
      if (isKey) {
        isKey = false;
        const name = keyText(text, at, end);
        if (name === undefined || keys.length >= KEYS_MAX) return undefined;
        keys.push({ depth: depth === 1 ? 1 : 2, name });
        if (depth === 1) isParams = name === "params";
      }
      at = end;
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth++;
      isKey = code === OPEN_OBJECT && (depth === 1 || depth === 2 && isParams);
      // An array has no keys, and nothing below it belongs to the envelope.
      if (code === OPEN_ARRAY && depth === 2) isParams = false;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) {
      depth--;
      isKey = false;
    } else if (code === COMMA) isKey = depth === 1 || depth === 2 && isParams;
  }
  return keys;
}

/** Returns the end of the string that begins at `at`: its first unescaped quote. */
function endOfString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1);; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (end === -1 || slashes % 2 === 0) return end === -1 ? text.length : end;
  }
}

function keyText(text: string, from: number, to: number): string | undefined {
  if (to - from > KEY_LENGTH_MAX) return undefined;
  const raw = text.slice(from + 1, to);
  return raw.includes("\\") ? JSON.parse(`"${raw}"`) as string : raw;
}
