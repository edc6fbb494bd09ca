/**
 * Resource limits of agents: their fields, bounds and units, and the defaults that follow from the
 * host's memory and the number of agents. Pure.
 *
 * An agent's limits apply to its dial unit, its runtime, every command it starts and its own MCP
 * servers together. The limits of all agents leave the host enough for itself.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Limits as a record or `roles.yaml` states them; an absent one has a default. */
export interface AgentLimits {
  /** Above this the kernel slows the agent down and reclaims memory. */
  readonly memoryHighBytes?: number;
  /** Above this the kernel kills a process of the agent. */
  readonly memoryMaxBytes?: number;
  /** Most processes and threads. */
  readonly tasksMax?: number;
  /** Share of the processor and of the disk among agents; 100 is an equal share. */
  readonly cpuWeight?: number;
  readonly ioWeight?: number;
}

/** Limits with a value for every field. */
export type FullLimits = Required<AgentLimits>;

/** The limits of a host. */
export interface HostLimits {
  /** All agents and their MCP servers together. */
  readonly all: FullLimits;
  /** Each agent whose record does not override them. */
  readonly agent: FullLimits;
}

/** Name of a field of `AgentLimits`. */
export type LimitField = keyof AgentLimits;

/** One limit: its key in YAML, its option, its bounds and unit. */
export interface LimitRow {
  readonly field: LimitField;
  readonly key: string;
  readonly unit: "bytes" | "count";
  readonly min: number;
  readonly max: number;
}

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const TIB = 1024 ** 4;

/** The limits in display order. An idle agent uses about 100 MiB and 40 tasks. */
export const LIMIT_ROWS: readonly LimitRow[] = [
  { field: "memoryHighBytes", key: "memory_high", unit: "bytes", min: 256 * MIB, max: 64 * TIB },
  { field: "memoryMaxBytes", key: "memory_max", unit: "bytes", min: 256 * MIB, max: 64 * TIB },
  { field: "tasksMax", key: "tasks_max", unit: "count", min: 128, max: 4_194_304 },
  { field: "cpuWeight", key: "cpu_weight", unit: "count", min: 1, max: 10_000 },
  { field: "ioWeight", key: "io_weight", unit: "count", min: 1, max: 10_000 },
];

const UNITS: readonly (readonly [letter: string, bytes: number])[] = [
  ["T", TIB],
  ["G", GIB],
  ["M", MIB],
];

/** Parses one limit: `2G`, `512M`, or a whole number. */
export function parseLimit(row: LimitRow, text: string): Result<number> {
  const value = row.unit === "bytes" ? parseSize(text) : parseCount(text);
  if (value !== undefined && value >= row.min && value <= row.max) return ok(value);
  return err(refusal("limit-invalid", `value is ${JSON.stringify(text)}, ${limitRule(row)}`, {
    kind: "usage",
  }));
}

/** Returns the rule for the text of a limit: `must be …`. */
export function limitRule(row: LimitRow): string {
  return row.unit === "bytes"
    ? `must be a size from ${printLimit(row, row.min)} to ${printLimit(row, row.max)}, such as 2G`
    : `must be a whole number from ${row.min} to ${row.max}`;
}

/** Prints a limit in the form that `parseLimit` accepts, in the largest unit that fits exactly. */
export function printLimit({ unit }: LimitRow, value: number): string {
  if (unit === "count") return String(value);
  const [letter, bytes] = UNITS.find(([, size]) => value % size === 0) ?? ["M", MIB];
  return `${Math.floor(value / bytes)}${letter}`;
}

function parseSize(text: string): number | undefined {
  const [, digits = "", letter = ""] = /^(\d{1,9})([MGT])$/.exec(text.trim().toUpperCase()) ?? [];
  const size = UNITS.find(([name]) => name === letter)?.[1];
  return size === undefined ? undefined : Number(digits) * size;
}

function parseCount(text: string): number | undefined {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined;
}

/** Returns the fault of limits that are valid one by one but not together; undefined if none. */
export function limitsFault(limits: AgentLimits): string | undefined {
  const { memoryHighBytes: high, memoryMaxBytes: max } = limits;
  return high !== undefined && max !== undefined && high > max
    ? "memory_high is above memory_max, must be at most that"
    : undefined;
}

