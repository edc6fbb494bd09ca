/**
 * The content of the secret store and its text format: the shared keys at the top level, each
 * agent's own below `agents.<name>`. Pure. Errors name keys, never values.
 *
 * ```json
 * { "version": 1, "recipients": ["age1…"], "CODEHOST_ORG": "…", "agents": { "ada": { "…": "…" } } }
 * ```
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { type AgentName, type KeyName, parseAgentName, parseKeyName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { byteLength } from "core/text/cut_text.ts";
import { isRecord } from "core/text/json_object.ts";

/** Keys and values of one shard. */
export type SecretShard = ReadonlyMap<KeyName, string>;

/** All secrets of the fleet. */
export interface SecretShards {
  readonly shared: SecretShard;
  readonly agents: ReadonlyMap<AgentName, SecretShard>;
}

/** The location of one secret: the shared shard when `agent` is absent. */
export interface SecretRef {
  readonly key: KeyName;
  readonly agent?: AgentName | undefined;
}

/** The opened store: its secrets, and the recipients it was encrypted to. */
export interface StoreText {
  readonly shards: SecretShards;
  readonly recipients: readonly string[];
}

/** Largest value: fits an environment variable (Linux: 128 KiB for name and value). */
export const SECRET_BYTES_MAX = 64 * 1024;
/** Largest number of keys in one shard. */
export const SHARD_KEYS_MAX = 4096;

const VERSION = 1;
/**
 * Variables that control programs and are not credentials. Env files override the settings of
 * units. So an agent that could set these could choose its own permission set or preload a library.
 * Those of agent programs control when the program requests permission, and where its settings are.
 */
const CONTROL_NAMES: ReadonlySet<string> = new Set(
  ("PATH HOME USER LOGNAME SHELL IFS ENV PYTHONPATH PYTHONHOME PYTHONSTARTUP PERL5LIB PERL5OPT " +
    "RUBYLIB RUBYOPT CHANNEL_USER_EMAIL CHANNEL_WEBVIEW_GATEWAY_URL").split(" "),
);
const CONTROL_PREFIX = new RegExp(
  "^(?:LD|BASH|DENO|NODE|NPM|SYSTEMD|LISTEN|NOTIFY|GIT_CONFIG|GIT_EXEC|FLEETCTL|" +
    "OPENCODE|CLAUDE|CODEX|PI_CODING)_",
);
const CREDENTIAL = /(?:_KEY|_TOKEN|_SECRET|_PASSWORD)$/;
/** Model settings of the built-in runtime (docs/runtime.md), which each agent may set. */
const MODEL_SETTING = new RegExp(
  "^FLEETCTL_(?:MODEL(?:_.*)?|PROVIDER|BASE_URL|CONTEXT_TOKENS|OUTPUT_TOKENS|EFFORT|" +
    "FALLBACK_MODEL|STEPS)$",
);

/** An empty store. */
export const NO_SECRETS: SecretShards = { shared: new Map(), agents: new Map() };

/** Refuses a key name that would control programs. */
export function checkSecretKey(text: string): Result<KeyName> {
  const key = parseKeyName(text);
  const isControl = CONTROL_NAMES.has(text) || CONTROL_PREFIX.test(text);
  if (!key.ok || !isControl || CREDENTIAL.test(text) || MODEL_SETTING.test(text)) return key;
  return err(refusal(
    "key-reserved",
    `Cannot store "${text}" as a secret: the name controls programs, must be that of a credential`,
    { kind: "usage" },
  ));
}

/** Refuses a value that an environment variable cannot contain. Never prints the value. */
export function checkSecretValue(key: KeyName, value: string): Result<string> {
  const bad = (found: string) =>
    err(refusal("value-invalid", `Cannot store "${key}": the value ${found}`, { kind: "usage" }));
  if (value === "") {
    return bad(`is empty, must have 1 to ${SECRET_BYTES_MAX} bytes`);
  }
  if (value.includes("\0")) return bad("contains a NUL character, must be text");
  if (!value.isWellFormed()) return bad("is not valid Unicode, must be text");
  const bytes = byteLength(value);
  return bytes > SECRET_BYTES_MAX
    ? bad(`has ${bytes} bytes, must have at most ${SECRET_BYTES_MAX}`)
    : ok(value);
}

