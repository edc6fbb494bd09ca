/**
 * Reads the beginning of a text file that becomes part of the system prompt. Such a file may be
 * huge, a pipe, or not text. It may also be a link: one that leads out of the given folder is not
 * read, because a repository could use it to send a private file to the model's provider.
 *
 * @module
 */

import { fileKindText } from "core/files/file_kind.ts";
import { FileFault, type Files } from "core/ports/files.ts";

/** Functions that read such a file. */
export type TextFiles = Pick<Files, "stat" | "realPath" | "readHead">;

/** The beginning of a text file. */
export interface TextHead {
  readonly kind: "text";
  readonly path: string;
  readonly text: string;
  /** Bytes of the file that `text` has. */
  readonly keptBytes: number;
  /** Size of the file. */
  readonly size: number;
}

/** Why a file is not used; `reason` continues the sentence `"<path>" …`. */
export interface TextFault {
  readonly kind: "fault";
  readonly path: string;
  readonly reason: string;
}

/** The beginning of a file as bytes. */
export interface BytesHead {
  readonly kind: "bytes";
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Size of the file. */
  readonly size: number;
}

/**
 * Reads at most `bytesMax` bytes of the file as text. Returns undefined if there is none. A file
 * that the machine cannot read is a fault, too.
 */
export async function readTextHead(
  path: string,
  bounds: { readonly bytesMax: number; readonly within: string },
  files: TextFiles,
): Promise<TextHead | TextFault | undefined> {
  const head = await readBytesHead(path, bounds, files);
  if (head?.kind !== "bytes") return head;
  const { bytes, size } = head;
  const kept = size > bytes.length ? wholeLines(bytes) : bytes;
  return { kind: "text", path, text: decodeText(kept), keptBytes: kept.length, size };
}

/** As `readTextHead`, but returns the bytes. */
export async function readBytesHead(
  path: string,
  { bytesMax, within }: { readonly bytesMax: number; readonly within: string },
  files: TextFiles,
): Promise<BytesHead | TextFault | undefined> {
  const fault = (reason: string): TextFault => ({ kind: "fault", path, reason });
  try {
    const stat = await files.stat(path);
    if (stat === undefined) return undefined;
    const [real, folder] = [await files.realPath(path), await files.realPath(within)];
    if (real === undefined || folder === undefined) return fault("is a link to a missing file");
    if (!isWithin(real, folder)) return fault(`is a link that leads out of "${within}"`);
    const head = await files.readHead(real, bytesMax);
    if (head === undefined) return fault(`is ${await kindAt(real, files)}, must be a regular file`);
    return head.bytes.includes(0)
      ? fault("is not a text file")
      : { kind: "bytes", path, bytes: head.bytes, size: head.size };
  } catch (thrown) {
    if (thrown instanceof FileFault) return fault(`cannot be read (${thrown.code})`);
    throw thrown;
  }
}

/** Returns the text of bytes, with `\n` as line end and without control characters. */
export function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes).replace(/\r\n?/g, "\n").replace(CONTROLS, "");
}

/** Whether an absolute path is `folder` or in it; both without links. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || folder === "/" || path.startsWith(`${folder}/`);
}

/** Control characters except tab and newline. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

/** A last line that is at most half of the bytes is dropped, so that the text ends with a line. */
function wholeLines(bytes: Uint8Array): Uint8Array {
  const end = bytes.lastIndexOf(0x0a);
  if (end >= bytes.length / 2) return bytes.subarray(0, end + 1);
  // Never ends within a character.
  let at = bytes.length;
  while (at > 0 && ((bytes[at - 1] ?? 0) & 0b1100_0000) === 0b1000_0000) at--;
  const lead = bytes[at - 1] ?? 0;
  return lead >= 0b1100_0000 ? bytes.subarray(0, at - 1) : bytes;
}

async function kindAt(path: string, files: TextFiles): Promise<string> {
  const stat = await files.stat(path);
  return stat === undefined ? "gone" : fileKindText(stat.kind);
}
