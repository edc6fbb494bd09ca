/**
 * Splits an answer into messages that the platform accepts. Pure. A cut is never inside a
 * character. It prefers the end of a paragraph, line or word, and closes and reopens a code fence
 * around it.
 *
 * The first message of a longer text does not depend on the text that follows, so a stream that
 * showed part of it stays valid.
 *
 * @module
 */

/** Better cut inside a line than before this share, which would make a short message. */
const EARLIEST_SHARE = 0.5;
const FENCE = /^(`{3,12}|~{3,12})([^\n`]*)$/;

/** Cuts `text` into messages of at most `lengthMax` UTF-16 units. */
export function splitMessage(text: string, lengthMax: number): readonly string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > lengthMax) {
    const cut = cutAt(rest, lengthMax);
    const head = rest.slice(0, cut).replace(/\s+$/, "");
    const fence = openFence(head);
    parts.push(fence === undefined ? head : `${head}\n${fence.mark}`);
    const tail = rest.slice(cut).replace(/^\n+/, "");
    rest = fence === undefined ? tail : `${fence.line}\n${tail}`;
  }
  if (rest.trim() !== "" || parts.length === 0) parts.push(rest);
  return parts;
}

/** Room needed to close a fence. */
const FENCE_ROOM = 16;

function cutAt(text: string, lengthMax: number): number {
  const room = Math.max(1, lengthMax - FENCE_ROOM);
  const earliest = Math.floor(room * EARLIEST_SHARE);
  for (const mark of ["\n\n", "\n", " "]) {
    const at = text.lastIndexOf(mark, room - mark.length);
    // Cut after the line that opens a fence; otherwise the rest would not become shorter.
    if (at >= earliest) return at + mark.length;
  }
  const isInsidePair = isHighSurrogate(text.charCodeAt(room - 1));
  return isInsidePair && room > 1 ? room - 1 : room;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

/** Returns the fence that is open at the end of `text`, if any. */
function openFence(text: string): { readonly line: string; readonly mark: string } | undefined {
  let open: { readonly line: string; readonly mark: string } | undefined;
  for (const line of text.split("\n")) {
    const found = FENCE.exec(line.trimStart());
    if (found === null) continue;
    const mark = found[1] ?? "";
    if (open === undefined) open = { line: line.trim().slice(0, 64), mark };
    else if (mark.startsWith(open.mark) && (found[2] ?? "").trim() === "") open = undefined;
  }
  return open;
}