/** Returns the value at one location; an empty value counts as missing. */
export function readSecret(shards: SecretShards, ref: SecretRef): string | undefined {
  const shard = ref.agent === undefined ? shards.shared : shards.agents.get(ref.agent);
  return shard?.get(ref.key) || undefined;
}

/** Returns the shards with one value set, or removed when `value` is undefined. */
export function withSecret(
  shards: SecretShards,
  ref: SecretRef,
  value: string | undefined,
): Result<SecretShards> {
  const before = ref.agent === undefined ? shards.shared : shards.agents.get(ref.agent);
  const shard = new Map(before ?? []);
  if (value === undefined) shard.delete(ref.key);
  else shard.set(ref.key, value);
  if (shard.size > SHARD_KEYS_MAX) {
    return err(refusal(
      "shard-full",
      `Cannot store "${ref.key}": the shard already contains ${SHARD_KEYS_MAX} keys`,
    ));
  }
  if (ref.agent === undefined) return ok({ ...shards, shared: shard });
  const agents = new Map(shards.agents);
  if (shard.size === 0) agents.delete(ref.agent);
  else agents.set(ref.agent, shard);
  return ok({ ...shards, agents });
}

/** Prints the store with sorted keys, so that equal secrets give equal texts. */
export function printStore(store: StoreText): string {
  const agents: Record<string, Record<string, string>> = {};
  for (const [name, shard] of sorted(store.shards.agents)) {
    agents[name] = Object.fromEntries(sorted(shard));
  }
  const text = {
    version: VERSION,
    recipients: store.recipients,
    ...Object.fromEntries(sorted(store.shards.shared)),
    agents,
  };
  return `${JSON.stringify(text, null, 2)}\n`;
}

/** Parses the store. An error names the location, never the value. */
export function parseStore(text: string): Result<StoreText, string> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which contains secrets.
    return err("its content is not JSON");
  }
  if (!isRecord(value)) return err("its content is not an object");
  const { version, recipients, agents, ...shared } = value;
  if (version !== VERSION) {
    return err(`it has version ${Number(version)}, this program reads version ${VERSION}`);
  }
  if (!Array.isArray(recipients) || !recipients.every((each) => typeof each === "string")) {
    return err("its list of recipients is unusable");
  }
  if (!isRecord(agents)) return err('its part "agents" is not an object');
  const top = parseShardText(shared, "the shared shard");
  if (!top.ok) return top;
  const shards = new Map<AgentName, SecretShard>();
  for (const [name, content] of Object.entries(agents)) {
    const agent = parseAgentName(name);
    if (!agent.ok || !isRecord(content)) return err(`shard ${JSON.stringify(name)} is unusable`);
    const shard = parseShardText(content, `shard "${name}"`);
    if (!shard.ok) return shard;
    shards.set(agent.value, shard.value);
  }
  return ok({ shards: { shared: top.value, agents: shards }, recipients });
}

function parseShardText(
  content: Readonly<Record<string, unknown>>,
  where: string,
): Result<SecretShard, string> {
  const shard = new Map<KeyName, string>();
  for (const [name, value] of Object.entries(content)) {
    const key = parseKeyName(name);
    const isUsable = typeof value === "string" && !value.includes("\0") && value.isWellFormed();
    if (!key.ok || !isUsable) return err(`${JSON.stringify(name)} of ${where} is unusable`);
    shard.set(key.value, value);
  }
  return ok(shard);
}

function sorted<K extends string, V>(map: ReadonlyMap<K, V>): readonly (readonly [K, V])[] {
  return [...map].sort(([left], [right]) => left < right ? -1 : left > right ? 1 : 0);
}
