/**
 * Files that a verb attaches, on their way from the caller's process to the verb. The process that
 * the person started reads them, with that person's rights only. The verb, which may run as root,
 * gets names and bytes on its input: a line of JSON, then the bytes of each file in order.
 *
 * @module
 */

import type { CliDeps } from "cli/context.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import { claimsImage, readImage } from "core/images/image.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Files } from "core/ports/files.ts";
import { isRecord, parseJsonObject } from "core/text/json_object.ts";
import { printShell } from "core/text/quote.ts";
import { fileName } from "core/teamchat/file_refs.ts";
import { takeFirstLine } from "core/text/first_line.ts";
import { fileOption, type Invocation, repeated } from "core/verbs/invocation.ts";

/** A file that is attached. */
export interface Attached {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

const HEADER_BYTES_MAX = 16 * 1024;
/** The path that stands for stdin. */
const STDIN = "-";

/** Returns what a verb reads as its input: stdin, the files that it attaches, or nothing. */
export async function openInput(
  invocation: Invocation,
  deps: Pick<CliDeps, "cwd" | "openStdin"> & { readonly files: Files },
): Promise<Result<ReadableStream<Uint8Array> | undefined>> {
  if (invocation.verb.hasInput === true) return ok(deps.openStdin());
  const name = fileOption(invocation);
  return name === undefined ? ok(undefined) : await openAttachments(invocation, name, deps);
}

async function openAttachments(
  invocation: Invocation,
  name: string,
  deps: Pick<CliDeps, "cwd" | "openStdin"> & { readonly files: Files },
): Promise<Result<ReadableStream<Uint8Array>>> {
  const paths = repeated(invocation, name);
  const { filesMax } = FILE_LIMITS;
  if (paths.length > filesMax) {
    return err(unfit(`${paths.length} files`, `a message has at most ${filesMax} files`));
  }
  const isTextOnStdin = Object.values(invocation.args).includes(STDIN);
  if (paths.filter((path) => path === STDIN).length + Number(isTextOnStdin) > 1) {
    return err(unfit("-", "stdin can be only one of its text and its files"));
  }
  const attached: Attached[] = [];
  for (const path of paths) {
    const bytes = path === STDIN
      ? await readAll(deps.openStdin())
      : await readFile(path, { invocation, ...deps });
    if (!bytes.ok) return bytes;
    const fit = judge(path, bytes.value);
    if (!fit.ok) return fit;
    attached.push({ name: nameOf(path, bytes.value, attached.length + 1), bytes: bytes.value });
  }
  return ok(pack(attached));
}

/** Reads the files on the input of a verb, one at a time; throws when the input is not whole. */
export async function* readAttachments(
  input: ReadableStream<Uint8Array>,
): AsyncGenerator<Attached> {
  const first = await takeFirstLine(input, { lineBytesMax: HEADER_BYTES_MAX });
  if (first === undefined) throw new Error("the input has no list of files");
  const rows = readList(new TextDecoder().decode(first.line));
  const reader = first.rest.getReader();
  let held: Uint8Array = new Uint8Array();
  try {
    for (const { name, size } of rows) {
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size;) {
        if (held.length === 0) {
          const { value, done } = await reader.read();
          if (done) throw new Error("the input ended before the files were whole");
          held = value;
        }
        const part = held.subarray(0, size - at);
        bytes.set(part, at);
        at += part.length;
        held = held.subarray(part.length);
      }
      yield { name, bytes };
    }
  } finally {
    await reader.cancel().catch(() => {/* the sender has ended it already */});
  }
}

/** Reads the list of files; throws when it is none. */
function readList(line: string): readonly { readonly name: string; readonly size: number }[] {
  const { files } = parseJsonObject(line) ?? {};
  const isList = Array.isArray(files) && files.length <= FILE_LIMITS.filesMax;
  const rows = isList ? files.map(readRow) : [undefined];
  return rows.map((row) => {
    if (row === undefined) throw new Error("the input has no list of files");
    return row;
  });
}

function readRow(row: unknown) {
  if (!isRecord(row)) return undefined;
  const { name, size } = row;
  const isFit = typeof name === "string" && Number.isInteger(size) && Number(size) > 0 &&
    Number(size) <= FILE_LIMITS.fileBytesMax;
  return isFit ? { name, size: Number(size) } : undefined;
}

async function readFile(
  path: string,
  { invocation, cwd, files }: {
    readonly invocation: Invocation;
    readonly cwd: string;
    readonly files: Files;
  },
): Promise<Result<Uint8Array<ArrayBuffer>>> {
  try {
    const real = await files.realPath(path.startsWith("/") ? path : `${cwd}/${path}`);
    const stat = real === undefined ? undefined : await files.stat(real);
    if (real === undefined || stat === undefined) return err(unfit(path, "there is no such file"));
    if (stat.kind !== "file") return err(unfit(path, "it is not a file"));
    if (stat.size > FILE_LIMITS.fileBytesMax) return err(tooLarge(path));
    return ok(await files.readBytes(real) ?? new Uint8Array());
  } catch (thrown) {
    // The program may not read every folder. The shell opens a file with the person's own rights.
    const words = [...invocation.verb.path, Object.values(invocation.args)[0] ?? ""];
    const typed = printShell([...words, "--file", STDIN, "see this file"]);
    const hints = [`fleetctl ${typed} < ${printShell([path])}`];
    return err(unfit(path, errorText(thrown), hints));
  }
}

async function readAll(
  stream: ReadableStream<Uint8Array>,
): Promise<Result<Uint8Array<ArrayBuffer>>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > FILE_LIMITS.fileBytesMax) return err(tooLarge(STDIN));
    chunks.push(new Uint8Array(chunk));
  }
  return ok(new Uint8Array(await new Blob(chunks).arrayBuffer()));
}

/** Refuses an empty file, and an image that no model could see. */
function judge(path: string, bytes: Uint8Array): Result<void> {
  if (bytes.length === 0) return err(unfit(path, "it is empty"));
  const info = readImage(bytes);
  if (info.ok || (info.error.kind === "other" && !claimsImage(path))) return ok(undefined);
  return err(refusal(
    "image-unfit",
    `Cannot attach the image ${JSON.stringify(path.slice(0, 200))}: ${info.error.state}`,
    { kind: "usage", hints: path === STDIN ? [] : [`ls -l ${printShell([path])}`] },
  ));
}

function nameOf(path: string, bytes: Uint8Array, n: number): string {
  if (path !== STDIN) return fileName(path.split("/").at(-1) ?? "", n);
  const info = readImage(bytes);
  return info.ok ? `stdin.${info.value.type.slice("image/".length)}` : "stdin";
}

function pack(attached: readonly Attached[]): ReadableStream<Uint8Array> {
  const rows = attached.map(({ name, bytes }) => ({ name, size: bytes.length }));
  const parts = attached.map(({ bytes }) => bytes);
  return new Blob([`${JSON.stringify({ files: rows })}\n`, ...parts]).stream();
}

function tooLarge(path: string): Refusal {
  return unfit(path, `it is larger than ${FILE_LIMITS.fileBytesMax} bytes`);
}

function unfit(path: string, state: string, hints: readonly string[] = []): Refusal {
  const named = JSON.stringify(path.slice(0, 200));
  return refusal("attachment-unfit", `Cannot attach ${named}: ${state}`, { kind: "usage", hints });
}
