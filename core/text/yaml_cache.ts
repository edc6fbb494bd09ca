/**
 * A cache of parsed YAML texts across runs of a verb. A host with hundreds of agents has as many
 * shards, which rarely change, and parsing one takes a millisecond. The text itself is the key, so
 * a value always belongs to its text. Does nothing before `openYamlCache`. No I/O.
 *
 * @module
 */

import { ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";
import { parseYaml, type YamlFile } from "core/text/yaml.ts";

/** A text and its value, which is plain JSON. */
export type CachedYaml = readonly [text: string, value: unknown];

/**
 * Number of cached texts kept beyond those of the last run, so that texts of removed agents
 * eventually disappear.
 */
const UNUSED_MAX = 1_000;

interface YamlCache {
  readonly values: Map<string, unknown>;
  readonly used: Set<string>;
  isChanged: boolean;
}

let cache: YamlCache | undefined;

/** Enables the cache in this process with the given entries. */
export function openYamlCache(entries: readonly CachedYaml[]): void {
  cache = { values: new Map(entries), used: new Set(), isChanged: false };
}

/** Disables the cache; returns the entries to store, or undefined when nothing new was parsed. */
export function closeYamlCache(): readonly CachedYaml[] | undefined {
  const closing = cache;
  cache = undefined;
  if (closing === undefined || !closing.isChanged) return undefined;
  const entries = [...closing.values];
  const unused = entries.filter(([text]) => !closing.used.has(text)).slice(-UNUSED_MAX);
  return [...unused, ...entries.filter(([text]) => closing.used.has(text))];
}

/** Like `parseYaml`, but returns a cached value for a known text. Never caches a faulty text. */
export function parseCachedYaml(text: string, file: string): Result<YamlFile> {
  if (cache === undefined) return parseYaml(text, file);
  const now = cache;
  if (now.values.has(text)) {
    now.used.add(text);
    let whole: Result<YamlFile> | undefined;
    return ok({
      file,
      // A copy, because the caller may modify its value.
      value: structuredClone(now.values.get(text)),
      lineOf: (path) => {
        whole ??= parseYaml(text, file);
        return whole.ok ? whole.value.lineOf(path) : 1;
      },
    });
  }
  const parsed = parseYaml(text, file);
  if (parsed.ok && isPlain(parsed.value.value)) {
    now.values.set(text, structuredClone(parsed.value.value));
    now.used.add(text);
    now.isChanged = true;
  }
  return parsed;
}

/** Tells whether JSON can represent the value: YAML also has `.inf` and `.nan`. */
function isPlain(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (Array.isArray(value)) return value.every(isPlain);
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype &&
    Object.entries(value).every(([key, each]) => key !== "__proto__" && isPlain(each));
}
