/**
 * Settings whose value may be longer than one variable of the environment can be (Linux: 128 KiB):
 * such a value is the absolute path of a file that holds it. Rendered by
 * `units/render/roles/map_setting.ts`.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import type { Env } from "core/settings/settings.ts";

/** Tells whether a value of such a setting is the path of a file. */
export function isSettingFile(value: string | undefined): value is string {
  return value?.startsWith("/") ?? false;
}

/** The settings of a rendered file, with the text of a value that names a file in its place. */
export async function withSettingFile(
  settings: ReadonlyMap<string, string>,
  name: string,
  files: Pick<Files, "readText">,
): Promise<ReadonlyMap<string, string>> {
  const { [name]: text } = await withSettingFiles({ [name]: settings.get(name) }, [name], files);
  return text === undefined ? settings : new Map([...settings, [name, text]]);
}

/** Puts the texts of named files in the place of their paths; what cannot be read stays a path. */
export async function withSettingFiles(
  env: Env,
  names: readonly string[],
  files: Pick<Files, "readText">,
): Promise<Env> {
  const texts = await Promise.all(names.map(async (name) => {
    const value = env[name];
    const text = isSettingFile(value)
      ? await files.readText(value).catch(() => undefined)
      : undefined;
    return text === undefined ? [] : [[name, text.trim()] as const];
  }));
  return { ...env, ...Object.fromEntries(texts.flat()) };
}
