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

/** Creates a scanner; feed it the pieces of the message in order. */
export function createEnvelopeScanner() {
  const keys: EnvelopeKey[] = [];
  const kept: number[] = [];
  let hasMoreKeys = false;
  let depth = 0;
  let inString = false;
  let escaped = false;
  /** Whether the next string at this depth is a key; only for depths 1 and 2. */
  let wantsKey = false;
  let readsKey = false;
  /** Name of the last key at depth 1. */
  let parent = "";
  /** The value that is being kept: `id` or `method` at depth 1. */
  let keeps: "id" | "method" | undefined;
  const isObject = [false, false, false];
  const found: { id?: string | number; method?: string } = {};

  const keep = (byte: number) => {
    if (kept.length <= TEXT_BYTES_MAX) kept.push(byte);
  };
  const isLooked = () => depth === 1 || depth === 2 && parent === "params";

  const endString = () => {
    inString = false;
    if (!readsKey) return;
    readsKey = false;
    wantsKey = false;
    const name = readText(kept, true);
    if (keys.length >= KEYS_MAX) hasMoreKeys = true;
    else if (name !== undefined && (depth === 1 || depth === 2)) keys.push({ depth, name });
    if (depth === 1) {
      parent = name ?? "";
      keeps = name === "id" || name === "method" ? name : undefined;
    }
    kept.length = 0;
  };

  const endValue = () => {
    if (keeps !== undefined) {
      const value = readText(kept, false);
      if (keeps === "id" && (typeof value === "string" || typeof value === "number")) {
        found.id = value;
      }
      if (keeps === "method" && typeof value === "string") found.method = value;
    }
    keeps = undefined;
    kept.length = 0;
  };

  const open = (object: boolean) => {
    keeps = undefined;
    depth++;
    if (depth <= 2) isObject[depth] = object;
    wantsKey = object && isLooked();
  };

  const close = () => {
    if (depth === 1) endValue();
    depth--;
    wantsKey = false;
  };

  const structural = (byte: number) => {
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open(byte === OPEN_OBJECT);
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) close();
    else if (byte === COMMA) {
      if (depth === 1) endValue();
      wantsKey = depth <= 2 && isObject[depth] === true && isLooked();
    } else if (byte !== COLON && byte > SPACE && keeps !== undefined && depth === 1) keep(byte);
  };

  const inText = (byte: number) => {
    if (escaped) escaped = false;
    else if (byte === BACKSLASH) escaped = true;
    else if (byte === QUOTE) {
      if (!readsKey && keeps !== undefined && depth === 1) keep(byte);
      return endString();
    }
    if (readsKey || keeps !== undefined && depth === 1) keep(byte);
  };

  return {
    /** Scans the next piece. */
    feed(bytes: Uint8Array): void {
      for (let at = 0; at < bytes.length; at++) {
        const byte = bytes[at] ?? 0;
        if (inString) {
          inText(byte);
        } else if (byte === QUOTE) {
          inString = true;
          readsKey = wantsKey;
          if (readsKey) kept.length = 0;
          else if (keeps !== undefined && depth === 1) keep(byte);
        } else {
          structural(byte);
        }
      }
    },
    /** Returns the envelope so far; complete after the last piece. */
    result(): Envelope {
      return { keys, hasMoreKeys, id: found.id, method: found.method };
    },
  };

  /** Returns the kept bytes as text: the inside of a key's quotes, or a whole scalar. */
  function readText(bytes: readonly number[], isKey: true): string | undefined;
  function readText(bytes: readonly number[], isKey: false): unknown;
  function readText(bytes: readonly number[], isKey: boolean): unknown {
    if (bytes.length > TEXT_BYTES_MAX) return undefined;
    const text = new TextDecoder().decode(new Uint8Array(bytes));
    try {
      return JSON.parse(isKey ? `"${text}"` : text);
    } catch {
      return undefined;
    }
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
