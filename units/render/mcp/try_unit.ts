/**
 * The transient unit in which systemd runs a server for a trial. The server has its own user, no
 * network, no capability, and an empty home in memory. Of the host it sees only programs and its
 * own tree. The requesting verb may run in the daemon's sandbox, which forbids namespaces, so the
 * manager creates them. Nothing is written below `/etc` or `/run`, not even a unit file. No I/O.
 *
 * | Left when | the server | its unit | its home |
 * |---|---|---|---|
 * | the try has ended | stopped | unloaded | was memory |
 * | the daemon was killed | stopped with it (`BindsTo`) | unloaded | was memory |
 * | a verb without the daemon was killed | after `TRY_SECONDS_MAX`, or at the next try | unloaded |
 * was memory |
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { HOST_FILES } from "core/sandbox/host_files.ts";
import type { UnitEntry } from "core/text/unit_file.ts";
import { tryHardening } from "units/render/hardening.ts";

/** Input of one start. Paths are absolute. */
export interface TryUnit {
  /** Unique name, with its suffix. */
  readonly unit: string;
  /** The unit whose end also ends this one; undefined when there is none. */
  readonly boundTo: string | undefined;
  readonly limits: Manifest["limits"];
  /** An empty folder; the root of the server's view. */
  readonly root: string;
  /** The server's files, read-only. */
  readonly tree: string;
  /** The path of its home in its view. */
  readonly home: string;
  /** Its workspace, a folder in that home. */
  readonly workdir: string;
  /** A file that every user may write to, and its path in the server's view. */
  readonly audit: { readonly file: string; readonly seenAs: string };
  readonly env: Readonly<Record<string, string>>;
}

/** Contains every try: a stop of the slice ends them all. */
export const TRY_SLICE = "fleetctl-try.slice";

/** Maximum duration of one start; listing and calling end long before. */
const TRY_SECONDS_MAX = 120;
/** Maximum memory for files of its home, which counts against its limit. */
const HOME_BYTES_MAX = 256 * 1024 * 1024;
const AUDIT_BYTES_MAX = 64 * 1024 * 1024;

/** Files for a browser that a server may start. */
const BROWSER_FILES = ["-/etc/fonts", "-/etc/chromium", "-/etc/chromium.d"];

/** Returns the words before a server's own, the first of them `systemd-run`. */
export function tryUnitWords(systemdRun: string, of: TryUnit): readonly string[] {
  const settings = [...boundEntries(of), ...viewEntries(of), ...limitEntries(of)]
    .concat(tryHardening());
  return [
    systemdRun,
    "--quiet",
    "--collect",
    "--pipe",
    "--wait",
    "--service-type=exec",
    `--unit=${of.unit}`,
    `--slice=${TRY_SLICE}`,
    "--description=Trying out an MCP server",
    ...settings.map(({ key, value }) => `--property=${key}=${value}`),
    ...Object.entries(of.env).map(([name, value]) => `--setenv=${name}=${value}`),
    "--",
  ];
}

/**
 * The manager expands variables in the words of a command; escapes keep the server's words
 * unchanged.
 */
export function escapeWord(word: string): string {
  return word.replaceAll("$", "$$$$");
}

function boundEntries({ boundTo }: TryUnit): readonly UnitEntry[] {
  return boundTo === undefined ? [] : [
    { key: "BindsTo", value: boundTo, why: "No process would read its answers" },
    { key: "After", value: boundTo, why: "It ends before that unit" },
  ];
}

function viewEntries({ root, tree, home, workdir, audit }: TryUnit): readonly UnitEntry[] {
  return [
    { key: "DynamicUser", value: "yes", why: "A temporary user that owns no files" },
    { key: "RootDirectory", value: root, why: "It sees only the listed files of the host" },
    { key: "MountAPIVFS", value: "yes", why: "Its own /proc, /sys and /dev" },
    {
      key: "BindReadOnlyPaths",
      value: [...HOST_FILES, ...BROWSER_FILES, tree].join(" "),
      why: "Programs, and its tree",
    },
    {
      key: "TemporaryFileSystem",
      value: [home, workdir]
        .map((path) => `${path}:mode=1777,size=${HOME_BYTES_MAX},nr_inodes=16k`).join(" "),
      why: "A private home, removed at its end",
    },
    {
      key: "BindPaths",
      value: `${audit.file}:${audit.seenAs}`,
      why: "The file that records its permission requests",
    },
    { key: "WorkingDirectory", value: home, why: "The same folder as for an agent's server" },
  ];
}

function limitEntries({ limits }: TryUnit): readonly UnitEntry[] {
  return [
    { key: "MemoryMax", value: String(limits.memoryBytesMax), why: "The limit of its unit" },
    { key: "MemorySwapMax", value: "0", why: "Swap must not extend the limit" },
    { key: "TasksMax", value: String(limits.tasksMax), why: "The limit of its unit" },
    { key: "CPUWeight", value: "20", why: "Other services have priority" },
    {
      key: "RuntimeMaxSec",
      value: String(TRY_SECONDS_MAX),
      why: "A trial must end, because its caller waits",
    },
    { key: "TimeoutStopSec", value: "2", why: "It has no work to finish" },
    { key: "LimitCORE", value: "0", why: "No core dump is written" },
    {
      key: "LimitFSIZE",
      value: String(AUDIT_BYTES_MAX),
      why: "Limits the size of the one file that remains",
    },
  ];
}
