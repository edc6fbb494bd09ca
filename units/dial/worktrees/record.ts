/**
 * What the dial unit stores about each worktree, and what it does with a record that it finds. A
 * record is written before each step that changes the disk, so that the next start knows what to
 * finish or undo. Pure, but for reading and writing the files.
 *
 * | State | Means | After a crash |
 * |---|---|---|
 * | `creating` | git may have begun to create it | it is removed and created again: no turn ran in it |
 * | `created` | its files are there, the set-up script has not ended well | the script runs again |
 * | `ready` | turns run in it | nothing |
 * | `removing` without snapshot | nothing was removed | it is ready again |
 * | `removing` with snapshot | git may have begun to remove it | the removal is finished |
 *
 * @module
 */

import * as z from "zod";
import { conversationName } from "core/dial/conversation.ts";
import { errorText } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { parseJsonLine } from "core/text/json_lines.ts";

const record = z.object({
  state: z.enum(["creating", "created", "ready", "removing"]),
  /** The workspace when it was created. */
  workspace: z.string().min(1),
  folder: z.string().min(1),
  branch: z.string().min(1),
  /** Ref of the snapshot that a removal took. */
  snapshot: z.string().min(1).optional(),
});
/** The record of one worktree. */
export type WorktreeRecord = z.infer<typeof record>;

/** The records of one agent, in memory and on disk. */
export interface WorktreeRecords {
  get(conversation: string): WorktreeRecord | undefined;
  names(): readonly string[];
  /** Writes the record; rejects with `FileFault`, and then nothing changes. */
  put(conversation: string, record: WorktreeRecord): Promise<void>;
  remove(conversation: string): Promise<void>;
  /** Path of a file beside the record, for git's use. */
  indexOf(conversation: string): string;
}

/** Returns where a new worktree of a conversation is, and its branch. */
export function plannedWorktree(
  workspace: string,
  conversation: string,
): Pick<WorktreeRecord, "workspace" | "folder" | "branch"> {
  return {
    workspace,
    folder: `${worktreesFolder(workspace)}/${conversation}`,
    branch: `fleetctl/${conversation}`,
  };
}

/** Returns the folder of all worktrees. It is in the workspace, which shipped MCPs may write. */
export function worktreesFolder(workspace: string): string {
  return `${workspace}/.fleetctl/worktrees`;
}

/** Git writes temporary indexes here: a folder that contains nothing else. */
const INDEX_FOLDER = "index";

/** Returns the folder of temporary indexes. */
export function indexFolder(stateDir: string): string {
  return `${stateDir}/worktrees/${INDEX_FOLDER}`;
}

/** Reads the records in `folder`. An unreadable one is logged and counts as absent. */
export async function openRecords(
  files: Files,
  folder: string,
  log: Log,
): Promise<WorktreeRecords> {
  const records = new Map<string, WorktreeRecord>();
  const pathOf = (conversation: string) => `${folder}/${conversation}.json`;
  const names = (await files.stat(folder)) === undefined ? [] : await files.list(folder);
  for (const name of names.filter((each) => each.endsWith(".json"))) {
    const conversation = name.slice(0, -".json".length);
    try {
      const read = record.safeParse(
        parseJsonLine(await files.readText(pathOf(conversation)) ?? ""),
      );
      if (read.success && conversationName.safeParse(conversation).success) {
        records.set(conversation, read.data);
      } else log.warning("record of a worktree not read", { conversation });
    } catch (thrown) {
      log.warning("record of a worktree not read", { conversation, reason: errorText(thrown) });
    }
  }
  return {
    get: (conversation) => records.get(conversation),
    names: () => [...records.keys()].sort(),
    put: async (conversation, next) => {
      await files.ensureDir(folder, { mode: 0o700 });
      await files.write(pathOf(conversation), `${JSON.stringify(next)}\n`, { mode: 0o600 });
      records.set(conversation, next);
    },
    remove: async (conversation) => {
      await files.remove(pathOf(conversation));
      records.delete(conversation);
    },
    indexOf: (conversation) => `${folder}/${INDEX_FOLDER}/${conversation}`,
  };
}
