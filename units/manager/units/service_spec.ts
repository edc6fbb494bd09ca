/**
 * The parsed `[Service]` section: the command, its environment, readiness, restarts and how the
 * service is stopped. No I/O. Defaults are those of systemd 252.
 *
 * @module
 */

import { err, ok } from "core/result.ts";
import { type ExecLine, readAssignments, readExecLine } from "units/manager/units/exec_line.ts";
import { READY_KEY } from "units/manager/units/unit_keys.ts";
import {
  readBytes,
  readChoice,
  readCount,
  readFlag,
  readMode,
  readSignal,
  readSpanMs,
  readStatuses,
} from "units/manager/units/unit_numbers.ts";
import { type SectionReader, textWith, type UnitReader } from "units/manager/units/unit_reader.ts";
import { type Read, readWords, type Specifiers } from "units/manager/units/words.ts";

const TYPES = ["exec", "simple", "oneshot"] as const;
const RESTARTS = ["no", "always", "on-success", "on-failure", "on-abnormal", "on-abort"] as const;
/** `none` is left out: it would not even end the main process. */
const KILL_MODES = ["control-group", "mixed", "process"] as const;
const FOLDER_KINDS = ["Runtime", "State", "Cache", "Logs"] as const;
const INPUTS = ["null", "socket"] as const;
const OUTPUTS = ["journal", "inherit", "null", "socket"] as const;

/** A file that may be absent. */
export interface OptionalPath {
  readonly path: string;
  readonly isOptional: boolean;
}

/** A folder created before the start, as `RuntimeDirectory=` and similar keys require. */
export interface ServiceFolder {
  readonly kind: (typeof FOLDER_KINDS)[number];
  /** Relative to the base folder of its kind. */
  readonly name: string;
  readonly mode: number;
}

/** When and how often a service is restarted. */
export interface RestartPolicy {
  readonly when: (typeof RESTARTS)[number];
  readonly firstMs: number;
  readonly maxMs: number | undefined;
  readonly steps: number;
  readonly prevent: ReadonlySet<number | string>;
  readonly force: ReadonlySet<number | string>;
  readonly success: ReadonlySet<number | string>;
  /** More starts than this within the interval end in `start-limit`; 0 disables the limit. */
  readonly burst: number;
  readonly intervalMs: number;
}

/** A service as the manager runs it. */
export interface ServiceSpec {
  readonly kind: "service";
  readonly type: (typeof TYPES)[number];
  readonly exec: ExecLine;
  readonly execBefore: readonly ExecLine[];
  readonly isReadyByLog: boolean;
  readonly remainsAfterExit: boolean;
  readonly environment: readonly (readonly [string, string])[];
  readonly environmentFiles: readonly OptionalPath[];
  readonly unset: readonly string[];
  readonly user: string | undefined;
  /** `~` means the user's home. */
  readonly workingDirectory: OptionalPath | undefined;
  readonly folders: readonly ServiceFolder[];
  readonly credentials: readonly { readonly id: string; readonly path: string }[];
  readonly input: (typeof INPUTS)[number];
  readonly restart: RestartPolicy;
  readonly startMs: number;
  readonly stopMs: number;
  readonly runtimeMaxMs: number;
  readonly killMode: (typeof KILL_MODES)[number];
  readonly killSignal: string;
  readonly memoryBytesMax: number;
  readonly umask: number;
}

/** systemd's default for a service that sets none; on a busy host a start can take seconds. */
export const START_MS_DEFAULT = 90_000;
const STOP_MS_DEFAULT = 90_000;
const RESTART_MS_DEFAULT = 100;
const BURST_DEFAULT = 5;
const INTERVAL_MS_DEFAULT = 10_000;
const FOLDER_MODE_DEFAULT = 0o755;
const UMASK_DEFAULT = 0o022;
const NO_STATUSES: ReadonlySet<number | string> = new Set();
const PLACEHOLDER: ExecLine = { mayFail: false, program: "/", args: [] };

