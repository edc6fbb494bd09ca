/**
 * A role's settings as a declared table, read from the environment in one pass. Reports all faults
 * at once, infers the value types, and prints help from the same table. No I/O. A secret's value
 * never appears in an error. Why fleetctl has its own code: ADR 0023.
 *
 * An empty variable counts as unset, because env files cannot express "absent" otherwise.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { fault, type SettingType } from "core/settings/setting_types.ts";

/** One setting. `T` is the type of its value, including `undefined` when it may be absent. */
export interface Setting<T> {
  /** Name of the environment variable. */
  readonly name: string;
  /** One line for the help. */
  readonly doc: string;
  readonly isSecret: boolean;
  /** Text that is used when the variable is not set; shown in the help. */
  readonly fallback?: string;
  /** When absence is an error, with the condition for the message ("" for always). */
  readonly requiredWhen?: { readonly test: (env: Env) => boolean; readonly words: string };
  /** The valid values, for help and errors; undefined when every text is valid. */
  readonly wanted?: string;
  readonly parse: (text: string) => Result<T, string>;
  /** Value when the variable is absent and not required. */
  readonly absent: T | undefined;
}

/** An environment. */
export type Env = Readonly<Record<string, string | undefined>>;
/** Settings by the name that the role's code uses. */
// deno-lint-ignore no-explicit-any -- the value type is read back by `SettingValues`.
export type SettingsTable = Readonly<Record<string, Setting<any>>>;
/** The values that a table yields. */
export type SettingValues<Table extends SettingsTable> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer T> ? T : never;
};

interface Common {
  readonly doc: string;
  readonly isSecret?: boolean;
  /** Overrides the type's own text, such as "must be an issuer URL". */
  readonly wanted?: string;
}

/** Declares a setting that must be set. */
export function required<T>(name: string, type: SettingType<T>, more: Common): Setting<T> {
  return declare(name, type, { ...more, requiredWhen: { test: () => true, words: "" } });
}

/** Declares a setting that may be absent, but is required when `requiredWhen` is true. */
export function optional<T>(
  name: string,
  type: SettingType<T>,
  more: Common & { readonly requiredWhen?: Setting<T>["requiredWhen"] },
): Setting<T | undefined> {
  return declare<T | undefined>(name, type, more);
}

/** Declares a setting with a default, written like a value of the variable. */
export function defaulted<T>(
  name: string,
  type: SettingType<T>,
  more: Common & { readonly fallback: string },
): Setting<T> {
  return declare(name, type, more);
}

/**
 * Reads every setting of a table. Reports faults in the table's order. `checks` validate several
 * settings together, and run only when each setting is valid by itself.
 */
export function readSettings<const Table extends SettingsTable>(
  table: Table,
  env: Env,
  checks: readonly ((values: SettingValues<Table>) => readonly string[])[] = [],
): Result<SettingValues<Table>> {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [key, setting] of Object.entries(table)) {
    const value = readSetting(setting, env);
    if (value.ok) values[key] = value.value;
    else faults.push(value.error);
  }
  const typed = values as SettingValues<Table>;
  if (faults.length === 0) faults.push(...checks.flatMap((check) => check(typed)));
  if (faults.length === 0) return ok(typed);
  const count = faults.length === 1 ? "1 setting is" : `${faults.length} settings are`;
  return err(
    refusal("settings-invalid", `Cannot start: ${count} unusable`, {
      kind: "settings",
      details: faults,
    }),
  );
}

/** Prints the output of `--check-config`: `ok`, or the refusal with one indented line per fault. */
export function printSettingsCheck(program: string, read: Result<unknown>): string {
  if (read.ok) return "ok\n";
  const { message, details, hints } = read.error;
  return [
    `${program}: ${message}`,
    ...details.map((line) => `  ${line}`),
    ...hints.map((line) => `hint: ${line}`),
  ].join("\n") + "\n";
}

/** Prints one paragraph per setting: name, valid values, default, and its doc line. */
export function printSettingsHelp(table: SettingsTable): string {
  return Object.values(table).map((setting) => {
    const facts = [
      setting.wanted?.replace(/^must be /, ""),
      setting.fallback === undefined || setting.fallback === ""
        ? undefined
        : `default ${setting.fallback}`,
      setting.requiredWhen === undefined
        ? undefined
        : ["required", setting.requiredWhen.words].join(" ").trim(),
      setting.isSecret ? "secret" : undefined,
    ].filter((fact) => fact !== undefined);
    const head = facts.length === 0 ? setting.name : `${setting.name} (${facts.join("; ")})`;
    return `${head}\n    ${setting.doc}\n`;
  }).join("");
}

function declare<T>(
  name: string,
  type: SettingType<Exclude<T, undefined>> | SettingType<T>,
  more: Common & { readonly fallback?: string; readonly requiredWhen?: Setting<T>["requiredWhen"] },
): Setting<T> {
  const wanted = more.wanted ?? type.wanted;
  return {
    name,
    doc: more.doc,
    isSecret: more.isSecret ?? false,
    ...defined({ fallback: more.fallback, requiredWhen: more.requiredWhen, wanted }),
    parse: type.parse as Setting<T>["parse"],
    absent: undefined,
  };
}

function readSetting<T>(setting: Setting<T>, env: Env): Result<T | undefined, string> {
  const given = Object.hasOwn(env, setting.name) ? env[setting.name] : undefined;
  const text = given === undefined || given === "" ? setting.fallback : given;
  if (text === undefined) {
    const when = setting.requiredWhen;
    if (when === undefined || !when.test(env)) return ok(setting.absent);
    const wanted = [setting.wanted, when.words].filter((part) => part !== undefined && part !== "");
    const must = setting.wanted === undefined && when.words !== ""
      ? `must be set ${when.words}`
      : wanted.join(" ");
    return err([`${setting.name}: not set`, must].filter((part) => part !== "").join(", "));
  }
  const value = setting.parse(text);
  return value.ok ? value : err(fault(setting, text, value.error));
}
