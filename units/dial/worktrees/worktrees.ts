/**
 * The worktrees of one agent's conversations. The default conversation works in the workspace. A
 * conversation that began before worktrees were turned on stays there too, because its program may
 * not find its history from another folder. One job at a time per conversation.
 *
 * @module
 */

import { createKeyedQueue } from "core/concurrency/keyed_queue.ts";
import { errorText, type Refusal, refusal } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Processes } from "core/ports/processes.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import type { RuntimeUpdate } from "units/dial/runtimes/driver.ts";
import { createWorktree, dropWorktree, putRecord, stopped } from "units/dial/worktrees/create.ts";
import { createGit } from "units/dial/worktrees/git.ts";
import { openRecords, type WorktreeRecord } from "units/dial/worktrees/record.ts";
import { recoverRemoval, type RemovalDeps, removeWorktree } from "units/dial/worktrees/remove.ts";
import { lastLines, runSetup, SETUP_MS, type SetupEnd } from "units/dial/worktrees/setup.ts";

/** What reports the progress of a worktree that is prepared for a turn. */
export interface Preparing {
  readonly signal: AbortSignal;
  onUpdate(update: RuntimeUpdate): Promise<void>;
}

/** The worktrees of one agent. */
export interface Worktrees {
  /** Returns the folder of a conversation; undefined means the workspace. */
  folderOf(conversation: string | undefined): string | undefined;
  /** Creates and sets up the worktree before a turn, if the conversation is to have one. */
  prepare(conversation: string | undefined, of: Preparing): Promise<Result<void>>;
  /** Removes the worktree. Returns its record and snapshot; undefined when it has none. */
  remove(conversation: string): Promise<Result<RemovedWorktree | undefined>>;
  get(conversation: string): WorktreeRecord | undefined;
  names(): readonly string[];
  /** Resolves when no removal of an earlier process is left to finish. */
  settled(): Promise<void>;
}

/** A worktree that was removed. */
export interface RemovedWorktree {
  readonly record: WorktreeRecord;
  readonly snapshot: string | undefined;
}

/** What the worktrees of an agent need. */
export interface WorktreesOptions {
  readonly agent: string;
  readonly workspace: string;
  /** Whether a new conversation gets one. */
  readonly isOn: boolean;
  /** Set-up script, relative to the repository's root. */
  readonly setup: string | undefined;
  /** Folder of the dial unit's state. */
  readonly stateDir: string;
  /** Environment of the set-up script. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: Files;
  readonly processes: Pick<Processes, "run" | "spawn">;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly log: Log;
}

/** Reads the records and begins to finish interrupted removals. */
export async function openWorktrees(options: WorktreesOptions): Promise<Worktrees> {
  const { files, processes, env, log, stateDir } = options;
  const records = await openRecords(files, `${stateDir}/worktrees`, log);
  const forget = (conversation: string) => files.remove(sessionFileOf(stateDir, conversation));
  const deps: RemovalDeps = { ...options, git: createGit(processes, env), records, forget };
  return new AgentWorktrees(options, deps);
}

class AgentWorktrees implements Worktrees {
  readonly #options: WorktreesOptions;
  readonly #deps: RemovalDeps;
  readonly #queue = createKeyedQueue((conversation, thrown) =>
    this.#deps.log.error("worktree failed", { conversation, error: errorText(thrown) })
  );
  readonly #recovered: Promise<void>;

  constructor(options: WorktreesOptions, deps: RemovalDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#recovered = this.#recover();
  }

  folderOf(conversation: string | undefined): string | undefined {
    return conversation === undefined ? undefined : this.get(conversation)?.folder;
  }

  get(conversation: string): WorktreeRecord | undefined {
    return this.#deps.records.get(conversation);
  }

  names(): readonly string[] {
    return this.#deps.records.names();
  }

  settled(): Promise<void> {
    return this.#recovered;
  }

  async prepare(conversation: string | undefined, of: Preparing): Promise<Result<void>> {
    if (conversation === undefined) return ok(undefined);
    return await this.#alone(conversation, () => this.#prepare(conversation, of));
  }

  async remove(conversation: string): Promise<Result<RemovedWorktree | undefined>> {
    return await this.#alone(conversation, async () => {
      const record = this.get(conversation);
      if (record === undefined) return ok(undefined);
      const usable = this.#usable(record, conversation) ?? this.#enabled(conversation);
      if (usable !== undefined) return err(usable);
      if (record.state === "creating") {
        await dropWorktree(this.#deps, record.folder);
        await this.#deps.records.remove(conversation);
        return ok({ record, snapshot: undefined });
      }
      const removed = await removeWorktree(this.#deps, conversation, record);
      return removed.ok ? ok({ record, snapshot: removed.value }) : removed;
    });
  }