/** Fills in defaults. A given `memory_max` without a `memory_high` gets one just below it. */
export function fillLimits(limits: AgentLimits, defaults: FullLimits): FullLimits {
  const memoryMaxBytes = limits.memoryMaxBytes ?? defaults.memoryMaxBytes;
  const own = limits.memoryMaxBytes === undefined ? defaults.memoryHighBytes : undefined;
  const memoryHighBytes = limits.memoryHighBytes ?? own ?? thresholdOf(memoryMaxBytes);
  return {
    memoryHighBytes: Math.min(memoryHighBytes, memoryMaxBytes),
    memoryMaxBytes,
    tasksMax: limits.tasksMax ?? defaults.tasksMax,
    cpuWeight: limits.cpuWeight ?? defaults.cpuWeight,
    ioWeight: limits.ioWeight ?? defaults.ioWeight,
  };
}

/** Memory reserved for the host: its share and bounds. */
const RESERVE_SHARE = 1 / 8;
const RESERVE_MIN = 512 * MIB;
const RESERVE_MAX = 16 * GIB;
/** On a tiny host, the reserve is at most this share of its memory. */
const RESERVE_SHARE_MAX = 1 / 2;
/** Least useful memory of an agent; the default is not lower, even if its share would be. */
const AGENT_MEMORY_MIN = 512 * MIB;
/** Share of a lone agent; the rest is for shared servers and the next agent. */
const LONE_AGENT_SHARE = 3 / 4;
/** Tasks of all agents for each MiB of their memory; the kernel itself allows about eight. */
const TASKS_PER_MIB = 4;
const ALL_TASKS = [2_048, 262_144] as const;
const AGENT_TASKS = [1_024, 8_192] as const;
/** For comparison: the host's own services and logins have weight 100. */
const ALL_WEIGHT = 50;
const WEIGHT = 100;
/**
 * Gap between `memory_high` and `memory_max`, as a share of `memory_max`. Above `memory_high` the
 * kernel delays each allocation; the delay grows with the excess. With a gap of one sixty-fourth, a
 * user does not notice it.
 */
const THRESHOLD_GAP = 1 / 64;

/**
 * Returns the defaults of a host. Sizes are rounded down, and the number of agents is rounded up to
 * a power of four, so that a new kernel or one more agent does not change every limit.
 */
export function defaultLimits(host: {
  readonly memoryBytes: number;
  readonly agents: number;
}): HostLimits {
  const memory = roundDown(host.memoryBytes);
  const reserve = Math.min(
    Math.max(RESERVE_MIN, Math.min(memory * RESERVE_SHARE, RESERVE_MAX)),
    memory * RESERVE_SHARE_MAX,
  );
  const all = roundDown(memory - reserve);
  const tasks = clamp(Math.floor(all / MIB) * TASKS_PER_MIB, ALL_TASKS);
  const share = host.agents <= 1 ? LONE_AGENT_SHARE : 1 / 2 ** halvings(host.agents);
  const agent = Math.min(all, Math.max(AGENT_MEMORY_MIN, roundDown(all * share)));
  return {
    all: {
      memoryHighBytes: thresholdOf(all),
      memoryMaxBytes: all,
      tasksMax: tasks,
      cpuWeight: ALL_WEIGHT,
      ioWeight: ALL_WEIGHT,
    },
    agent: {
      memoryHighBytes: thresholdOf(agent),
      memoryMaxBytes: agent,
      tasksMax: clamp(Math.floor(tasks / 8), AGENT_TASKS),
      cpuWeight: WEIGHT,
      ioWeight: WEIGHT,
    },
  };
}

/**
 * Returns how often the memory is halved for the share of one agent. Four agents get a half each,
 * 16 a quarter, 64 an eighth, because they rarely all work at once.
 */
function halvings(agents: number): number {
  let step = 0;
  while (4 ** step < agents) step++;
  return step;
}

/** Rounds down to a multiple of 1/16 of the next lower power of two, and of at least 64 MiB. */
function roundDown(bytes: number): number {
  const power = 2 ** Math.floor(Math.log2(Math.max(bytes, 1)));
  const grain = Math.max(power / 16, 64 * MIB);
  return Math.floor(bytes / grain) * grain;
}

function thresholdOf(maxBytes: number): number {
  return Math.floor(maxBytes * (1 - THRESHOLD_GAP) / MIB) * MIB;
}

function clamp(value: number, [min, max]: readonly [number, number]): number {
  return Math.min(Math.max(value, min), max);
}
