/**
 * How a site reaches its package registry: proxy, certificate and npm variables, kept in one env
 * file of the host, because the program that vendors may be started with a cleared environment.
 *
 * @module
 */

import { REGISTRY_VARIABLES } from "core/catalog/install.ts";
import type { Paths } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { parseEnvFile, printEnvFile } from "core/text/env_file.ts";

/** Variables of a process that say nothing about the registry. */
const OWN = new Set(["PATH", "HOME", "TMPDIR"]);

/** Reads the host's file; absent or unusable means that nothing special is needed. */
export async function readRegistryEnv(
  files: Pick<Files, "readText">,
  paths: Pick<Paths, "registryEnv">,
): Promise<Readonly<Record<string, string>>> {
  const parsed = parseEnvFile(await files.readText(paths.registryEnv) ?? "");
  return parsed.ok ? Object.fromEntries(parsed.value) : {};
}

/**
 * Keeps what `env` says about the registry, 0600 (npm settings may hold a token);
 * returns whether there was any.
 */
export async function writeRegistryEnv(
  files: Pick<Files, "write" | "remove">,
  paths: Pick<Paths, "registryEnv">,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  const kept = Object.entries(env).filter(([name]) =>
    !OWN.has(name) && (REGISTRY_VARIABLES.has(name) || /^npm_config_/i.test(name))
  ).sort();
  const text = printEnvFile(kept);
  if (kept.length === 0 || !text.ok) {
    await files.remove(paths.registryEnv);
    return false;
  }
  await files.write(paths.registryEnv, text.value, { mode: 0o600 });
  return true;
}