  /** Runs a job of a conversation after its earlier jobs. */
  async #alone<T>(conversation: string, job: () => Promise<Result<T>>): Promise<Result<T>> {
    let result: Result<T> | undefined;
    await this.#queue(conversation, async () => {
      result = await job();
    });
    return result ?? err(refusal("worktree-failed", "Cannot prepare the worktree: see the log"));
  }

  async #recover(): Promise<void> {
    if (!this.#options.isOn) return;
    const { records, log } = this.#deps;
    const open = records.names().filter((name) => records.get(name)?.state === "removing");
    await Promise.all(open.map((conversation) =>
      this.#queue(conversation, async () => {
        const record = records.get(conversation);
        if (record === undefined || this.#usable(record, conversation) !== undefined) return;
        const { snapshot } = record;
        const done = await recoverRemoval(this.#deps, conversation, record);
        const isGone = records.get(conversation) === undefined;
        if (done.ok) log.info("removal of a worktree", { conversation, isGone, snapshot });
        else log.warning(done.error.message, { conversation, code: done.error.code });
      })
    ));
  }

  async #prepare(conversation: string, of: Preparing): Promise<Result<void>> {
    const { isOn, files } = this.#options;
    let record = this.get(conversation);
    if (record === undefined) {
      if (!isOn || await this.#beganInWorkspace(conversation)) return ok(undefined);
      return await this.#create(conversation, of);
    }
    const usable = this.#usable(record, conversation);
    if (usable !== undefined) return err(usable);
    const link = `${record.folder}/.git`;
    const isThere = async () => await files.stat(link) !== undefined;
    if (record.state === "ready" && await isThere()) return ok(undefined);
    const off = this.#enabled(conversation);
    if (off !== undefined) return err(off);
    if (record.state === "removing") {
      const recovered = await recoverRemoval(this.#deps, conversation, record);
      if (!recovered.ok) return recovered;
      record = this.get(conversation);
      if (record?.state === "ready") return ok(undefined);
    }
    return record?.state === "created" && await isThere()
      ? await this.#setUp(conversation, record, of)
      : await this.#create(conversation, of);
  }

  async #create(conversation: string, of: Preparing): Promise<Result<void>> {
    const created = await createWorktree(this.#deps, conversation, of.signal);
    if (!created.ok) return created;
    const { folder, branch } = created.value;
    const text = `This conversation works in the worktree ${folder}, branch ${branch}.`;
    await of.onUpdate({ kind: "notice", text });
    return await this.#setUp(conversation, created.value, of);
  }

  /** Runs the set-up script, and reports it as a call of a tool. */
  async #setUp(
    conversation: string,
    record: WorktreeRecord,
    { signal, onUpdate }: Preparing,
  ): Promise<Result<void>> {
    const { setup: script, files, processes, clock, random } = this.#options;
    const { folder } = record;
    if (script !== undefined) {
      if ((await files.stat(`${folder}/${script}`))?.kind !== "file") {
        return err(this.#setupMissing(folder, script));
      }
      const callId = random.uuid();
      const call = { callId, mcp: undefined, tool: "setup", arguments: { script, folder } };
      await onUpdate({ kind: "tool_call", ...call });
      const since = clock.monotonic();
      const env = this.#setupEnv(conversation, folder);
      const end = await runSetup({ processes, clock, env, folder, script, signal });
      const status = end.result === "done"
        ? "completed"
        : end.result === "stopped"
        ? "stopped"
        : "failed";
      const durationMs = Math.round(clock.monotonic() - since);
      const { output: text, cutBytes } = end;
      await onUpdate({ kind: "tool_result", callId, status, text, cutBytes, durationMs });
      if (end.result === "stopped") return err(stopped());
      if (end.result !== "done") {
        return err(setupFailed(this.#options.agent, conversation, end, script));
      }
    }
    const ready = await putRecord(this.#deps, conversation, { ...record, state: "ready" });
    return ready.ok ? ok(undefined) : ready;
  }

  #setupEnv(conversation: string, folder: string): Readonly<Record<string, string>> {
    const { env, workspace } = this.#options;
    return {
      ...env,
      FLEETCTL_CONVERSATION: conversation,
      FLEETCTL_WORKSPACE: folder,
      FLEETCTL_REPOSITORY: workspace,
    };
  }

  /** Whether the conversation has a session that began in the workspace. */
  async #beganInWorkspace(conversation: string): Promise<boolean> {
    const { files, stateDir } = this.#options;
    return await files.stat(sessionFileOf(stateDir, conversation)) !== undefined;
  }

  #usable({ workspace: of }: WorktreeRecord, conversation: string): Refusal | undefined {
    const { workspace, agent } = this.#options;
    return of === workspace ? undefined : refusal(
      "worktree-elsewhere",
      `Cannot use the worktree of conversation "${conversation}": it belongs to ` +
        `${JSON.stringify(of)}, and the agent's workspace is ${JSON.stringify(workspace)}`,
      { hints: [`fleetctl agents set ${agent} --workspace '${of}'`] },
    );
  }

  /** Returns why no worktree can be changed: the unit may not run git. */
  #enabled(conversation: string): Refusal | undefined {
    const { isOn, agent } = this.#options;
    return isOn ? undefined : refusal(
      "worktrees-off",
      `Cannot change the worktree of conversation "${conversation}": worktrees of agent ` +
        `"${agent}" are turned off, must be turned on`,
      { hints: [`fleetctl agents set ${agent} --worktrees yes`] },
    );
  }

  #setupMissing(folder: string, script: string): Refusal {
    const { agent } = this.#options;
    return refusal(
      "setup-missing",
      `Cannot set up worktree ${JSON.stringify(folder)}: it has no file ` +
        `${JSON.stringify(script)}, must have one in its commit`,
      { hints: [`fleetctl agents set ${agent} --setup ''`] },
    );
  }
}

/** Returns the file with the id of a conversation's session. */
export function sessionFileOf(stateDir: string, conversation: string): string {
  return `${stateDir}/sessions/${conversation}.json`;
}

function setupFailed(
  agent: string,
  conversation: string,
  { result, how, output }: SetupEnd,
  script: string,
): Refusal {
  const lines = lastLines(output);
  const tail = lines === "" ? "" : `; its last lines: ${lines}`;
  const of = `Cannot begin the turn: set-up script ${JSON.stringify(script)}`;
  const hints = [`fleetctl turn ${agent} --conversation ${conversation} 'try again'`];
  return result === "late"
    ? refusal(
      "setup-late",
      `${of} did not end within ${SETUP_MS / 60_000} minutes, must be quicker${tail}`,
      { hints },
    )
    : refusal("setup-failed", `${of} ended with ${how}, must succeed${tail}`, { hints });
}