/** Reads the `[Service]` section. */
export function readService(reader: UnitReader, specifiers: Specifiers): ServiceSpec {
  const section = reader.section("Service");
  const exec = (value: string) => readExecLine(value, specifiers);
  const type = section.one("Type", (value) => readChoice(value, TYPES), "simple");
  const commands = section.each("ExecStart", exec);
  if (commands.length !== 1) {
    section.fault("ExecStart", `${commands.length} usable commands, must be exactly one`);
  }
  const input = section.one("StandardInput", (value) => readChoice(value, INPUTS), "null");
  checkOutputs(section, input);
  const execBefore = section.each("ExecStartPre", exec);
  const ready = section.one(READY_KEY, (value) => readChoice(value, ["log"]), undefined);
  if (input === "socket") {
    const why = "not supported for the server of a connection";
    if (execBefore.length > 0) section.fault("ExecStartPre", why);
    if (ready !== undefined) section.fault(READY_KEY, why);
  }
  const both = section.one("TimeoutSec", readSpanMs, undefined);
  const path = textWith(specifiers);
  return {
    kind: "service",
    type,
    exec: commands[0] ?? PLACEHOLDER,
    execBefore,
    isReadyByLog:
      section.one(READY_KEY, (value) => readChoice(value, ["log"]), undefined) === "log",
    remainsAfterExit: section.one("RemainAfterExit", readFlag, false),
    environment: section.each("Environment", (value) => readAssignments(value, specifiers)).flat(),
    environmentFiles: section.each("EnvironmentFile", (value) => readOptionalPath(value, path)),
    unset: words(section, "UnsetEnvironment", specifiers),
    user: section.one("User", path, undefined),
    workingDirectory: section.one(
      "WorkingDirectory",
      (value) => readOptionalPath(value, path, true),
      undefined,
    ),
    folders: FOLDER_KINDS.flatMap((kind) => readFolders(section, kind, specifiers)),
    credentials: section.each("LoadCredential", (value) => readCredential(value, path)),
    input,
    restart: readRestart(section, reader.section("Unit")),
    startMs: section.one("TimeoutStartSec", readSpanMs, both) ??
      (type === "oneshot" ? Infinity : START_MS_DEFAULT),
    stopMs: section.one("TimeoutStopSec", readSpanMs, both) ?? STOP_MS_DEFAULT,
    runtimeMaxMs: section.one("RuntimeMaxSec", readSpanMs, Infinity),
    killMode: section.one("KillMode", (value) => readChoice(value, KILL_MODES), "control-group"),
    killSignal: section.one("KillSignal", readSignal, "SIGTERM"),
    memoryBytesMax: section.one("MemoryMax", readBytes, Infinity),
    umask: section.one("UMask", readMode, UMASK_DEFAULT),
  };
}

function readRestart(section: SectionReader, unit: SectionReader): RestartPolicy {
  const statuses = (key: string) => section.one(key, readStatuses, NO_STATUSES);
  return {
    when: section.one("Restart", (value) => readChoice(value, RESTARTS), "no"),
    firstMs: section.one("RestartSec", readSpanMs, RESTART_MS_DEFAULT),
    maxMs: section.one("RestartMaxDelaySec", readSpanMs, undefined),
    steps: section.one("RestartSteps", readCount, 0),
    prevent: statuses("RestartPreventExitStatus"),
    force: statuses("RestartForceExitStatus"),
    success: statuses("SuccessExitStatus"),
    burst: unit.one("StartLimitBurst", readCount, BURST_DEFAULT),
    intervalMs: unit.one("StartLimitIntervalSec", readSpanMs, INTERVAL_MS_DEFAULT),
  };
}

/** Output must be a pipe to the log or, for a socket's server, the connection. */
function checkOutputs(section: SectionReader, input: "null" | "socket"): void {
  const read = (value: string) => readChoice(value, OUTPUTS);
  const output = section.one("StandardOutput", read, "inherit");
  if (output === "socket" && input !== "socket") {
    section.fault("StandardOutput", "is socket, so StandardInput must be socket, too");
  }
  if (input === "socket" && output !== "socket" && output !== "inherit") {
    section.fault("StandardOutput", "must be socket where StandardInput is socket");
  }
  const errors = section.one("StandardError", read, "journal");
  if (errors !== "journal") section.fault("StandardError", "must be journal");
}

function readOptionalPath(
  value: string,
  text: (value: string) => Read<string>,
  mayBeHome = false,
): Read<OptionalPath> {
  const isOptional = value.startsWith("-");
  const path = text(isOptional ? value.slice(1) : value);
  if (!path.ok) return path;
  return path.value.startsWith("/") || (mayBeHome && path.value === "~")
    ? ok({ path: path.value, isOptional })
    : err("must be an absolute path");
}

function readCredential(
  value: string,
  text: (value: string) => Read<string>,
): Read<{ readonly id: string; readonly path: string }> {
  const expanded = text(value);
  if (!expanded.ok) return expanded;
  const [, id, path] = /^([A-Za-z0-9._-]+):(\/.+)$/s.exec(expanded.value) ?? [];
  return id === undefined || path === undefined || /^\.+$/.test(id)
    ? err("must have the form name:/absolute/path")
    : ok({ id, path });
}

function words(section: SectionReader, key: string, specifiers: Specifiers): readonly string[] {
  return section.each(key, (value) => readWords(value, specifiers)).flat().map((word) => word.text);
}

function readFolders(
  section: SectionReader,
  kind: ServiceFolder["kind"],
  specifiers: Specifiers,
): readonly ServiceFolder[] {
  const mode = section.one(`${kind}DirectoryMode`, readMode, FOLDER_MODE_DEFAULT);
  return words(section, `${kind}Directory`, specifiers).flatMap((name) => {
    const isPlain = !name.startsWith("/") &&
      !name.split("/").some((part) => /^\.{0,2}$/.test(part));
    if (isPlain) return [{ kind, name, mode }];
    section.fault(`${kind}Directory`, "must be a relative path without dots");
    return [];
  });
}
