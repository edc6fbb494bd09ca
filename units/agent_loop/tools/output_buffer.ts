/**
 * Output of a command in bounded memory: its beginning, its end, and how many bytes are missing
 * between. No I/O.
 *
 * @module
 */

/** Receives chunks in the order of arrival. */
export interface OutputBuffer {
  add(chunk: Uint8Array): void;
  /** The text so far; invalid UTF-8 becomes replacement characters. */
  text(): string;
}

/** Creates a buffer that keeps `bytesMax` bytes, half of them from the end. */
export function createOutputBuffer(bytesMax: number): OutputBuffer {
  const headMax = Math.floor(bytesMax / 2);
  const tailMax = bytesMax - headMax;
  const head: Uint8Array[] = [];
  let headBytes = 0;
  /** Ring of the newest bytes; allocated when the head is full. */
  let ring: Uint8Array<ArrayBuffer> | undefined;
  let ringAt = 0;
  let tailBytes = 0;

  function addToTail(chunk: Uint8Array): void {
    ring ??= new Uint8Array(tailMax);
    tailBytes += chunk.length;
    const kept = chunk.length > tailMax ? chunk.subarray(chunk.length - tailMax) : chunk;
    const first = Math.min(kept.length, tailMax - ringAt);
    ring.set(kept.subarray(0, first), ringAt);
    ring.set(kept.subarray(first), 0);
    ringAt = (ringAt + kept.length) % tailMax;
  }

  function tail(): Uint8Array {
    if (ring === undefined) return new Uint8Array(0);
    if (tailBytes < tailMax) return ring.subarray(0, tailBytes);
    const whole = new Uint8Array(tailMax);
    whole.set(ring.subarray(ringAt), 0);
    whole.set(ring.subarray(0, ringAt), tailMax - ringAt);
    return whole;
  }

  return {
    add(chunk) {
      const room = headMax - headBytes;
      if (room > 0) {
        const part = chunk.slice(0, room);
        head.push(part);
        headBytes += part.length;
      }
      if (chunk.length > room) addToTail(chunk.subarray(Math.max(0, room)));
    },
    text() {
      const end = tail();
      const missing = tailBytes - end.length;
      if (missing === 0) return decode([...head, end]);
      return `${decode(head)}\n[… ${missing} bytes left out …]\n${decode([end])}`;
    },
  };
}

function decode(chunks: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}
