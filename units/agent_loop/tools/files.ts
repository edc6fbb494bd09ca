/**
 * The tools `read`, `edit` and `write`. `edit` replaces one exact, unique piece of text, so that a
 * model with a wrong idea of the file changes nothing. Writes are atomic and keep a file's mode.
 *
 * @module
 */

import { fileKindText } from "core/files/file_kind.ts";
import * as z from "zod";
import { errorText } from "core/errors.ts";
import { strictUtf8 } from "core/text/utf8.ts";
import { RUNTIME_LIMITS } from "units/agent_loop/limits.ts";
import type { FileStat } from "core/files/file_stat.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { byteLength, cutText } from "core/text/cut_text.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  checkInput,
  failed,
  resolvePath,
  type Tool,
  type ToolFolders,
  type ToolOutcome,
} from "units/agent_loop/tools/tool.ts";

/** Maximum size of a file to edit or read; larger ones are for bash. */
const FILE_BYTES_MAX = 16 * 1024 * 1024;
const LINES_DEFAULT = 2000;
/** Lines of context shown around an edit. */
const CONTEXT_LINES = 3;
/** Maximum number of links to follow; more count as a loop. */
const LINKS_MAX = 16;

const readInput = z.object({
  path: z.string().min(1),
  offset: z.number().int().positive().optional(),
  limit: z.number().int().positive().optional(),
});
const editInput = z.object({
  path: z.string().min(1),
  old_text: z.string().min(1),
  new_text: z.string(),
});
const writeInput = z.object({ path: z.string().min(1), content: z.string() });

const PATH = {
  type: "string",
  description: "Absolute, relative to the working folder, or beginning with ~",
} as const;

/** Creates the three file tools. */
export function fileTools(folders: ToolFolders, files: Files): readonly Tool[] {
  return [readTool(folders, files), editTool(folders, files), writeTool(folders, files)];
}

function readTool(folders: ToolFolders, files: Files): Tool {
  return {
    ...builtin("read", "read"),
    isConcurrent: true,
    description: "Reads a text file, or lists a folder. Lines are numbered from 1. " +
      `At most ${LINES_DEFAULT} lines and ${RUNTIME_LIMITS.readBytesMax} bytes at once.`,
    inputSchema: schema({
      path: PATH,
      offset: { type: "integer", description: "First line, from 1" },
      limit: { type: "integer", description: "Number of lines" },
    }, ["path"]),
    run: (given) =>
      guarded(readInput, given, async ({ path, offset, limit }) => {
        const at = await followLinks(resolvePath(path, folders), files);
        const stat = await files.stat(at);
        if (stat === undefined) return failed(`Cannot read "${at}": there is no such file`);
        if (stat.kind === "directory") return await listFolder(at, files);
        const text = await readTextFile(at, files);
        if (!text.ok) return failed(text.error);
        return numberedLines(text.value, offset ?? 1, limit ?? LINES_DEFAULT);
      }),
  };
}

function editTool(folders: ToolFolders, files: Files): Tool {
  return {
    ...builtin("edit", "edit"),
    isConcurrent: false,
    description:
      "Replaces one piece of a text file. old_text must occur in the file exactly once, " +
      "spaces and line ends included; add surrounding lines to make it unique.",
    inputSchema: schema({
      path: PATH,
      old_text: { type: "string", description: "The exact text to replace" },
      new_text: { type: "string", description: "The text that replaces it" },
    }, ["path", "old_text", "new_text"]),
    run: (given) =>
      guarded(editInput, given, async ({ path, old_text, new_text }) => {
        const at = await followLinks(resolvePath(path, folders), files);
        const text = await readTextFile(at, files);
        if (!text.ok) return failed(text.error);
        const first = text.value.indexOf(old_text);
        if (first === -1) {
          return failed(`Cannot edit "${at}": old_text is not in it, must match exactly`);
        }
        const count = text.value.split(old_text).length - 1;
        if (text.value.indexOf(old_text, first + 1) !== -1) {
          return failed(
            `Cannot edit "${at}": old_text is in it ${Math.max(2, count)} times, ` +
              "must be unique; add surrounding lines",
          );
        }
        if (old_text === new_text) return failed(`Cannot edit "${at}": both texts are the same`);
        const next = text.value.slice(0, first) + new_text +
          text.value.slice(first + old_text.length);
        await writeKeepingMode(at, next, files);
        return { status: "completed", text: shownEdit(at, next, first, new_text) };
      }),
  };
}

function writeTool(folders: ToolFolders, files: Files): Tool {
  return {
    ...builtin("write", "edit"),
    isConcurrent: false,
    description: "Writes a whole file: creates it and its folders, or replaces the existing file.",
    inputSchema: schema({ path: PATH, content: { type: "string" } }, ["path", "content"]),
    run: (given) =>
      guarded(writeInput, given, async ({ path, content }) => {
        const at = await followLinks(resolvePath(path, folders), files);
        const stat = await files.stat(at);
        if (stat !== undefined && stat.kind !== "file") {
          return failed(notAFile("write", at, stat.kind));
        }
        await files.ensureDir(at.slice(0, Math.max(1, at.lastIndexOf("/"))));
        await writeKeepingMode(at, content, files);
        const verb = stat === undefined ? "created" : "replaced";
        return { status: "completed", text: `[${verb} ${at}, ${byteLength(content)} bytes]` };
      }),
  };
}

