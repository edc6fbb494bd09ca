/**
 * Settings whose value can exceed the limit of one environment variable (Linux: 128 KiB). Then the
 * variable contains the absolute path of a file with the value.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import type { Env } from "core/settings/settings.ts";

/** Tells whether a value of such a setting is a file path. */
export function isSettingFile(value: string | undefined): value is string {
  return value?.startsWith("/") ?? false;
}

/** Returns the settings with the file path in `name` replaced by the file's text. */
export async function withSettingFile(
  settings: ReadonlyMap<string, string>,
  name: string,
  files: Pick<Files, "readText">,
): Promise<ReadonlyMap<string, string>> {
  const { [name]: text } = await withSettingFiles({ [name]: settings.get(name) }, [name], files);
  return text === undefined ? settings : new Map([...settings, [name, text]]);
}

/**
 * Returns `env` with file paths replaced by the files' texts. The path of an unreadable file stays.
 */
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
