/**
 * Connections byte by byte, for tests of what goes over them: a character of a text is a byte, and
 * an end that never comes hangs nobody.
 *
 * @module
 */

/** How long anything may take to come, in milliseconds. */
export const END_MS_MAX = 20_000;

/** The bytes of a text, one a character. */
export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (one) => one.charCodeAt(0));
}

/** Says all of a text. */
export async function say(to: Deno.Conn, text: string): Promise<void> {
  const bytes = bytesOf(text);
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

/** What a connection said, and why no more was heard. */
export interface Heard {
  readonly text: string;
  readonly end: "enough" | "closed" | "reset" | "late";
}

/** Hears a connection until `isEnough`, or to its end; one that never comes closes it. */
export async function listen(
  from: Deno.Conn,
  isEnough: (text: string) => boolean = () => false,
): Promise<Heard> {
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

/** The same where the connection must end in order, or say enough. */
export async function hear(
  from: Deno.Conn,
  isEnough?: (text: string) => boolean,
): Promise<string> {
  const { text, end } = await listen(from, isEnough);
  if (end === "enough" || end === "closed") return text;
  throw new Error(`${end === "late" ? "no end" : "a reset"} after ${JSON.stringify(text)}`);
}
