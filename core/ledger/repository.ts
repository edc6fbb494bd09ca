/**
 * The ledger as a git repository: one lock, and one commit per change that names verb and caller.
 * No other code writes below `paths.repo`. Why files in git: ADR 0028.
 *
 * A change runs these steps. A crash at any point leaves the old or the new state:
 *
 * | Step | On disk | A crash here leaves |
 * |---|---|---|
 * | heal | an interrupted change is completed; edits made by hand are committed as `recovered` | old state |
 * | edit | nothing: every edit is first computed in memory | old state |
 * | stage | new files under hidden names, with mode, synced | old state; the next change removes them |
 * | record | git objects of the new tree and commit, without a reference | old state |
 * | prepare | git holds the lock of `HEAD` and has written its target | old state |
 * | check | nothing: if a person has edited a file since, the change starts again | old state |
 * | promise | the commit's id in a separate file | old state; the next change completes it |
 * | switch | each file renamed into place | partly new state; the next change completes it |
 * | publish | `HEAD` moves | new state |
 *
 * All disk space is allocated before the first file is switched, so a full disk refuses the change
 * and leaves the old state.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { fileRefusal } from "core/ledger/file_refusal.ts";
import {
  NO_COMMIT,
  prepare,
  publish,
  readHead,
  record,
  refreshDefaultIndex,
} from "core/ledger/commit.ts";
import {
  type Git,
  indexFile,
  type LedgerPorts,
  openGit,
  type PreparedHead,
} from "core/ledger/git.ts";
import { heal, pendingFile } from "core/ledger/heal.ts";
import {
  type ComputedFile,
  isEditedMeanwhile,
  type LedgerEdit,
  readEdits,
  type StagedFile,
  stageFiles,
} from "core/ledger/stage.ts";
import type { Paths } from "core/paths.ts";
import { quoteShell } from "core/text/quote.ts";
import { err, ok, type Result } from "core/result.ts";

/** One change, one commit. */
export interface LedgerChange {
  /** The verb as typed, such as `mcp add`; first part of the commit's subject. */
  readonly verb: string;
  /** Who requested the change: `root`, the name of an agent, or the user of a role. */
  readonly caller: string;
  /** Rest of the subject, such as `"git" to agent "ada"`. Never a secret. */
  readonly summary: string;
  /** Called under the lock, before the edits; for rules across several files. */
  readonly check?: () => Promise<Result<void>>;
  /** Called with the computed files before any is written; for rules about the resulting state. */
  readonly accept?: (computed: readonly ComputedFile[]) => Promise<Result<void>>;
  readonly edits: readonly LedgerEdit[];
}

/** Result of a change. */
export interface Committed {
  /** The commit with the state after the change. */
  readonly commit: string;
  /** Paths that changed, relative to the repository; empty when the edits changed nothing. */
  readonly changed: readonly string[];
  /** Whether an interrupted change or an edit made by hand was committed first. */
  readonly hasRecovered: boolean;
}

/** How often a change is tried, because a person edits one of its files meanwhile. */
const TRIES_MAX = 3;
/** Most characters of each part of a commit message. */
const MESSAGE_LENGTH_MAX = 200;

/**
 * Creates the folders and the repository with an empty first commit. Idempotent, so it may run at
 * each start.
 */
