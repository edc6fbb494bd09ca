/**
 * How a host reaches its package registry: proxy, certificate and npm variables. They are stored in
 * one env file of the host, because the program that vendors may start with a cleared environment.
 *
 * @module
 */

import { REGISTRY_VARIABLES } from "core/catalog/install.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { parseEnvFile, printEnvFile } from "core/text/env_file.ts";

/** Variables that the installer needs and that do not configure the registry. */
const NOT_REGISTRY = new Set(["PATH", "HOME", "TMPDIR"]);

/** Reads the host's file; returns no variables if it is absent or unusable. */
export async function readRegistryEnv(
  files: Pick<Files, "readText">,
  paths: Pick<Paths, "registryEnv">,
): Promise<Readonly<Record<string, string>>> {
  const parsed = parseEnvFile(await files.readText(paths.registryEnv) ?? "");
  return parsed.ok ? Object.fromEntries(parsed.value) : {};
}

/**
 * Stores the registry variables of `env`, 0600 (npm settings may contain a token). If there are
 * none, removes the file. Returns whether there were any.
 */
export async function writeRegistryEnv(
  files: Pick<Files, "write" | "remove">,
  paths: Pick<Paths, "registryEnv">,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  const kept = Object.entries(env).filter(([name]) =>
    !NOT_REGISTRY.has(name) && (REGISTRY_VARIABLES.has(name) || /^npm_config_/i.test(name))
  ).sort();
  const text = printEnvFile(kept);
  if (kept.length === 0 || !text.ok) {
    await files.remove(paths.registryEnv);
    return false;
  }
  await files.write(paths.registryEnv, text.value, { mode: 0o600 });
  return true;
}
