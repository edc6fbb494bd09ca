/**
 * Converts the text of an agent shard, `agents.d/<agent>.yaml`, to a record and back. Every fault
 * names the file, line and key. An unknown key is a fault. An edit keeps comments, order and
 * everything it does not change. It never makes a shard unreadable. No I/O.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { createFieldReader, type FieldReader, type StringRule } from "core/text/field_reader.ts";
import { refusal } from "core/errors.ts";
import { type AgentRecord, type Channel, CHANNELS, type ToolDeltas } from "core/ledger/agent.ts";
import {
  nameRule,
  patternRule,
  TEXT_FIELD_NAMES,
  TEXT_FIELDS,
  type TextFieldName,
  textsByKey,
} from "core/ledger/agent_fields.ts";
import { editLimits, limitFields, type LimitsEdit, readLimits } from "core/ledger/limit_fields.ts";
import { type AgentName, type McpName, parseAgentName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import { editYaml, printYaml, type YamlEditor } from "core/text/yaml.ts";
import { parseCachedYaml } from "core/text/yaml_cache.ts";
import { isRecord } from "core/text/json_object.ts";

/** Runtime of a shard that names none. Its program ships with fleetctl. */
export const DEFAULT_RUNTIME = "runtime-b";
/** Maximum number of dial keys per agent: enough for a few hosts and their replacements. */
export const DIAL_KEYS_MAX = 16;

/** Keys of a shard, in the order of a new one. */
const KEYS = [
  "name",
  "channel",
  ...TEXT_FIELD_NAMES.map((field) => TEXT_FIELDS[field].key),
  "admin",
  "tools",
  "limits",
  "created",
  "stopped",
  "dial_keys",
];
const CREATED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z$/;
/** Raw Ed25519 public key: 32 bytes are 43 characters of unpadded base64url. */
const DIAL_KEY = /^[A-Za-z0-9_-]{43}$/;

/** Tells whether a text has the form of an enrolled dial key. */
export function isDialKey(text: string): boolean {
  return DIAL_KEY.test(text);
}

/** Fields to change; `undefined` removes the key. The name never changes. */
export type ShardEdit =
  & { readonly [F in Exclude<TextFieldName, "runtime">]?: AgentRecord[F] | undefined }
  & {
    readonly channel?: Channel;
    readonly runtime?: string;
    readonly isAdmin?: boolean;
    readonly tools?: ToolDeltas;
    readonly limits?: LimitsEdit;
    readonly stopped?: string | undefined;
    readonly dialKeys?: readonly string[];
  };

/** Returns the path of an agent's shard relative to the ledger. */
export function shardFile(agent: AgentName): string {
  return `agents.d/${agent}.yaml`;
}

/**
 * Parses one shard. `file` is its name in messages and must end with `<name>.yaml`. `path` is its
 * location, for the hint that opens it.
 */
export function parseShard(text: string, file: string, path = file): Result<AgentRecord> {
  const location = { file, path };
  const yaml = parseCachedYaml(text, file);
  if (!yaml.ok) {
    return err(
      shardRefusal(
        location,
        yaml.error.details.length > 0 ? yaml.error.details : [`${file}:1: ${yaml.error.message}`],
      ),
    );
  }
  const { value } = yaml.value;
  if (!isRecord(value)) {
    return err(
      shardRefusal(location, [`${file}:1: must be a mapping with at least name and channel`]),
    );
  }
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], KEYS);
  const record = readRecord(read, file);
  return record === undefined || read.faults.length > 0
    ? err(shardRefusal(location, read.faults))
    : ok(record);
}

/** Prints the shard of a new agent; absent fields are omitted. */
export function printShard(record: AgentRecord): string {
  const { tools } = record;
  const limits = limitFields(record.limits);
  return printYaml({
    name: record.name,
    channel: record.channel,
    ...defined(textsByKey(record)),
    ...(record.isAdmin ? { admin: true } : {}),
    ...(tools.add.length + tools.remove.length === 0 ? {} : {
      tools: { add: tools.add, remove: tools.remove },
    }),
    ...defined({
      limits,
      created: record.created,
      stopped: record.stopped,
      dial_keys: record.dialKeys,
    }),
  });
}

/**
 * Edits the text of a shard. Refuses an unreadable shard, and an edit whose result would be
 * unreadable. An edit without an effect returns the text unchanged.
 */
export function editShard(text: string, edit: ShardEdit, file = "the shard"): Result<string> {
  const before = parseShard(text, file);
  if (!before.ok) return before;
  const edited = editYaml(text, (yaml) => applyEdit(yaml, edit), file);
  if (!edited.ok) return edited;
  const after = parseShard(edited.value, file);
  return after.ok ? edited : after;
}

