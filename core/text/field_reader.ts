/**
 * Reads fields from a parsed YAML file and collects every fault with file, line and key. No I/O. A
 * reader does not stop at the first fault, so that the author sees all of them at once. Why
 * fleetctl has its own code: ADR 0023.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import type { YamlFile, YamlPath } from "core/text/yaml.ts";

/** Checks one string; returns the rule that it breaks, or undefined. */
export type StringRule = (text: string) => string | undefined;

/**
 * Reads typed values at paths of one file. A wrong value is recorded as a fault and treated as
 * absent.
 */
export interface FieldReader {
  readonly faults: readonly string[];
  /** Adds a fault about the value at `path`. */
  fault(path: YamlPath, text: string): void;
  /** Whether a value other than null exists at `path`. */
  has(path: YamlPath): boolean;
  string(path: YamlPath, rule?: StringRule): string | undefined;
  strings(path: YamlPath, rule?: StringRule): readonly string[];
  integer(path: YamlPath, range: readonly [min: number, max: number]): number | undefined;
  boolean(path: YamlPath): boolean | undefined;
  choice<const T extends string>(path: YamlPath, choices: readonly T[]): T | undefined;
  /** Entries of a mapping, in order; empty when absent. */
  entries(path: YamlPath): readonly (readonly [string, unknown])[];
  /** Records a fault for every key of the mapping at `path` that is not in `known`. */
  onlyKeys(path: YamlPath, known: readonly string[]): void;
  /** Length of the list at `path`; 0 when absent. */
  count(path: YamlPath): number;
}

/** Number of faults kept for one file; more do not help the author. */
const FAULTS_MAX = 50;
/** Limit for the items of one list and the entries of one mapping. */
const ITEMS_MAX = 256;
/** Longest string value, in characters. */
const STRING_LENGTH_MAX = 4096;

/** Refuses a text that is too long for a string value in a file of this reader. */
export function parseFieldText(text: string): Result<string> {
  return text.length <= STRING_LENGTH_MAX ? ok(text) : err(refusal(
    "text-too-long",
    `Cannot store the text: it has ${text.length} characters, must have at most ` +
      `${STRING_LENGTH_MAX}`,
    { kind: "usage" },
  ));
}

/** Creates a reader over one file. */
export function createFieldReader(yaml: YamlFile): FieldReader {
  return new YamlFieldReader(yaml);
}

class YamlFieldReader implements FieldReader {
  readonly faults: string[] = [];
  readonly #yaml: YamlFile;

  constructor(yaml: YamlFile) {
    this.#yaml = yaml;
  }

  fault(path: YamlPath, text: string): void {
    if (this.faults.length < FAULTS_MAX) {
      const key = path.length === 0 ? "" : ` ${keyText(path)}:`;
      this.faults.push(`${this.#yaml.file}:${this.#yaml.lineOf(path)}:${key} ${text}`);
    }
  }

  has(path: YamlPath): boolean {
    return isPresent(this.#at(path));
  }

  string(path: YamlPath, rule?: StringRule): string | undefined {
    const value = this.#at(path);
    if (!isPresent(value)) return undefined;
    if (typeof value !== "string") {
      this.fault(path, `is ${kindOf(value)}, must be a string${quoteAdvice(value)}`);
      return undefined;
    }
    if (value.length > STRING_LENGTH_MAX) {
      this.fault(path, `is longer than ${STRING_LENGTH_MAX} characters`);
      return undefined;
    }
    const wanted = rule?.(value);
    if (wanted === undefined) return value;
    this.fault(path, `is ${shown(value)}, ${wanted}`);
    return undefined;
  }

  strings(path: YamlPath, rule?: StringRule): readonly string[] {
    const values: string[] = [];
    const length = this.count(path);
    for (let index = 0; index < length; index++) {
      const item = [...path, index];
      if (!isPresent(this.#at(item))) this.fault(item, "is empty, must be a string");
      const value = this.string(item, rule);
      if (value === undefined) continue;
      if (values.includes(value)) this.fault(item, `${shown(value)} appears twice`);
      else values.push(value);
    }
    return values;
  }

  integer(path: YamlPath, [min, max]: readonly [min: number, max: number]): number | undefined {
    const value = this.#at(path);
    if (!isPresent(value)) return undefined;
    if (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) {
      return Number(value);
    }
    this.fault(path, `is ${shown(String(value))}, must be a whole number from ${min} to ${max}`);
    return undefined;
  }

  boolean(path: YamlPath): boolean | undefined {
    const value = this.#at(path);
    if (!isPresent(value) || typeof value === "boolean") return value as boolean | undefined;
    this.fault(path, `is ${kindOf(value)}, must be true or false`);
    return undefined;
  }

  choice<const T extends string>(path: YamlPath, choices: readonly T[]): T | undefined {
    const value = this.string(
      path,
      (text) =>
        (choices as readonly string[]).includes(text)
          ? undefined
          : `must be ${choices.map((choice) => `"${choice}"`).join(" or ")}`,
    );
    return value as T | undefined;
  }

  entries(path: YamlPath): readonly (readonly [string, unknown])[] {
    const value = this.#at(path);
    if (!isPresent(value)) return [];
    if (typeof value !== "object" || Array.isArray(value)) {
      this.fault(path, `is ${kindOf(value)}, must be a mapping`);
      return [];
    }
    const all = Object.entries(value as Record<string, unknown>);
    if (all.length > ITEMS_MAX) this.fault(path, `has more than ${ITEMS_MAX} entries`);
    return all.slice(0, ITEMS_MAX);
  }

  onlyKeys(path: YamlPath, known: readonly string[]): void {
    for (const [key] of this.entries(path)) {
      if (!known.includes(key)) {
        this.fault([...path, key], `unknown key, must be one of ${known.join(", ")}`);
      }
    }
  }

  count(path: YamlPath): number {
    const value = this.#at(path);
    if (!isPresent(value)) return 0;
    if (!Array.isArray(value)) {
      this.fault(path, `is ${kindOf(value)}, must be a list`);
      return 0;
    }
    if (value.length > ITEMS_MAX) this.fault(path, `has more than ${ITEMS_MAX} items`);
    return Math.min(value.length, ITEMS_MAX);
  }

  #at(path: YamlPath): unknown {
    return valueAt(this.#yaml.value, path);
  }
}

function valueAt(root: unknown, path: YamlPath): unknown {
  let value = root;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) {
      return undefined;
    }
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function keyText(path: YamlPath): string {
  return path.map((step, index) =>
    typeof step === "number" ? `[${step}]` : index === 0 ? step : `.${step}`
  ).join("");
}

function kindOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "a mapping" : `the ${typeof value} ${String(value)}`;
}

function quoteAdvice(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? " (put it in quotes)" : "";
}

function shown(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
