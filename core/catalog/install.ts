/**
 * Runs the pinned Deno's npm installer for one package tree, and maps its failures to refusals.
 * Starts a program through `Processes`; touches files through `Files` only.
 *
 * No install script ever runs: Deno skips lifecycle scripts unless `--allow-scripts` is given.
 *
 * @module
 */

import { type Refusal, refusal } from "core/errors.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";

/** Longest install from the registry, and from the cache alone, in milliseconds. */
export const ONLINE_MS_MAX = 300_000;
export const OFFLINE_MS_MAX = 120_000;
const OUTPUT_BYTES_MAX = 256 * 1024;
const DETAIL_LINES_MAX = 6;

/** Variables of the caller that an installer gets. Deno's also gets those named `npm_config_*`. */
export const REGISTRY_VARIABLES: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "TMPDIR",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "NODE_EXTRA_CA_CERTS",
  "PIP_INDEX_URL",
  "PIP_CERT",
]);

/** One install to run. */
export interface Install {
  readonly mcp: string;
  readonly package: string;
  readonly version: string;
  /** Folder with `deno.json`, and with `deno.lock` unless the install writes it. */
  readonly folder: string;
  readonly cache: string;
  /** The pinned Deno. */
  readonly deno: string;
  /** Environment of the caller. */
  readonly env: Readonly<Record<string, string>>;
  /** Longest install from the registry, milliseconds; five minutes when absent. */
  readonly onlineMsMax?: number;
}

/** Largest file that a package may unpack to; the largest known one has 120 MB. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;

/** Returns the text of a `deno.json` that imports exactly one package. */
export function installConfig(pin: { readonly package: string; readonly version: string }): string {
  const imports = { [pin.package]: `npm:${pin.package}@${pin.version}` };
  return `${JSON.stringify({ nodeModulesDir: "auto", imports }, null, 2)}\n`;
}

/**
 * Installs into `<folder>/node_modules`. `frozen` follows the existing lock; otherwise writes one.
 */
export async function runInstall(
  processes: Pick<Processes, "run" | "which">,
  install: Install,
  how: { readonly frozen: boolean; readonly offline: boolean },
): Promise<Result<void>> {
  // A tarball of some kilobytes can unpack to any size; the kernel limits each file.
  const prlimit = await processes.which("prlimit");
  const limited = prlimit === undefined ? [] : [prlimit, `--fsize=${FILE_BYTES_MAX}`, "--core=0"];
  const [command = install.deno, ...before] = [...limited, install.deno];
  const ended = await processes.run({
    command,
    args: [
      ...before,
      "install",
      "-q",
      how.frozen ? "--frozen" : "--frozen=false",
      ...(how.offline ? ["--cached-only"] : []),
    ],
    cwd: install.folder,
    env: installEnv(install),
    timeoutMs: how.offline ? OFFLINE_MS_MAX : install.onlineMsMax ?? ONLINE_MS_MAX,
    outputBytesMax: OUTPUT_BYTES_MAX,
  });
  if (ended.code === 0) return ok(undefined);
  const output = `${ended.stderr}\n${ended.stdout}`;
  const isTooLarge = ended.signal === "SIGXFSZ" || /file too large/i.test(output);
  return err(isTooLarge ? tooLarge(install) : installRefusal(install, output, ended.timedOut));
}

function tooLarge({ mcp, package: name, version }: Install): Refusal {
  return refusal(
    "package-too-large",
    `Cannot install MCP "${mcp}": "${name}@${version}" or one of its dependencies unpacks to ` +
      `a file of more than ${FILE_BYTES_MAX} bytes; nothing was installed`,
    { hints: ["fleetctl mcp catalog list"] },
  );
}

function installEnv(install: Install): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(install.env)) {
    if (REGISTRY_VARIABLES.has(name) || /^npm_config_/i.test(name)) env[name] = value;
  }
  return { ...env, DENO_DIR: install.cache, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" };
}

/** Matches 404 only as a status: ports and names of temporary folders may contain it too. */
const NOT_FOUND =
  /could not find npm package|does not exist|\b404 not found|version.*not found|no match/i;

/** Returns the refusal that explains the installer's output, with next steps. */
function installRefusal(
  install: Pick<Install, "mcp" | "package" | "version">,
  output: string,
  timedOut: boolean,
): Refusal {
  const pinned = `"${install.package}@${install.version}"`;
  const start = `Cannot install MCP "${install.mcp}"`;
  const details = outputLines(output);
  const registry = ["fleetctl mcp catalog list"];
  if (timedOut) {
    return refusal("registry-unreachable", `${start}: the registry did not answer in time`, {
      details,
      hints: registry,
    });
  }
  // First, because the other patterns may match a part of the path that could not be written.
  if (/no space left/i.test(output)) {
    return refusal("disk-full", `${start}: no space left on the disk`, {
      details,
      hints: ["df -h"],
    });
  }
  if (/integrity|checksum/i.test(output)) {
    return refusal(
      "package-altered",
      `${start}: what the registry serves for ${pinned} or one of its dependencies does ` +
        `not match the lock; nothing was installed`,
      { details, hints: registry },
    );
  }
  if (NOT_FOUND.test(output)) {
    return refusal("package-not-found", `${start}: the registry has no package ${pinned}`, {
      details,
      hints: [`fleetctl mcp catalog upgrade ${install.mcp} --help`],
    });
  }
  if (/error sending request|not found in cache|dns error|connect|timed out/i.test(output)) {
    return refusal(
      "registry-unreachable",
      `${start}: the registry cannot be reached, and the cache does not contain all of ${pinned}`,
      { details, hints: registry },
    );
  }
  return refusal("install-failed", `${start}: the installer failed for ${pinned}`, { details });
}

/** Returns the informative lines, without stack traces and without credentials in URLs. */
function outputLines(output: string): readonly string[] {
  return output.replace(/\/\/[^/\s@]+@/g, "//")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !/^(stack backtrace|\d+: <unknown>)/i.test(line))
    .slice(0, DETAIL_LINES_MAX);
}
