/**
 * Reverts one change of the ledger with a new one. Each file of the change returns to its earlier
 * text, and keeps later changes to other lines. The whole revert is refused if a later change
 * touched the same lines (in an agent's shard: the same fields), or if the resulting ledger would
 * be invalid.
 *
 * Secrets are never reverted: the store cannot be merged, and an older store would bring back
 * replaced keys and removed readers. Use `secret set`, `unset` and `rotate` instead.
 *
 * @module
 */

import { editHint } from "core/hints/edit_hint.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { NO_COMMIT } from "core/ledger/commit.ts";
import { type Git, type LedgerPorts, openGit } from "core/ledger/git.ts";
import { type ComputedFile, isLedgerName, type LedgerEdit } from "core/ledger/stage.ts";
import { revertFields } from "core/ledger/revert_shard.ts";
import type { LedgerAuthor } from "core/ledger/agents.ts";
import { commitChange, type Committed } from "core/ledger/repository.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";

/** The change to revert. */
export interface RevertOptions extends LedgerAuthor {
  /** A commit id, at least its first four digits. */
  readonly commit: string;
  /** Checks the files as they would be after the revert. */
  readonly accept: (computed: readonly ComputedFile[]) => Promise<Result<void>>;
}

/** Result of a revert. */
export interface Reverted extends Committed {
  /** Full id and subject of the reverted change. */
  readonly reverted: string;
  readonly subject: string;
}

