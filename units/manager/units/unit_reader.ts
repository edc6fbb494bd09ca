/**
 * Reads single keys of a unit and collects every fault with unit, section, key and reason. One pass
 * therefore reports everything that is wrong with a file. No I/O.
 *
 * @module
 */

import { type Unit, unitValue, unitValues } from "core/text/unit_file.ts";
import { judgeKey } from "units/manager/units/unit_keys.ts";
import { expandSpecifiers, type Read, type Specifiers } from "units/manager/units/words.ts";

/** Access to one section of a unit. */
export interface SectionReader {
  /** Returns the last value of a key, parsed by `read`, or `fallback`. */
  one<T, F = T>(key: string, read: (value: string) => Read<T>, fallback: F): T | F;
  /** Returns each value of a key, parsed by `read`. */
  each<T>(key: string, read: (value: string) => Read<T>): readonly T[];
  /** Records a fault of a key. */
  fault(key: string, reason: string): void;
}

/** A unit being read. */
export interface UnitReader {
  readonly faults: readonly string[];
  section(name: string): SectionReader;
}

/** Starts to read a unit; keys that the table refuses are recorded as faults immediately. */
export function createUnitReader(unit: Unit): UnitReader {
  const faults: string[] = [];
  for (const section of unit.sections) {
    for (const { key } of section.entries) {
      const rule = judgeKey(section.name, key);
      if (rule.treatment === "refused") {
        faults.push(`${unit.name}: [${section.name}] ${key}: ${rule.why}`);
      }
    }
  }
  return {
    faults,
    section: (name) => {
      const note = (key: string, reason: string) => {
        faults.push(`${unit.name}: [${name}] ${key}: ${reason}`);
      };
      const readOr = <T, F>(
        key: string,
        value: string,
        read: (value: string) => Read<T>,
        or: F,
      ) => {
        const result = read(value);
        if (result.ok) return result.value;
        note(key, result.error);
        return or;
      };
      return {
        one: (key, read, fallback) => {
          const value = unitValue(unit, name, key);
          return value === undefined ? fallback : readOr(key, value, read, fallback);
        },
        each: (key, read) =>
          unitValues(unit, name, key).flatMap((value) => {
            const item = readOr(key, value, read, undefined);
            return item === undefined ? [] : [item];
          }),
        fault: note,
      };
    },
  };
}

/** Returns the names of the relaxed keys of a unit, without the silent ones. */
export function relaxedKeysOf(unit: Unit): readonly string[] {
  const keys: string[] = [];
  for (const section of unit.sections) {
    for (const { key } of section.entries) {
      const rule = judgeKey(section.name, key);
      if (rule.treatment === "relaxed" && rule.isSilent !== true) keys.push(key);
    }
  }
  return keys;
}

/** Returns a reader of text that expands specifiers. */
export function textWith(specifiers: Specifiers): (value: string) => Read<string> {
  return (value) => expandSpecifiers(value, specifiers);
}
