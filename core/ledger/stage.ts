/**
 * The file part of a ledger change: computes all edits in memory, then writes the new texts under
 * hidden names beside the current files. Changes no file that a reader sees.
 *
 * @module
 */

import { fileKindText } from "core/files/file_kind.ts";
import { refusal } from "core/errors.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";

/** A change of one file. */
export interface LedgerEdit {
  /** Absolute, below `paths.repo`. */
  readonly path: string;
  /** Permission bits; 0o600 when absent. */
  readonly mode?: number;
  /** Includes the file's uncommitted current text in the change if the edit accepts it. */
  readonly adopts?: true;
  /** Returns the next text; undefined means "no file", both as argument and as result. */
  readonly change: (
    current: string | undefined,
  ) => Result<string | undefined> | Promise<Result<string | undefined>>;
}

/** A file whose next text is known. */
export interface ComputedFile {
  readonly path: string;
  /** Path relative to the repository. */
  readonly name: string;
  readonly mode: number;
  /** The text that it was computed from; undefined if there was no file. */
  readonly before: string | undefined;
  /** Undefined if the file is removed. */
  readonly text: string | undefined;
}

/** A file whose next text is on disk under a hidden name. */
export interface StagedFile extends ComputedFile {
  readonly stagedPath: string | undefined;
}

/** Largest file of the ledger, in UTF-16 units; the secret store of a big fleet is far smaller. */
const TEXT_LENGTH_MAX = 64 * 1024 * 1024;
const LEFT_OVER = /^\..*\.fleetctl-(?:tmp|staged)$/;
const NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$/;

/** Returns the hidden path beside a file under which its next text is staged. */
export function stagedPathOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return `${path.slice(0, slash)}/.${path.slice(slash + 1)}.fleetctl-staged`;
}

/**
 * Computes all edits and omits those without an effect; refuses if any edit refuses. `uncommitted`
 * lists files whose current text is in no commit.
 */
export async function readEdits(
  files: Files,
  paths: Paths,
  edits: readonly LedgerEdit[],
  uncommitted: readonly string[] = [],
): Promise<Result<readonly ComputedFile[]>> {
  const computed: ComputedFile[] = [];
  for (const edit of edits) {
    const name = nameInside(paths, edit.path);
    const safe = await checkFolders(files, paths, name);
    if (!safe.ok) return safe;
    const current = await files.readText(edit.path);
    const next = await edit.change(current);
    if (!next.ok) return next;
    const isAdopted = edit.adopts === true && uncommitted.includes(name);
    if (next.value === current && !isAdopted) continue;
    if ((next.value?.length ?? 0) > TEXT_LENGTH_MAX) {
      return err(refusal("ledger-too-large", `Cannot write "${edit.path}": it would be too large`));
    }
    const mode = edit.mode ?? 0o600;
    computed.push({ path: edit.path, name, mode, before: current, text: next.value });
  }
  return ok(computed);
}

/** Tells whether any file no longer has the text that its next text was computed from. */
export async function isEditedMeanwhile(
  files: Files,
  computed: readonly ComputedFile[],
): Promise<boolean> {
  for (const { path, before } of computed) {
    if (await files.readText(path) !== before) return true;
  }
  return false;
}

/** Writes the new texts under hidden names; removes all of them again if one write fails. */
export async function stageFiles(
  files: Files,
  computed: readonly ComputedFile[],
): Promise<readonly StagedFile[]> {
  const staged: StagedFile[] = [];
  try {
    for (const file of computed) {
      if (file.text === undefined) {
        staged.push({ ...file, stagedPath: undefined });
        continue;
      }
      const slash = file.path.lastIndexOf("/");
      await files.ensureDir(file.path.slice(0, slash));
      const stagedPath = stagedPathOf(file.path);
      staged.push({ ...file, stagedPath });
      await files.write(stagedPath, file.text, { mode: file.mode });
    }
    return staged;
  } catch (thrown) {
    for (const { stagedPath } of staged) {
      if (stagedPath !== undefined) await files.remove(stagedPath);
    }
    throw thrown;
  }
}

/** Removes temporary and staged files of a killed process. The caller must hold the ledger lock. */
export async function sweepFolders(files: Files, paths: Paths): Promise<void> {
  const entries = (await files.list(paths.overlayCatalog)).map((name) =>
    `${paths.overlayCatalog}/${name}`
  );
  for (const folder of [paths.repo, paths.agentsDir, paths.hostsDir, ...entries]) {
    if ((await files.stat(folder))?.kind !== "directory") continue;
    for (const name of await files.list(folder)) {
      if (LEFT_OVER.test(name)) await files.remove(`${folder}/${name}`);
    }
  }
}

/** Tells whether a path relative to the repository is allowed in the ledger. */
export function isLedgerName(name: string): boolean {
  return NAME.test(name);
}

/** Paths are built from parsed names, so any other path is a bug of the caller. */
function nameInside(paths: Paths, path: string): string {
  const name = path.startsWith(`${paths.repo}/`) ? path.slice(paths.repo.length + 1) : "";
  if (!NAME.test(name)) throw new TypeError(`not a path of the ledger: ${path}`);
  return name;
}

/**
 * In a shared repository a folder may be a link to another place: refuse it instead of following.
 */
async function checkFolders(files: Files, paths: Paths, name: string): Promise<Result<void>> {
  const parts = name.split("/");
  for (let length = 1; length <= parts.length; length++) {
    const path = `${paths.repo}/${parts.slice(0, length).join("/")}`;
    const stat = await files.stat(path);
    const wanted = length === parts.length ? "file" : "directory";
    if (stat !== undefined && stat.kind !== wanted) {
      return err(refusal(
        "ledger-unsafe",
        `Cannot write "${path}": it is ${fileKindText(stat.kind)}, must be ${fileKindText(wanted)}`,
        { hints: [`ls -ld ${path}`] },
      ));
    }
  }
  return ok(undefined);
}
