/**
 * Splits a byte stream into lines of bounded length. Lines are split before they are decoded, so a
 * character may span two chunks. No I/O.
 *
 * @module
 */

/** Thrown when a peer sends a line above the limit. */
export class LineTooLong extends Error {
  override readonly name = "LineTooLong";
  constructor(readonly lineBytesMax: number) {
    super(`a line has more than ${lineBytesMax} bytes`);
  }
}

/** How to split. */
export interface LineOptions {
  /** Does not include the `\n`; a `\r` before it counts. */
  readonly lineBytesMax: number;
  /**
   * How to return a longer line: in pieces (`split`), or only its beginning (`cut`). If absent,
   * `LineTooLong` is thrown.
   */
  readonly longLines?: "split" | "cut";
  /** Drops a last line without a line ending: it is a truncated message. */
  readonly mustEnd?: boolean;
}

const NEWLINE = 10;
const RETURN = 13;

/** Splits pushed chunks into lines. */
export class LineSplitter {
  readonly #options: LineOptions;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Whether the unfinished line was partly returned or truncated. */
  #isSplit = false;
  #isCut = false;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  /**
   * Yields the lines that end in this chunk, without `\n` or `\r\n`. A line may be a view of the
   * chunk. Consume all of them before the next push.
   */
  *push(chunk: Uint8Array): Generator<Uint8Array, void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, end);
      start = end + 1;
      // The usual case: the whole line is in one chunk.
      if (this.#heldBytes === 0 && part.length <= this.#options.lineBytesMax) {
        yield* this.#end(part);
      } else {
        yield* this.#take(part);
        yield* this.#end(this.#release());
      }
    }
    yield* this.#take(chunk.subarray(start));
  }

  /** Yields the rest after the stream has ended. */
  *end(): Generator<Uint8Array, void, undefined> {
    if (this.#options.mustEnd !== true && this.#heldBytes > 0) yield* this.#end(this.#release());
  }

  *#take(part: Uint8Array): Generator<Uint8Array, void, undefined> {
    const { lineBytesMax, longLines } = this.#options;
    let rest = part;
    while (this.#heldBytes + rest.length > lineBytesMax) {
      if (longLines === undefined) throw new LineTooLong(lineBytesMax);
      const room = lineBytesMax - this.#heldBytes;
      this.#hold(rest.subarray(0, room));
      if (longLines === "cut") {
        this.#isCut = true;
        return;
      }
      const full = this.#release();
      const length = wholeLength(full);
      yield full.subarray(0, length);
      this.#isSplit = true;
      this.#hold(full.subarray(length));
      rest = rest.subarray(room);
    }
    this.#hold(rest);
  }

  #hold(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#held.push(piece.slice());
    this.#heldBytes += piece.length;
  }

  #release(): Uint8Array {
    const whole = new Uint8Array(this.#heldBytes);
    let at = 0;
    for (const piece of this.#held) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#held = [];
    this.#heldBytes = 0;
    return whole;
  }

  *#end(line: Uint8Array): Generator<Uint8Array, void, undefined> {
    const length = this.#isCut ? wholeLength(line) : line.length;
    const last = line.subarray(0, line[length - 1] === RETURN ? length - 1 : length);
    if (last.length > 0 || !this.#isSplit) yield last;
    this.#isSplit = false;
    this.#isCut = false;
  }
}

/** Returns the length of the prefix with only whole characters. */
function wholeLength(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    // Continuation bytes of a character are 10xxxxxx.
    if ((byte & 0xc0) === 0x80) continue;
    const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return wanted > back && bytes.length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

/**
 * Yields each line of a byte stream as bytes, on demand: it reads the next line only after the last
 * one was consumed. Leaving the loop cancels the stream.
 */
export async function* readLineBytes(
  stream: ReadableStream<Uint8Array>,
  options: LineOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = stream.getReader();
  const splitter = new LineSplitter(options);
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      yield* splitter.push(value);
    }
    yield* splitter.end();
  } finally {
    // The consumer stopped early or the stream failed: the writer must notice.
    await reader.cancel().catch(() => {});
  }
}

/** Like `readLineBytes`, but yields text. */
export async function* readLines(
  stream: ReadableStream<Uint8Array>,
  options: LineOptions,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  for await (const line of readLineBytes(stream, options)) yield decoder.decode(line);
}