export async function initRepo(ports: LedgerPorts, paths: Paths): Promise<Result<void>> {
  return await underLock(ports, paths, "create the ledger", async (git) => {
    const { files } = ports;
    await files.ensureDir(paths.repo, { mode: 0o755 });
    // Shards contain e-mail addresses and the history contains the secret store: only root may read
    // them.
    await files.ensureDir(paths.agentsDir, { mode: 0o700 });
    for (const dir of [paths.hostsDir, paths.overlayCatalog]) {
      await files.ensureDir(dir, { mode: 0o755 });
    }
    if ((await files.stat(`${paths.repo}/.git/HEAD`)) === undefined) {
      const made = await git.run(["init", "--quiet", "--template=", "--initial-branch=main"]);
      if (!made.ok) return made;
    }
    await files.ensureDir(`${paths.repo}/.git`, { mode: 0o700 });
    if (await readHead(git) !== undefined) {
      const packed = await git.run(["gc", "--auto", "--quiet"]);
      if (!packed.ok) ports.log.warning("ledger-gc-failed", { details: packed.error.details });
      return ok(undefined);
    }
    await files.remove(`${indexFile(paths)}.lock`);
    const commit = await record(git, "fleetctl: start the ledger", []);
    return commit.ok ? await publish(ports, paths, git, [commit.value, NO_COMMIT]) : commit;
  });
}

/**
 * Commits edits made by hand, as each recorded change does first. So everything that is rendered
 * afterwards is in the history, and can be used if a later edit is unreadable.
 */
export async function recordHandEdits(ports: LedgerPorts, paths: Paths): Promise<Result<void>> {
  return await underLock(ports, paths, "record the files of the ledger", async (git) => {
    const healed = await heal(ports, paths, git);
    return healed.ok ? ok(undefined) : healed;
  });
}

/** Applies and commits all edits of a change, or none. */
export async function commitChange(
  ports: LedgerPorts,
  paths: Paths,
  change: LedgerChange,
): Promise<Result<Committed>> {
  return await underLock(ports, paths, `record "${change.verb}"`, async (git) => {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const done = await tryChange(ports, paths, git, change);
      if (done !== "edited meanwhile") return done;
    }
    return err(refusal(
      "ledger-edited",
      `Cannot record "${change.verb}": its files in "${paths.repo}" changed each time while they ` +
        `were being written, must not be edited meanwhile`,
      { hints: [`git -C ${quoteShell(paths.repo)} status`] },
    ));
  });
}

/** Tries the change; fails if a person, who takes no lock, edits one of its files meanwhile. */
async function tryChange(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  change: LedgerChange,
): Promise<Result<Committed> | "edited meanwhile"> {
  const healed = await heal(ports, paths, git);
  if (!healed.ok) return healed;
  const { head, hasRecovered } = healed.value;
  const checked = await change.check?.() ?? ok(undefined);
  if (!checked.ok) return checked;
  const edits = await readEdits(ports.files, paths, change.edits, healed.value.uncommitted);
  if (!edits.ok) return edits;
  if (edits.value.length === 0) return ok({ commit: head, changed: [], hasRecovered });
  const accepted = await change.accept?.(edits.value) ?? ok(undefined);
  if (!accepted.ok) return accepted;
  const staged = await stageFiles(ports.files, edits.value);
  const commit = await recordStaged(git, { change, staged, head });
  const prepared = commit.ok ? await prepare(ports, paths, git, [commit.value, head]) : commit;
  if (!commit.ok || !prepared.ok) {
    await dropStaged(ports, staged);
    return commit.ok ? prepared as Result<never> : commit;
  }
  // Check as late as possible: git took some time since the files were read.
  if (await isEditedMeanwhile(ports.files, staged)) {
    await prepared.value.abort();
    await dropStaged(ports, staged);
    return "edited meanwhile";
  }
  const next = { staged, commit: commit.value, prepared: prepared.value };
  const moved = await switchAll(ports, paths, git, next);
  if (!moved.ok) return moved;
  const changed = staged.map((file) => file.name);
  return ok({ commit: commit.value, changed, hasRecovered });
}

/** Returns the newest commit that added or changed a file; undefined if there is none. */
export async function lastCommitOf(
  ports: Pick<LedgerPorts, "processes" | "clock">,
  paths: Paths,
  path: string,
): Promise<Result<string | undefined>> {
  const git = await openGit(ports, paths);
  if (!git.ok) return git;
  const found = await git.value.run([
    "log",
    "-1",
    "--diff-filter=AM",
    "--format=%H",
    "--",
    path,
  ]);
  return found.ok ? ok(found.value.trim() || undefined) : found;
}

