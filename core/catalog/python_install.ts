/**
 * Installs the wheels of a `uvx` entry with the host's own Python and pip. Starts programs through
 * `Processes`; touches files through `Files` only.
 *
 * | Guarantee | Enforced by |
 * |---|---|
 * | no code of a package runs | wheels only (`--only-binary=:all:`), because a source package would run its build. pip may also start no program, because it builds a package named by URL (`name @ https://…`, `git+…`) in spite of that option |
 * | nothing that the lock does not name | `--require-hashes` and `--no-deps` |
 * | a second install needs no network | `--no-index` from the entry's own folder of wheels |
 * | no settings of the host or a user | `python3 -I`, no pip configuration, a cleared environment |
 *
 * @module
 */

import { OFFLINE_MS_MAX, ONLINE_MS_MAX, REGISTRY_VARIABLES } from "core/catalog/install.ts";
import { refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import type { Processes } from "core/ports/processes.ts";
import { err, ok, type Result } from "core/result.ts";
import { pythonRefusal } from "core/catalog/python_faults.ts";
import { isPortableLock } from "core/catalog/python_lock.ts";

/** The distribution's interpreter. It runs both the installer and the servers. */
export const PYTHON = "/usr/bin/python3";
/** The folder of a tree that contains its packages. */
export const PACKAGES_FOLDER = "site";
/** The index when the host configures no other (`PIP_INDEX_URL`). */
const DEFAULT_INDEX = "https://pypi.org/simple/";

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** Largest size of a wheel, and of any file that it unpacks to. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;
/**
 * Memory limit of the installer: it reads a wheel's metadata as a whole, and that may unpack to any
 * size.
 */
const MEMORY_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Seconds without a byte after which the connection to the index is given up. */
const STALL_SECONDS = 15;

/** One install to run. */
export interface PythonInstall {
  readonly mcp: string;
  readonly package: string;
  readonly version: string;
  /** Stage folder: the lock is written here, and the packages to `<folder>/site`. */
  readonly folder: string;
  /** Folder of wheels that is kept after the install. */
  readonly cache: string;
  /** Environment of the caller. */
  readonly env: Readonly<Record<string, string>>;
  /** Longest install with access to the index, milliseconds; five minutes when absent. */
  readonly onlineMsMax?: number;
}

/** The ports that an install needs. */
export interface PythonPorts {
  readonly files: Pick<Files, "ensureDir" | "write" | "stat">;
  readonly processes: Pick<Processes, "run" | "which">;
}

/**
 * Runs pip in a process that may start no other (PEP 578). Builds and `git` are separate programs,
 * so a package that needs one ends the install. pip can do without the programs that it only probes
 * for.
 */
const RUN_PIP = `import runpy, sys
STARTS = {"subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn",
          "os.spawn", "pty.spawn"}
def audit(event, args):
    if event in STARTS:
        raise PermissionError("the installer may start no program")
sys.addaudithook(audit)
runpy.run_module("pip", run_name="__main__", alter_sys=True)`;

const QUIET = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-color"];
const WHEELS_ONLY = "--only-binary=:all:";

/** Requests the whole dependency tree of a pin from the index; returns pip's report (JSON). */
export async function reportOf(
  ports: PythonPorts,
  install: PythonInstall,
): Promise<Result<string>> {
  return await runPip(ports, install, { isOffline: false }, [
    "install",
    "--dry-run",
    "--ignore-installed",
    WHEELS_ONLY,
    "--timeout",
    `${STALL_SECONDS}`,
    "--retries",
    "1",
    "--report",
    "-",
    `${install.package}==${install.version}`,
  ]);
}

/** Installs a checked lock into `<folder>/site`; uses the index unless `isOffline`. */
export async function installWheels(
  ports: PythonPorts,
  install: PythonInstall,
  how: { readonly lock: string; readonly isOffline: boolean },
): Promise<Result<void>> {
  const lock = `${install.folder}/requirements.lock`;
  const wheels = `${install.cache}/wheels`;
  await ports.files.write(lock, how.lock);
  await ports.files.ensureDir(wheels, { mode: 0o700 });
  if (!how.isOffline) {
    const fetched = await runPip(ports, install, how, [
      "download",
      "--no-deps",
      "--require-hashes",
      WHEELS_ONLY,
      "--timeout",
      `${STALL_SECONDS}`,
      "--retries",
      "1",
      "--dest",
      wheels,
      "-r",
      lock,
    ]);
    if (!fetched.ok) return fetched;
  }
  const placed = await runPip(ports, install, { lock: how.lock, isOffline: true }, [
    "install",
    "--no-deps",
    "--no-index",
    "--find-links",
    wheels,
    "--require-hashes",
    WHEELS_ONLY,
    "--no-compile",
    "--target",
    `${install.folder}/${PACKAGES_FOLDER}`,
    "-r",
    lock,
  ]);
  return placed.ok ? ok(undefined) : placed;
}

async function runPip(
  ports: PythonPorts,
  install: PythonInstall,
  how: { readonly isOffline: boolean; readonly lock?: string },
  args: readonly string[],
): Promise<Result<string>> {
  if (await ports.files.stat(PYTHON) === undefined) {
    return err(refusal(
      "installer-missing",
      `Cannot install MCP "${install.mcp}": there is no "${PYTHON}" on this host`,
      { hints: ["apt-get install python3 python3-pip"] },
    ));
  }
  const scratch = `${install.folder}/tmp`;
  await ports.files.ensureDir(scratch, { mode: 0o700 });
  const prlimit = await ports.processes.which("prlimit");
  const limited = prlimit === undefined
    ? []
    : [prlimit, `--fsize=${FILE_BYTES_MAX}`, `--as=${MEMORY_BYTES_MAX}`, "--core=0"];
  const [command = PYTHON, ...before] = [...limited, PYTHON];
  const [verb = "", ...rest] = args;
  const ended = await ports.processes.run({
    command,
    args: [...before, "-I", "-c", RUN_PIP, verb, ...QUIET, ...rest],
    cwd: install.folder,
    env: pipEnv(install, scratch),
    timeoutMs: how.isOffline ? OFFLINE_MS_MAX : install.onlineMsMax ?? ONLINE_MS_MAX,
    outputBytesMax: OUTPUT_BYTES_MAX,
  });
  if (ended.code === 0 && !ended.truncated) return ok(ended.stdout);
  return err(pythonRefusal(install, {
    output: `${ended.stderr}\n${verb === "install" && !how.isOffline ? "" : ended.stdout}`,
    isLate: ended.timedOut,
    isTooLarge: ended.signal === "SIGXFSZ",
    isPortable: how.lock === undefined || isPortableLock(how.lock),
  }));
}

function pipEnv(install: PythonInstall, scratch: string): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(install.env)) {
    if (REGISTRY_VARIABLES.has(name)) env[name] = value;
  }
  return {
    PIP_INDEX_URL: DEFAULT_INDEX,
    ...env,
    HOME: install.folder,
    TMPDIR: scratch,
    // A private cache: the install reuses what was downloaded to make the lock.
    PIP_CACHE_DIR: `${scratch}/http`,
    // A configuration file of the host could name more indexes than the caller's environment.
    PIP_CONFIG_FILE: "/dev/null",
    PIP_ROOT_USER_ACTION: "ignore",
    PYTHONDONTWRITEBYTECODE: "1",
    LC_ALL: "C.UTF-8",
  };
}
