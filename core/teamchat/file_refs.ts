/**
 * Files in a message: their names and download locations. Pure. Source: Teams "Send and receive
 * files through a bot". Only personal chats have files. A file is an attachment with its own type
 * and a URL that is valid for minutes. An image in the text is an attachment of type `image/*`.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import type { Activity, Attachment } from "core/teamchat/activity.ts";
import { FILE_LIMITS } from "core/limits/file.ts";

/** Attachment type of a file from the owner. */
export const FILE_INFO = "application/vnd.microsoft.teams.file.download.info";

/** A file that can be downloaded. */
export interface FileRef {
  /**
   * `download`: pre-authenticated URL, without the gateway's token; `inline`: at the connector,
   * with the token.
   */
  readonly kind: "download" | "inline";
  readonly name: string;
  readonly url: string;
}

/** Splits the attachments of a message into files and other attachments. */
export function filesOf(
  activity: Activity,
): { readonly files: readonly FileRef[]; readonly others: readonly Attachment[] } {
  const files: FileRef[] = [];
  const others: Attachment[] = [];
  for (const attachment of activity.attachments ?? []) {
    const file = readFile(attachment, files.length + 1);
    if (file !== undefined && files.length < FILE_LIMITS.filesMax) files.push(file);
    else others.push(attachment);
  }
  return { files, others };
}

function readFile({ contentType, contentUrl, name, content }: Attachment, n: number) {
  if (contentType === FILE_INFO) {
    const { downloadUrl } = typeof content === "object" && content !== null
      ? content as { downloadUrl?: unknown }
      : {};
    return typeof downloadUrl === "string"
      ? { kind: "download", name: fileName(name ?? "", n), url: downloadUrl } as const
      : undefined;
  }
  const isImage = contentType?.toLowerCase().startsWith("image/") ?? false;
  if (!isImage || typeof contentUrl !== "string") return undefined;
  return { kind: "inline", name: fileName(name ?? "", n, "image"), url: contentUrl } as const;
}

/** Returns a file name that is safe in any folder: no path separators, no hidden file. */
export function fileName(text: string, n: number, fallback = "file"): string {
  const name = text.normalize("NFC").replace(/[\p{C}/\\:*?"<>|]/gu, "_").replace(/^[.\s]+/, "")
    .trim();
  const bytes = new TextEncoder().encode(name);
  const short = bytes.length <= NAME_BYTES_MAX ? name : cutName(name);
  return short === "" ? `${fallback}-${n}` : short;
}
const NAME_BYTES_MAX = 120;

/** Cuts out the middle, so that the file extension stays visible. */
function cutName(name: string): string {
  const end = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? "";
  let head = name.slice(0, NAME_BYTES_MAX);
  while (byteLength(head + end) > NAME_BYTES_MAX) head = head.slice(0, -1);
  return `${head.toWellFormed().replace(/\ufffd$/, "")}${end}`;
}
