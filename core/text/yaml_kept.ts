/**
 * Values of YAML texts that an earlier run of a verb parsed. A host of hundreds of agents has as
 * many shards, which hardly ever change, and parsing one takes a millisecond. The text itself is
 * the key, so a value never belongs to another text. Nothing is kept before `openKept`. No I/O.
 *
 * @module
 */

import { ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";
import { parseYaml, type YamlFile } from "core/text/yaml.ts";

/** A text and its value, which is plain JSON. */
export type KeptYaml = readonly [text: string, value: unknown];

/** Texts that are kept beside those that a run used; a text of a removed agent goes at last. */
const UNUSED_MAX = 1_000;

interface Kept {
  readonly values: Map<string, unknown>;
  readonly used: Set<string>;
  isChanged: boolean;
}

let kept: Kept | undefined;

/** From now on texts are looked up, and remembered, in this process. */
export function openKept(entries: readonly KeptYaml[]): void {
  kept = { values: new Map(entries), used: new Set(), isChanged: false };
}

/** Ends it; returns what is to be kept, or undefined when nothing new was parsed. */
export function closeKept(): readonly KeptYaml[] | undefined {
  const closing = kept;
  kept = undefined;
  if (closing === undefined || !closing.isChanged) return undefined;
  const entries = [...closing.values];
  const unused = entries.filter(([text]) => !closing.used.has(text)).slice(-UNUSED_MAX);
  return [...unused, ...entries.filter(([text]) => closing.used.has(text))];
}

/** `parseYaml`, without parsing a text that is kept. A faulty text is never kept. */
export function parseKeptYaml(text: string, file: string): Result<YamlFile> {
  if (kept === undefined) return parseYaml(text, file);
  const now = kept;
  if (now.values.has(text)) {
    now.used.add(text);
    let whole: Result<YamlFile> | undefined;
    return ok({
      file,
      // The caller may change its value, and the next one gets its own.
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

/** Tells whether JSON says the same: YAML also has `.inf` and `.nan`. */
function isPlain(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (Array.isArray(value)) return value.every(isPlain);
  return isRecord(value) && Object.getPrototypeOf(value) === Object.prototype &&
    Object.entries(value).every(([key, each]) => key !== "__proto__" && isPlain(each));
}