function readRecord(read: FieldReader, file: string): AgentRecord | undefined {
  const text = (key: string, rule?: StringRule) => {
    const value = read.string([key], (given) => given === "" ? undefined : rule?.(given));
    return value === "" ? undefined : value;
  };
  const name = text("name", nameRule(parseAgentName));
  const stem = file.slice(file.lastIndexOf("/") + 1);
  if (!read.has(["name"])) read.fault(["name"], "not set, must be the agent's name");
  else if (name !== undefined && stem.endsWith(".yaml") && stem !== `${name}.yaml`) {
    read.fault(["name"], `is "${name}", must be "${stem.slice(0, -5)}", like the file name`);
  }
  const channel = read.choice(["channel"], CHANNELS);
  if (!read.has(["channel"])) read.fault(["channel"], `not set, must be ${CHANNELS.join(", ")}`);
  const texts = Object.fromEntries(
    TEXT_FIELD_NAMES.flatMap((field) => {
      const { key, rule, normal } = TEXT_FIELDS[field];
      const value = text(key, rule);
      return value === undefined ? [] : [[field, normal?.(value) ?? value]];
    }),
  ) as Partial<Pick<AgentRecord, TextFieldName>>;
  const created = text("created", patternRule(CREATED, "a UTC time such as 2026-01-31T08:00:00Z"));
  const stopped = text("stopped", patternRule(CREATED, "a UTC time such as 2026-01-31T08:00:00Z"));
  const rest = {
    isAdmin: readFlag(read, "admin"),
    tools: readTools(read),
  };
  const limits = readLimits(read, ["limits"]);
  const dialKeys = readDialKeys(read);
  if (name === undefined || channel === undefined) return undefined;
  return {
    name: name as AgentName,
    channel,
    runtime: DEFAULT_RUNTIME,
    ...texts,
    ...defined({ limits, created, stopped, dialKeys }),
    ...rest,
  };
}

/**
 * Reads `dial_keys`. Without a value it is a fault, because an absent list and an empty one mean
 * different things.
 */
function readDialKeys(read: FieldReader): readonly string[] | undefined {
  const path = ["dial_keys"];
  if (!read.has(path)) {
    if (read.entries([]).some(([key]) => key === "dial_keys")) {
      read.fault(path, "has no value, must be a list ([] when every key was revoked)");
    }
    return undefined;
  }
  const keys = read.strings(path, patternRule(DIAL_KEY, "an Ed25519 key in base64url"));
  if (keys.length > DIAL_KEYS_MAX) {
    read.fault(path, `contains ${keys.length} keys, must be at most ${DIAL_KEYS_MAX}`);
  }
  return keys;
}

function readTools(read: FieldReader): ToolDeltas {
  if (!read.has(["tools"])) return { add: [], remove: [] };
  read.onlyKeys(["tools"], ["add", "remove"]);
  const names = (key: string) =>
    read.strings(["tools", key], nameRule(parseMcpName)) as readonly McpName[];
  const tools = { add: names("add"), remove: names("remove") };
  for (const both of tools.add.filter((name) => tools.remove.includes(name))) {
    read.fault(["tools", "remove"], `"${both}" is also in add, must be in one of the two lists`);
  }
  return tools;
}

function readFlag(read: FieldReader, key: string): boolean {
  const [value] = read.entries([]).filter(([name]) => name === key).map(([, given]) => given);
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  read.fault([key], "must be true or false");
  return false;
}

function applyEdit(yaml: YamlEditor, edit: ShardEdit): void {
  const put = (key: string, field: keyof ShardEdit) => {
    if (!Object.hasOwn(edit, field)) return;
    const value = edit[field];
    if (value === undefined) yaml.remove([key]);
    else if (yaml.get([key]) !== value) yaml.set([key], value);
  };
  put("channel", "channel");
  for (const field of TEXT_FIELD_NAMES) put(TEXT_FIELDS[field].key, field);
  put("stopped", "stopped");
  if (edit.isAdmin === false) yaml.remove(["admin"]);
  else put("admin", "isAdmin");
  if (edit.tools !== undefined) {
    putList(yaml, ["tools", "add"], edit.tools.add);
    putList(yaml, ["tools", "remove"], edit.tools.remove);
    const tools = yaml.get(["tools"]);
    if (isEmptyMapping(tools)) yaml.remove(["tools"]);
  }
  if (edit.limits !== undefined) editLimits(yaml, edit.limits);
  if (edit.dialKeys !== undefined) putDialKeys(yaml, edit.dialKeys);
}

/** Like `putList`, but keeps an empty list, which means that every key was revoked. */
function putDialKeys(yaml: YamlEditor, keys: readonly string[]): void {
  if (keys.length > 0) return putList(yaml, ["dial_keys"], keys);
  const now = yaml.get(["dial_keys"]);
  if (!Array.isArray(now) || now.length > 0) yaml.set(["dial_keys"], []);
}

/** Sets a list to exactly `items`; touches only items that are added or removed. */
function putList(yaml: YamlEditor, path: readonly string[], items: readonly string[]): void {
  const now = yaml.get(path);
  for (const item of Array.isArray(now) ? now : []) {
    if (typeof item === "string" && !items.includes(item)) yaml.removeFromList(path, item);
  }
  for (const item of items) yaml.addToList(path, item);
  const left = yaml.get(path);
  if (Array.isArray(left) && left.length === 0) yaml.remove(path);
}

function isEmptyMapping(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length === 0;
}

function shardRefusal(
  { file, path }: { readonly file: string; readonly path: string },
  details: readonly string[],
) {
  return refusal(
    "shard-invalid",
    `Cannot read the shard ${JSON.stringify(file)}: ${faultCount(details)}`,
    {
      details,
      hints: [editHint(path)],
    },
  );
}
