/**
 * The transient unit in which systemd runs a server that is tried out: as a user of its own,
 * with no network, no capability, an empty home in memory, and of the host only programs and
 * the one tree. The verb that asks for it may itself stand in the daemon's sandbox, which
 * forbids namespaces: the manager makes them. Nothing is written below `/etc` or `/run`, and no
 * unit file either. No I/O.
 *
 * | Left when | the server | its unit | its home |
 * |---|---|---|---|
 * | the try has ended | stopped | unloaded | was memory |
 * | the daemon was killed | stopped with it (`BindsTo`) | unloaded | was memory |
 * | a verb without the daemon was killed | after `TRY_SECONDS_MAX`, or at the next try | unloaded | was memory |
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { UnitEntry } from "core/text/unit_file.ts";
import { tryHardening } from "units/render/hardening.ts";
import { HOST_FILES } from "units/render/mcp/python.ts";

/** What one start is given. Paths are absolute. */
export interface TryUnit {
  /** Name with its suffix; no other unit has it. */
  readonly unit: string;
  /** Unit whose end is its end; undefined when nobody's is. */
  readonly boundTo: string | undefined;
  readonly limits: Manifest["limits"];
  /** An empty folder; the root of what the server sees. */
  readonly root: string;
  /** Files that it may read. */
  readonly tree: string;
  /** Its home as it sees it. */
  readonly home: string;
  /** Its workspace, a folder of that home. */
  readonly workdir: string;
  /** A file that anybody may write to, and its name as the server sees it. */
  readonly audit: { readonly file: string; readonly seenAs: string };
  readonly env: Readonly<Record<string, string>>;
}

/** Every try is in it: stopping it ends them all. */
export const TRY_SLICE = "fleetctl-try.slice";

/** Longest life of one start; listing and calling end long before. */
const TRY_SECONDS_MAX = 120;
/** Memory that files of its home may take, which counts against its limit. */
const HOME_BYTES_MAX = 256 * 1024 * 1024;
const AUDIT_BYTES_MAX = 64 * 1024 * 1024;

/** What a browser needs that a server may start. */
const BROWSER_FILES = ["-/etc/fonts", "-/etc/chromium", "-/etc/chromium.d"];

/** Returns the words before a server's own, the first of them `systemd-run`. */
export function tryUnitWords(systemdRun: string, of: TryUnit): readonly string[] {
  const settings = [...boundEntries(of), ...placeEntries(of), ...limitEntries(of)]
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
 * The manager expands variables in the words of a command; a server's own are taken as they stand.
 */
export function escapeWord(word: string): string {
  return word.replaceAll("$", "$$$$");
}

function boundEntries({ boundTo }: TryUnit): readonly UnitEntry[] {
  return boundTo === undefined ? [] : [
    { key: "BindsTo", value: boundTo, why: "Nobody would read what it answers" },
    { key: "After", value: boundTo, why: "So that it ends first" },
  ];
}

function placeEntries({ root, tree, home, workdir, audit }: TryUnit): readonly UnitEntry[] {
  return [
    { key: "DynamicUser", value: "yes", why: "A user that owns nothing and exists while it runs" },
    { key: "RootDirectory", value: root, why: "Of the host it sees what is named here" },
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
      why: "A home that is gone with it",
    },
    { key: "BindPaths", value: `${audit.file}:${audit.seenAs}`, why: "What it asked for" },
    { key: "WorkingDirectory", value: home, why: "Where an agent's server starts" },
  ];
}

function limitEntries({ limits }: TryUnit): readonly UnitEntry[] {
  return [
    { key: "MemoryMax", value: String(limits.memoryBytesMax), why: "As its own unit" },
    { key: "MemorySwapMax", value: "0", why: "And no way around it" },
    { key: "TasksMax", value: String(limits.tasksMax), why: "As its own unit" },
    { key: "CPUWeight", value: "20", why: "What serves people goes first" },
    { key: "RuntimeMaxSec", value: String(TRY_SECONDS_MAX), why: "Whoever waits for it" },
    { key: "TimeoutStopSec", value: "2", why: "It has nothing to finish" },
    { key: "LimitCORE", value: "0", why: "No image of it is left" },
    { key: "LimitFSIZE", value: String(AUDIT_BYTES_MAX), why: "The one file that stays is small" },
  ];
}
