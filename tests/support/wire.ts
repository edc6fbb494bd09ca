/**
 * Raw connections for tests of a byte protocol. Each character of a text is one byte, and a missing
 * end cannot hang a test.
 *
 * @module
 */

/** Longest wait for the end of a connection, in milliseconds. */
export const END_MS_MAX = 20_000;

/** Returns the bytes of a text, one per character. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (one) => one.charCodeAt(0));
}

/** Writes a whole text. */
export async function sendText(to: Deno.Conn, text: string): Promise<void> {
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

/** What a connection sent, and why reading ended. */
export interface Received {
  readonly text: string;
  readonly end: "enough" | "closed" | "reset" | "late";
}

/**
 * Reads a connection until `isEnough` or its end. Closes it and returns `late` after `END_MS_MAX`.
 */
export async function receive(
  from: Deno.Conn,
  isEnough: (text: string) => boolean = () => false,
): Promise<Received> {
  const buffer = new Uint8Array(64 * 1024);
  const latin1 = new TextDecoder("latin1");
  let text = "";
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    from.close();
  }, END_MS_MAX);
  try {
    while (!isEnough(text)) {
      const read = await from.read(buffer);
      if (read === null) return { text, end: "closed" };
      text += latin1.decode(buffer.subarray(0, read));
    }
    return { text, end: "enough" };
  } catch {
    return { text, end: isLate ? "late" : "reset" };
  } finally {
    clearTimeout(timer);
  }
}

/** Like `listen`, but throws when the connection is reset or late. Returns the text. */
export async function receiveText(
  from: Deno.Conn,
  isEnough?: (text: string) => boolean,
): Promise<string> {
  const { text, end } = await receive(from, isEnough);
  if (end === "enough" || end === "closed") return text;
  throw new Error(`${end === "late" ? "no end" : "a reset"} after ${JSON.stringify(text)}`);
}
