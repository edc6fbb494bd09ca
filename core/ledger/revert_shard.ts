/**
 * Reverts a change of one shard field by field, for cases where a line merge conflicts with a later
 * change. A field that a later change also touched is a conflict. Pure.
 *
 * @module
 */

import type { AgentRecord } from "core/ledger/agent.ts";
import { TEXT_FIELD_NAMES } from "core/ledger/agent_fields.ts";
import { editShard, parseShard, type ShardEdit } from "core/ledger/shard.ts";

/** Three versions of a shard: before the change, after it, and now. */
export interface ShardTexts {
  readonly before: string;
  readonly after: string;
  readonly current: string;
}

const FIELDS = [
  "channel",
  ...TEXT_FIELD_NAMES,
  "isAdmin",
] as const satisfies readonly (keyof AgentRecord & keyof ShardEdit)[];

/**
 * Returns the shard without the change, comments and order kept; undefined if there is a conflict.
 */
export function revertFields(texts: ShardTexts, file: string): string | undefined {
  const [before, after, current] = [texts.before, texts.after, texts.current]
    .map((text) => parseShard(text, file));
  if (!before?.ok || !after?.ok || !current?.ok) return undefined;
  const [was, became, is] = [before.value, after.value, current.value];
  const edit: Record<string, unknown> = {};
  for (const field of FIELDS) {
    if (was[field] === became[field]) continue;
    if (is[field] !== became[field] && is[field] !== was[field]) return undefined;
    edit[field] = was[field];
  }
  // For dial keys, absent and empty have different meanings, so they are merged by lines only. The
  // same applies to all other fields that are not in `FIELDS`.
  const known: readonly string[] = [...FIELDS, "tools"];
  const others = [...new Set([...Object.keys(was), ...Object.keys(became)])]
    .filter((field) => !known.includes(field)) as (keyof AgentRecord)[];
  for (const field of others) {
    if (JSON.stringify(was[field]) !== JSON.stringify(became[field])) return undefined;
  }
  edit.tools = {
    add: revertItems(was.tools.add, became.tools.add, is.tools.add),
    remove: revertItems(was.tools.remove, became.tools.remove, is.tools.remove),
  };
  const edited = editShard(texts.current, edit as ShardEdit, file);
  return edited.ok ? edited.value : undefined;
}

function revertItems(
  was: readonly string[],
  became: readonly string[],
  is: readonly string[],
): readonly string[] {
  const kept = is.filter((item) => was.includes(item) || !became.includes(item));
  const back = was.filter((item) => !became.includes(item) && !kept.includes(item));
  return [...kept, ...back];
}