function notAFile(verb: string, path: string, kind: FileStat["kind"]): string {
  return `Cannot ${verb} "${path}": it is ${fileKindText(kind)}, must be a regular file`;
}

function builtin(name: string, kind: Tool["kind"]) {
  return { name, tool: name, mcp: undefined, kind };
}

function schema(properties: Readonly<Record<string, unknown>>, required: readonly string[]) {
  return { type: "object", properties, required, additionalProperties: false };
}

/** Checks the input and converts faults of the file system to results. */
async function guarded<T>(
  shape: z.ZodType<T>,
  given: unknown,
  work: (input: T) => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const checked = checkInput(shape, given);
  if (!checked.ok) return failed(checked.error);
  try {
    return await work(checked.value);
  } catch (error) {
    if (error instanceof FileFault) return failed(error.message);
    return failed(`The tool failed: ${errorText(error)}`);
  }
}

async function listFolder(path: string, files: Files): Promise<ToolOutcome> {
  const names = await files.list(path);
  const shown = await Promise.all(
    names.slice(0, LINES_DEFAULT).map(async (name) => {
      const stat = await files.stat(`${path}/${name}`);
      return stat?.kind === "directory" ? `${name}/` : name;
    }),
  );
  const rest = names.length - shown.length;
  const note = rest > 0 ? [`[… ${rest} more entries …]`] : [];
  return { status: "completed", text: [...shown, ...note].join("\n") || "[empty folder]" };
}

async function readTextFile(path: string, files: Files): Promise<Result<string, string>> {
  const stat = await files.stat(path);
  if (stat === undefined) return err(`Cannot read "${path}": there is no such file`);
  if (stat.kind !== "file") return err(notAFile("read", path, stat.kind));
  if (stat.size > FILE_BYTES_MAX) {
    return err(
      `Cannot read "${path}": it has ${stat.size} bytes, must have at most ${FILE_BYTES_MAX}; ` +
        "use bash",
    );
  }
  const bytes = await files.readBytes(path);
  if (bytes === undefined) return err(`Cannot read "${path}": there is no such file`);
  try {
    return ok(strictUtf8().decode(bytes));
  } catch {
    return err(`Cannot read "${path}": it is not UTF-8 text; use bash`);
  }
}

function numberedLines(text: string, offset: number, limit: number): ToolOutcome {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  if (lines.length === 0) return { status: "completed", text: "[empty file]" };
  if (offset > lines.length) {
    return failed(`Cannot read from line ${offset}: the file has ${lines.length} lines`);
  }
  const wanted = lines.slice(offset - 1, offset - 1 + Math.min(limit, LINES_DEFAULT));
  const body = wanted.map((line, index) => `${offset + index}\t${line}`).join("\n");
  const cut = cutText(body, RUNTIME_LIMITS.readBytesMax);
  const shownLines = cut.cutBytes === 0 ? wanted.length : cut.text.split("\n").length;
  const isWhole = offset === 1 && cut.cutBytes === 0 && shownLines === lines.length;
  const last = offset + shownLines - 1;
  const note = isWhole ? "" : `\n[lines ${offset} to ${last} of ${lines.length}]`;
  return { status: "completed", text: cut.text + note };
}

/** Returns the target of a link. `Files.write` would replace the owner's link with a file. */
async function followLinks(path: string, files: Files): Promise<string> {
  let at = path;
  for (let links = 0; links < LINKS_MAX; links++) {
    const target = await files.readLink(at);
    if (target === undefined) return at;
    const folder = at.slice(0, Math.max(1, at.lastIndexOf("/")));
    at = resolvePath(target, { cwd: folder, home: folder });
  }
  throw new FileFault("ELOOP", path, `Cannot open "${path}": too many links`);
}

async function writeKeepingMode(path: string, text: string, files: Files): Promise<void> {
  const mode = (await files.stat(path))?.mode;
  await files.write(path, text, mode === undefined ? {} : { mode });
}

function shownEdit(path: string, text: string, at: number, inserted: string): string {
  const lines = text.split("\n");
  const firstLine = text.slice(0, at).split("\n").length;
  const lastLine = firstLine + inserted.split("\n").length - 1;
  const from = Math.max(1, firstLine - CONTEXT_LINES);
  const to = Math.min(lines.length, lastLine + CONTEXT_LINES);
  const shown = lines.slice(from - 1, to).map((line, index) => `${from + index}\t${line}`);
  return `[edited ${path}]\n${cutText(shown.join("\n"), 8 * 1024).text}`;
}