/** Runs `work` while no other process changes the ledger; maps file faults to refusals. */
async function underLock<T>(
  ports: LedgerPorts,
  paths: Paths,
  action: string,
  work: (git: Git) => Promise<Result<T>>,
): Promise<Result<T>> {
  const git = await openGit(ports, paths);
  if (!git.ok) return git;
  try {
    await ports.files.ensureDir(paths.locks, { mode: 0o700 });
    const lock = await ports.files.lock(`${paths.locks}/ledger.lock`);
    try {
      return await work(git.value);
    } finally {
      await lock.release();
    }
  } catch (thrown) {
    return err(fileRefusal(thrown, action));
  }
}

/** Writes the git objects of the new state, without a reference to them yet. */
async function recordStaged(
  git: Git,
  { change, staged, head }: {
    readonly change: LedgerChange;
    readonly staged: readonly StagedFile[];
    readonly head: string;
  },
): Promise<Result<string>> {
  const written = staged.filter((file) => file.stagedPath !== undefined);
  let ids: readonly string[] = [];
  if (written.length > 0) {
    const hashed = await git.run(["hash-object", "-w", "--no-filters", "--stdin-paths"], {
      input: written.map((file) => `${file.stagedPath}\n`).join(""),
    });
    if (!hashed.ok) return hashed;
    ids = hashed.value.trim().split("\n");
  }
  const entries = staged.map((file) => {
    const id = ids[written.indexOf(file)];
    return id === undefined ? `0 ${NO_COMMIT}\t${file.name}\0` : `100644 ${id}\t${file.name}\0`;
  });
  const indexed = await git.run(["update-index", "-z", "--index-info"], {
    input: entries.join(""),
  });
  if (!indexed.ok) return indexed;
  const subject = `${oneLine(change.verb)}: ${oneLine(change.summary)}`;
  const body = `Verb: ${oneLine(change.verb)}\nCaller: ${oneLine(change.caller)}`;
  return await record(git, `${subject}\n\n${body}`, [head]);
}

/** Writes the pending commit's id, switches the files and moves `HEAD`. */
async function switchAll(
  ports: LedgerPorts,
  paths: Paths,
  git: Git,
  { staged, commit, prepared }: {
    readonly staged: readonly StagedFile[];
    readonly commit: string;
    readonly prepared: PreparedHead;
  },
): Promise<Result<void>> {
  try {
    await ports.files.write(pendingFile(paths), `${commit}\n`, { mode: 0o600 });
  } catch (thrown) {
    await prepared.abort();
    await dropStaged(ports, staged);
    throw thrown;
  }
  // From here on no disk space is needed: files are renamed, and `HEAD` moves.
  let moved: Result<void>;
  try {
    for (const file of staged) await switchFile(ports, file);
    moved = await prepared.commit();
  } catch (thrown) {
    await prepared.abort();
    throw thrown;
  }
  // Keep the pending file if the head could not move: the next change completes this one.
  if (!moved.ok) return moved;
  await refreshDefaultIndex(ports, git);
  await ports.files.remove(pendingFile(paths));
  return ok(undefined);
}

async function switchFile(ports: LedgerPorts, file: StagedFile): Promise<void> {
  if (file.stagedPath === undefined) await ports.files.remove(file.path);
  else await ports.files.rename(file.stagedPath, file.path);
}

async function dropStaged(ports: LedgerPorts, staged: readonly StagedFile[]): Promise<void> {
  for (const file of staged) {
    if (file.stagedPath !== undefined) await ports.files.remove(file.stagedPath);
  }
}

/** Returns one line of a commit message, without control characters that could start a trailer. */
function oneLine(text: string): string {
  // deno-lint-ignore no-control-regex
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").trim().slice(0, MESSAGE_LENGTH_MAX);
}
