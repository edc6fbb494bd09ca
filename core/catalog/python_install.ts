/**
 * Installing the wheels of a `uvx` entry with the host's own Python and pip: what pip is given, and
 * what its failures mean. Starts a program through `Processes`; touches files through `Files` only.
 *
 * | Promise | By |
 * |---|---|
 * | no code of a package runs | wheels only (`--only-binary=:all:`): a source package would run its build; and pip may start no program, because a package that is named by its address (`name @ https://…`, `git+…`) is built in spite of that |
 * | nothing that the lock does not name | `--require-hashes` and `--no-deps` |
 * | the second time without a network | `--no-index` from the entry's own folder of wheels |
 * | nothing of the host's or a user's settings | `python3 -I`, no pip configuration, a cleared environment |
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

/** The interpreter that installs and that servers run under: the distribution's. */
export const PYTHON = "/usr/bin/python3";
/** The folder of a tree that holds its packages. */
export const SITE = "site";
/** Index that is asked when the site names no other (`PIP_INDEX_URL`). */
const DEFAULT_INDEX = "https://pypi.org/simple/";

const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** Largest file that a wheel may be or unpack to. */
const FILE_BYTES_MAX = 256 * 1024 * 1024;
/**
 * Memory of the installer: it reads what a wheel says of itself whole, and that may
 * unpack to any size.
 */
const MEMORY_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** Seconds without a byte after which the index is taken for dead. */
const STALL_SECONDS = 15;

/** One install to run. */
export interface PythonInstall {
  readonly mcp: string;
  readonly package: string;
  readonly version: string;
  /** Stage: the lock is written to it, and the packages to `<folder>/site`. */
  readonly folder: string;
  /** Folder of wheels that outlives the install. */
  readonly cache: string;
  /** Environment of the caller. */
  readonly env: Readonly<Record<string, string>>;
  /** Longest work with the index; five minutes when absent. */
  readonly onlineMsMax?: number;
}

/** What installing needs of the machine. */
export interface PythonPorts {
  readonly files: Pick<Files, "ensureDir" | "write" | "stat">;
  readonly processes: Pick<Processes, "run" | "which">;
}

/**
 * pip in a process that starts no other (PEP 578): builds and `git` are programs of their own, so a
 * package that asks for one ends the install. What pip looks for without need it does without.
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

/** Asks the index what a pin and everything below it are; returns pip's report (JSON). */
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

/** Installs what a checked lock names into `<folder>/site`, asking the index unless `isOffline`. */
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
    `${install.folder}/${SITE}`,
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
    // What was looked at to make a lock is not fetched again to install by it.
    PIP_CACHE_DIR: `${scratch}/http`,
    // A file of the host's could name more indexes: a package is taken from where the site says.
    PIP_CONFIG_FILE: "/dev/null",
    PIP_ROOT_USER_ACTION: "ignore",
    PYTHONDONTWRITEBYTECODE: "1",
    LC_ALL: "C.UTF-8",
  };
}
