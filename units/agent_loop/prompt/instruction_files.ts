/**
 * The `AGENTS.md` files of a conversation: that of the home, and those of the folders from the root
 * of the project down to the working folder. The project's root is the nearest folder with `.git`;
 * without one, only the working folder counts. Read again for each turn.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { byteLength, cutText } from "core/text/cut_text.ts";
import {
  isWithin,
  readTextHead,
  type TextFault,
  type TextFiles,
  type TextHead,
} from "units/agent_loop/prompt/text_file.ts";

/** Name of an instruction file. */
const INSTRUCTION_FILE = "AGENTS.md";
/** Bytes that are read of one file; the field's programs read 32 KiB too. */
export const INSTRUCTION_BYTES_MAX = 32 * 1024;
/** Bytes of all files together, if the model's window is large enough. */
export const INSTRUCTIONS_BYTES_MAX = 64 * 1024;
/** Files of the project; those nearest to the working folder are read. */
const PROJECT_FILES_MAX = 16;
/** Folders above the working folder that are searched for the project's root. */
const FOLDERS_MAX = 64;
/** A smaller rest of the budget is not used for the beginning of a file. */
const USEFUL_BYTES_MIN = 256;

/** Where instruction files are searched. */
export interface InstructionFolders {
  readonly home: string;
  readonly cwd: string;
}

/** The texts in the order of the prompt: the nearest one last. */
export interface InstructionTexts {
  readonly texts: readonly TextHead[];
  /** Files that are not used. */
  readonly faults: readonly TextFault[];
}

/** Reads the files of the home and of the project's folders, within `bytesMax` bytes in total. */
export async function readInstructionFiles(
  { home, project }: { readonly home: string; readonly project: readonly string[] },
  bytesMax: number,
  files: TextFiles,
): Promise<InstructionTexts> {
  const root = project[0] ?? home;
  const found = await Promise.all([
    read(home, home, files),
    ...project.filter((folder) => folder !== home).map((folder) => read(folder, root, files)),
  ]);
  return fitTexts(found, bytesMax);
}

/**
 * Returns the folders from the project's root to the working folder. The search does not leave the
 * home upwards.
 */
export async function projectFolders(
  { home, cwd }: InstructionFolders,
  files: Pick<Files, "stat">,
): Promise<readonly string[]> {
  const above: string[] = [];
  let folder = cwd;
  while (above.length < FOLDERS_MAX) {
    above.unshift(folder);
    if (await isProjectRoot(folder, files)) return above.slice(-PROJECT_FILES_MAX);
    if (folder === home || folder === "/") break;
    folder = folder.slice(0, Math.max(1, folder.lastIndexOf("/")));
    if (isWithin(cwd, home) && !isWithin(folder, home)) break;
  }
  return [cwd];
}

/**
 * Divides the budget: first the home's file, then the nearest one, the farthest last. So a long
 * file at a project's root does not displace the one beside the work.
 */
export function fitTexts(
  found: readonly (TextHead | TextFault | undefined)[],
  bytesMax: number,
): InstructionTexts {
  let left = bytesMax;
  const texts: (TextHead | undefined)[] = found.map(() => undefined);
  const faults: TextFault[] = [];
  const [first, ...others] = found.map((_, index) => index);
  for (const index of first === undefined ? [] : [first, ...others.reverse()]) {
    const head = found[index];
    if (head === undefined) continue;
    if (head.kind === "fault") faults.push(head);
    else if (head.text.trim() === "") continue;
    else if (left < Math.min(USEFUL_BYTES_MIN, head.keptBytes)) {
      faults.push({ kind: "fault", path: head.path, reason: "is left out, other files are long" });
    } else {
      const fitted = cutTo(head, left);
      left -= fitted.keptBytes;
      texts[index] = fitted;
    }
  }
  return { texts: texts.filter((text) => text !== undefined), faults };
}

function cutTo(head: TextHead, bytesMax: number): TextHead {
  if (byteLength(head.text) <= bytesMax) return head;
  const { text } = cutText(head.text, bytesMax);
  return { ...head, text, keptBytes: byteLength(text) };
}

function read(folder: string, within: string, files: TextFiles) {
  const path = folder === "/" ? `/${INSTRUCTION_FILE}` : `${folder}/${INSTRUCTION_FILE}`;
  return readTextHead(path, { bytesMax: INSTRUCTION_BYTES_MAX, within }, files);
}

async function isProjectRoot(folder: string, files: Pick<Files, "stat">): Promise<boolean> {
  try {
    // A worktree and a submodule have a file there.
    const kind = (await files.stat(`${folder === "/" ? "" : folder}/.git`))?.kind;
    return kind === "directory" || kind === "file";
  } catch {
    // A folder that this user cannot enter holds no project of this agent.
    return false;
  }
}