/** A file of the change, before and after it. */
interface TouchedFile {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const COMMIT_ID = /^[0-9a-f]{4,64}$/;
const FILE_MODE = "100644";
const NO_MODE = "000000";

/** Reverts a change. */
export async function revertChange(
  ports: LedgerPorts,
  paths: Paths,
  { commit, verb, caller, accept }: RevertOptions,
): Promise<Result<Reverted>> {
  const git = await openGit(ports, paths);
  if (!git.ok) return git;
  const found = await findChange(git.value, commit);
  if (!found.ok) return found;
  const { id, parent, subject } = found.value;
  const touched = await readTouched(git.value, paths, { id, parent });
  if (!touched.ok) return touched;
  const conflicts: string[] = [];
  const edits = touched.value.map((file): LedgerEdit => ({
    path: `${paths.repo}/${file.name}`,
    mode: file.name.startsWith("agents.d/") ? 0o600 : 0o644,
    change: async (current) => {
      const merged = await revertFile(ports, paths, git.value, { file, current });
      if (merged.ok) return ok(merged.value);
      conflicts.push(file.name);
      return ok(current);
    },
  }));
  const done = await commitChange(ports, paths, {
    verb,
    caller,
    summary: `${id.slice(0, 12)} (${subject})`,
    accept: async (computed) =>
      conflicts.length > 0 ? err(conflictRefusal(paths, id, conflicts)) : await accept(computed),
    edits,
  });
  if (!done.ok) return done;
  // `accept` is not called when no file would change, as when every file has a conflict.
  if (conflicts.length > 0) return err(conflictRefusal(paths, id, conflicts));
  return ok({ ...done.value, reverted: id, subject });
}

async function findChange(
  git: Git,
  given: string,
): Promise<Result<{ readonly id: string; readonly parent: string; readonly subject: string }>> {
  const shown = JSON.stringify(given.slice(0, 80));
  const bad = (state: string) =>
    err(refusal("commit-unusable", `Cannot revert ${shown}: ${state}`, {
      hints: ["fleetctl ledger log"],
    }));
  if (!COMMIT_ID.test(given)) return bad("it is not a commit id, use one that `ledger log` shows");
  const named = await git.run(["rev-parse", "--verify", "--quiet", `${given}^{commit}`]);
  if (!named.ok) return bad("the ledger has no such commit, or more than one");
  const id = named.value.trim();
  const isIn = await git.run(["merge-base", "--is-ancestor", id, "HEAD"]);
  if (!isIn.ok) return bad("it is not part of the history of this ledger");
  const logged = await git.run(["log", "-1", "--format=%P%x00%s", id]);
  if (!logged.ok) return logged;
  const [parents = "", subject = ""] = logged.value.trim().split("\0");
  const [parent = "", second] = parents.split(" ");
  if (parent === "") return bad("it is the first commit, which changed nothing");
  if (second !== undefined) return bad("it is a merge of several changes, must be one change");
  return ok({ id, parent, subject });
}

async function readTouched(
  git: Git,
  paths: Paths,
  { id, parent }: { readonly id: string; readonly parent: string },
): Promise<Result<readonly TouchedFile[]>> {
  const diff = await git.run(["diff-tree", "-r", "-z", "--no-renames", parent, id]);
  if (!diff.ok) return diff;
  const parts = diff.value.split("\0").filter((part) => part !== "");
  const touched: TouchedFile[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [was = "", is = "", before = "", after = ""] = (parts[at] ?? "").slice(1).split(" ");
    const name = parts[at + 1] ?? "";
    if ([paths.secretsFile, paths.recipientsFile].includes(`${paths.repo}/${name}`)) {
      return err(secretsRefusal(id, name));
    }
    const isPlain = [was, is].every((mode) => mode === FILE_MODE || mode === NO_MODE);
    if (!isPlain || !isLedgerName(name)) return err(notALedgerFile(id, name));
    const texts: (string | undefined)[] = [];
    for (const blob of [before, after]) {
      const text = blob === NO_COMMIT ? ok(undefined) : await git.run(["cat-file", "blob", blob]);
      if (!text.ok) return text;
      texts.push(text.value);
    }
    touched.push({ name, before: texts[0], after: texts[1] });
  }
  return ok(touched);
}

/** Returns the text after the revert; a refusal means a conflict. */
async function revertFile(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  { file, current }: { readonly file: TouchedFile; readonly current: string | undefined },
): Promise<Result<string | undefined>> {
  const { before, after } = file;
  if (current === after || current === before) return ok(before);
  const conflict = () => err(conflictRefusal(paths, file.name, [file.name]));
  if (current === undefined || after === undefined || before === undefined) return conflict();
  const scratch = ["ours", "base", "theirs"].map((name) => `${paths.repo}/.git/fleetctl.${name}`);
  try {
    for (const [index, text] of [current, after, before].entries()) {
      await ports.files.write(scratch[index] ?? "", text, { mode: 0o600 });
    }
    // `git merge-file` exits with the number of conflicts.
    const merged = await git.run(["merge-file", "-p", "-q", ...scratch]);
    if (merged.ok) return merged;
    const isShard = file.name.startsWith("agents.d/");
    const fields = isShard ? revertFields({ before, after, current }, file.name) : undefined;
    return fields === undefined ? conflict() : ok(fields);
  } finally {
    for (const path of scratch) await ports.files.remove(path);
  }
}

function conflictRefusal(paths: Paths, id: string, files: readonly string[]): Refusal {
  return refusal(
    "revert-conflict",
    `Cannot revert "${id}": later changes touched the same lines of ${files.length} ` +
      `${files.length === 1 ? "file" : "files"}; nothing was changed`,
    {
      details: files.map((name) => `${name}: conflicts`),
      hints: ["fleetctl ledger log", ...files.map((name) => editHint(`${paths.repo}/${name}`))],
    },
  );
}

function secretsRefusal(id: string, name: string): Refusal {
  return refusal(
    "revert-secrets",
    `Cannot revert "${id}": it changed "${name}", and an older secret store would restore ` +
      "replaced keys and removed readers",
    {
      hints: ["fleetctl secret list"],
    },
  );
}

function notALedgerFile(id: string, name: string): Refusal {
  return refusal(
    "revert-odd-file",
    `Cannot revert "${id}": it changed ${JSON.stringify(name.slice(0, 200))}, which is not a ` +
      "regular ledger file",
  );
}
