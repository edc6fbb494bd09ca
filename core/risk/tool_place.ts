/**
 * Whether the files of a call are in the agent's workspace, after links are resolved. An unusual
 * path counts as outside, because a program may interpret it in another way than this module.
 *
 * The check happens when the program asks. It does not notice a file that is replaced by a link
 * afterwards, but a tool that could replace it asks first.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { isRecord } from "core/text/json_object.ts";
import type { Place, ToolAct } from "core/risk/builtin_tools.ts";

/** Where an agent works. */
export interface Workspace {
  /** The working folder; relative paths begin there. */
  readonly folder: string;
  /** What `~` stands for. */
  readonly home: string;
}

type PathFiles = Pick<Files, "realPath" | "readLink">;

/** Arguments that name the file or folder of a call, in the spellings of all programs. */
const PATH_KEYS = ["path", "file_path", "filePath", "filepath", "notebook_path"];
/** Longest path of Linux, in characters. */
const PATH_LENGTH_MAX = 4096;
/** Characters that a program may drop or replace: controls, backslashes, unusual spaces. */
const DOUBTFUL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\]|(?! )\p{Zs}/u;
/** Beginnings that a program may expand or drop: `~user`, `@file`, `file://`. */
const EXPANDED = /^(?:~[^/]|@|[a-z][a-z0-9+.-]*:)/i;
/** Visible files from which a program takes commands. */
const COMMAND_FILES: ReadonlySet<string> = new Set(["opencode.json", "opencode.jsonc"]);

/** Returns the paths that arguments name. A value that is not text becomes an unusable path. */
export function argumentPaths(given: unknown): readonly string[] {
  if (!isRecord(given)) return [];
  return PATH_KEYS.filter((key) => given[key] !== undefined && given[key] !== null)
    .map((key) => typeof given[key] === "string" ? given[key] : "");
}

/** Returns where a call acts. */
export async function placeOf(
  { toolClass, paths }: ToolAct,
  workspace: Workspace | undefined,
  files: PathFiles,
): Promise<Place> {
  // A read without a path is about the working folder.
  if (toolClass === "read" && paths.length === 0) return "inside";
  if (toolClass !== "read" && toolClass !== "edit") return "outside";
  if (workspace === undefined || paths.length === 0) return "outside";
  for (const path of paths.flatMap((each) => readingsOf(each, workspace))) {
    const names = await namesInside(path, workspace.folder, files);
    if (names === undefined) return "outside";
    if (toolClass === "edit" && names.some(isCommandSource)) return "outside";
  }
  return "inside";
}

/**
 * Git, shells, editors and agent programs take commands and rules from hidden files, so writing one
 * can do what a command does.
 */
function isCommandSource(rest: readonly string[]): boolean {
  return rest.length === 0 || rest.some((part) => part.startsWith(".") || COMMAND_FILES.has(part));
}

/** Returns the absolute paths that a program may mean; an empty text stands for an unusable one. */
function readingsOf(path: string, { folder, home }: Workspace): readonly string[] {
  const isPlain = path !== "" && path.length <= PATH_LENGTH_MAX && path === path.trim() &&
    path.isWellFormed() && path === path.normalize("NFC") && !DOUBTFUL.test(path) &&
    !EXPANDED.test(path);
  if (!isPlain) return [""];
  if (path.startsWith("/")) return [path];
  const literal = `${folder}/${path}`;
  // Some programs expand `~`, others create a folder of that name.
  return path.startsWith("~") ? [`${home}${path.slice(1)}`, literal] : [literal];
}

/**
 * Returns the names of a path below the workspace: as written, and once its links are resolved.
 * Undefined when it may end elsewhere.
 */
async function namesInside(
  path: string,
  folder: string,
  files: PathFiles,
): Promise<readonly (readonly string[])[] | undefined> {
  try {
    const real = await files.realPath(folder);
    if (real === undefined || path === "") return undefined;
    const tree = { folder, real, files };
    const written = await writtenRest(path, [partsOf(folder), partsOf(real)], tree);
    if (written === undefined) return undefined;
    const resolved = await resolvedRest(written, tree);
    return resolved === undefined ? undefined : [written, resolved];
  } catch {
    // A file where a folder should be, a loop of links, or a missing right.
    return undefined;
  }
}

interface Tree {
  readonly folder: string;
  /** The folder without links. */
  readonly real: string;
  readonly files: PathFiles;
}

/**
 * Returns the names below the workspace without `.` and `..`. Programs apply `..` to the text of a
 * path, but the kernel applies it to the target of a link. So `..` after a link is refused.
 */
async function writtenRest(
  path: string,
  tops: readonly (readonly string[])[],
  tree: Tree,
): Promise<readonly string[] | undefined> {
  const stack: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") stack.push(part);
    else if (await isPlainFolder(below(stack, tops), tree)) stack.pop();
    else return undefined;
  }
  return below(stack, tops);
}

async function isPlainFolder(rest: readonly string[] | undefined, tree: Tree): Promise<boolean> {
  if (rest === undefined || rest.length === 0) return false;
  return await tree.files.realPath(joined(tree.folder, rest)) === joined(tree.real, rest);
}

/** Resolves links in the part that exists. The rest will be created below it. */
async function resolvedRest(
  rest: readonly string[],
  { folder, real, files }: Tree,
): Promise<readonly string[] | undefined> {
  for (let count = rest.length; count >= 0; count--) {
    const at = joined(folder, rest.slice(0, count));
    const found = await files.realPath(at);
    if (found !== undefined) {
      return below([...partsOf(found), ...rest.slice(count)], [partsOf(real)]);
    }
    // A link to nothing: the file would be created at its target.
    if (await files.readLink(at) !== undefined) return undefined;
  }
  return undefined;
}

function below(
  parts: readonly string[],
  tops: readonly (readonly string[])[],
): readonly string[] | undefined {
  const top = tops.find((each) => each.every((part, at) => parts[at] === part));
  return top === undefined ? undefined : parts.slice(top.length);
}

function partsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "");
}

function joined(folder: string, rest: readonly string[]): string {
  return [folder === "/" ? "" : folder.replace(/\/+$/, ""), ...rest].join("/") || "/";
}
