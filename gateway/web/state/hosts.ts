/**
 * Hosts and their jobs as the page shows them: parsed from the gateway's data and described in
 * words. Data from a host with another version must not break the page. Pure.
 *
 * @module
 */

import { type AgentCard, number, record, text, texts } from "gateway/web/state/wire.ts";
import { formatAge, labelOf, type StateShape } from "gateway/web/state/agents.ts";

/** A job that changed a host, or is about to change it. */
export interface HostJob {
  readonly id: string;
  readonly job: string;
  readonly agent: string | undefined;
  readonly by: string;
  readonly begun: number;
  /** Undefined while it runs. */
  readonly ended: number | undefined;
  /** Progress text; empty when unknown. */
  readonly progress: string;
  readonly exit: number | undefined;
  /** Why there is no exit code. */
  readonly code: string;
  readonly message: string;
  readonly hints: readonly string[];
}

/** A host. */
export interface HostView {
  readonly host: string;
  readonly isOnline: boolean;
  readonly version: string;
  readonly since: number | null;
  readonly isRevoked: boolean;
  /** Newest first. */
  readonly jobs: readonly HostJob[];
}

/** The hosts of the fleet. */
export interface Fleet {
  readonly hosts: readonly HostView[];
  readonly isComplete: boolean;
  /** Version of the gateway. */
  readonly version: string;
  readonly gateway: string;
}

/** A fault on a host, and the command that fixes it. */
export interface Fault {
  readonly message: string;
  readonly lines: readonly string[];
  readonly hints: readonly string[];
}

/** A unit of the host itself. */
export interface UnitLine {
  readonly role: string;
  readonly state: string;
  readonly reason: string;
}

/** An agent of a host. */
export interface HostAgent {
  readonly name: string;
  readonly state: string;
  readonly reason: string;
}

/** Output of `fleetctl status` on a host. */
export interface HostStatus {
  readonly faults: readonly Fault[];
  readonly units: readonly UnitLine[];
  readonly agents: readonly HostAgent[];
}

/** Report of a verb that changed a host. */
export interface JobReport {
  /** Such as `2 files changed`; empty for a verb that counts nothing. */
  readonly changes: readonly string[];
  readonly faults: readonly Fault[];
  readonly notes: readonly string[];
}

const list = (value: unknown): readonly unknown[] => Array.isArray(value) ? value : [];
const optional = (value: unknown) => typeof value === "number" ? value : undefined;

/** Parses the gateway's data; undefined before any arrived. */
export function parseFleet(
  answer: Readonly<Record<string, unknown>> | undefined,
): Fleet | undefined {
  if (answer === undefined) return undefined;
  return {
    hosts: list(answer.hosts).map(parseHost).filter(({ host }) => host !== "")
      .sort((a, b) => a.host < b.host ? -1 : 1),
    isComplete: answer.is_complete !== false,
    version: text(answer.version),
    gateway: text(answer.gateway),
  };
}

/** A parsed host keeps its object identity, so that an unchanged one is not rendered again. */
const known = new WeakMap<object, HostView>();

function parseHost(value: unknown): HostView {
  const given = record(value);
  const before = known.get(given);
  if (before !== undefined) return before;
  const host: HostView = {
    host: text(given.host),
    isOnline: given.is_online === true,
    version: text(given.version),
    since: optional(given.since) ?? null,
    isRevoked: given.is_revoked === true,
    jobs: list(given.jobs).map(parseJob),
  };
  known.set(given, host);
  return host;
}

/** Parses a job. */
export function parseJob(value: unknown): HostJob {
  const given = record(value);
  return {
    id: text(given.id),
    job: text(given.job),
    by: text(given.by),
    begun: number(given.begun),
    agent: typeof given.agent === "string" ? given.agent : undefined,
    ended: optional(given.ended),
    exit: optional(given.exit),
    progress: text(given.progress),
    code: text(given.code),
    message: text(given.message),
    hints: texts(given.hints),
  };
}

/**
 * Keeps jobs that were running in the last update and that the gateway no longer knows. It was
 * restarted, and their result is unknown. They must not disappear silently.
 */
export function withForgotten(before: Fleet | undefined, next: Fleet, now: number): Fleet {
  if (before === undefined) return next;
  const old = new Map(before.hosts.map((one) => [one.host, one.jobs]));
  return {
    ...next,
    hosts: next.hosts.map((host) => {
      const lost = (old.get(host.host) ?? []).filter((job) =>
        (job.ended === undefined || job.code === FORGOTTEN) &&
        host.jobs.every(({ id, begun }) => id !== job.id && begun <= job.begun)
      );
      if (lost.length === 0) return host;
      return {
        ...host,
        jobs: [...lost.map((job) => forgotten(host.host, job, now)), ...host.jobs],
      };
    }),
  };
}

const FORGOTTEN = "forgotten";

function forgotten(host: string, job: HostJob, now: number): HostJob {
  return {
    ...job,
    ended: job.ended ?? now,
    code: FORGOTTEN,
    message: "The gateway restarted meanwhile, so the result is unknown",
    hints: [`ssh ${host} fleetctl audit list --caller host`],
  };
}

/** Parses the document of `fleetctl status --json`, or the error instead of it. */
export function parseStatus(document: unknown, exit: number): HostStatus {
  const given = record(document);
  const faults = [...list(given.problems), ...errorOf(given)].map(parseFault);
  return {
    faults: faults.length > 0 || exit === 0 ? faults : [silent(exit)],
    units: list(given.roles).map((value) => {
      const { role, state, reason } = record(value);
      return { role: text(role), state: text(state), reason: text(reason) };
    }),
    agents: list(given.agents).map((value) => {
      const { name, state, reason } = record(value);
      return { name: text(name), state: text(state), reason: text(reason) };
    }),
  };
}

/** Parses the document of a verb that changed the host, or the error instead of it. */
export function parseReport(document: unknown, exit: number): JobReport {
  const given = record(document);
  const faults = [...list(given.faults), ...errorOf(given)].map(parseFault);
  const files = list(given.files).filter((one) => record(one).change !== "unchanged").length;
  const units = new Map<string, number>();
  for (const one of list(given.units)) {
    const change = text(record(one).change, "changed");
    units.set(change, (units.get(change) ?? 0) + 1);
  }
  const changes = [
    ...texts(given.vendored).map((mcp) => `vendored ${mcp}`),
    ...(files === 0 ? [] : [`${count(files, "file")} changed`]),
    ...[...units].map(([change, of]) => `${count(of, "unit")} ${change}`),
  ];
  const isPlan = Array.isArray(given.files);
  return {
    changes: changes.length === 0 && isPlan && exit === 0 ? ["no changes needed"] : changes,
    faults: faults.length > 0 || exit === 0 ? faults : [silent(exit)],
    notes: [
      ...texts(given.warnings),
      ...texts(given.restart_pending).map((agent) =>
        `${agent} runs with its old configuration until it restarts`
      ),
    ],
  };
}

function errorOf(given: Readonly<Record<string, unknown>>): readonly unknown[] {
  return given.error === undefined ? [] : [given.error];
}

function parseFault(value: unknown): Fault {
  const given = record(value);
  return { message: text(given.message), lines: texts(given.details), hints: texts(given.hints) };
}

function silent(exit: number): Fault {
  return {
    message: `The command ended with exit code ${exit} and no message`,
    lines: [],
    hints: [],
  };
}

/** Formats a count with its noun. */
export function count(of: number, what: string): string {
  return `${of} ${what}${of === 1 ? "" : "s"}`;
}

/** Label of a job. */
export function jobName({ job, agent }: Pick<HostJob, "job" | "agent">): string {
  return agent === undefined ? job : `${job} of ${agent}`;
}

/** State of a job: its text, and whether it is good, bad, or open. */
export function jobState(job: HostJob): { readonly words: string; readonly tone: JobTone } {
  if (job.ended === undefined) return { words: "runs", tone: "running" };
  if (job.exit === 0) return { words: "done", tone: "good" };
  if (job.exit !== undefined) return { words: `failed, exit code ${job.exit}`, tone: "bad" };
  // Without an answer the result is unknown; this code reports that the job did not run.
  return job.code === "host-job-failed"
    ? { words: "not run", tone: "bad" }
    : { words: "result unknown", tone: "open" };
}

/** Colour of a job's state; the text always says the same. */
export type JobTone = "running" | "good" | "bad" | "open";

/** Formats a running time, such as `1 min 5 s`. */
export function formatRun(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** Describes whether a host is connected. */
export function presenceWords({ isOnline, since, isRevoked }: HostView, now: number): string {
  const age = formatAge(since, now);
  if (isOnline) return age === "now" ? "connected just now" : `connected for ${age}`;
  const seen = since === null
    ? "not seen since the gateway started"
    : `last seen ${age === "now" ? "just now" : `${age} ago`}`;
  return isRevoked ? `blocked: its keys are revoked; ${seen}` : `not connected, ${seen}`;
}

/** The agents of a host: those named by its status, and those connected from it. */
export function agentsOf(
  host: string,
  status: HostStatus | undefined,
  cards: readonly AgentCard[],
): readonly HostAgent[] {
  const known = new Map((status?.agents ?? []).map((agent) => [agent.name, agent]));
  for (const card of cards) {
    const isHere = card.host?.toLowerCase() === host;
    // The agent's own report is newer than its host's last status.
    if (isHere || (known.has(card.agent) && card.isOnline)) {
      known.set(card.agent, { name: card.agent, state: card.state, reason: card.reason ?? "" });
    }
  }
  return [...known.values()].sort((a, b) => a.name < b.name ? -1 : 1);
}

/** Describes how many agents there are and how many need attention. */
export function agentsWords(agents: readonly HostAgent[]): string {
  const bad = agents.filter(({ state }) => labelOf(state).group === "attention").length;
  const all = agents.length === 0 ? "no agents" : count(agents.length, "agent");
  return bad === 0 ? all : `${all}, ${bad} of them ${bad === 1 ? "needs" : "need"} attention`;
}

/** Shape of a host's icon. */
export function hostShape(host: HostView, faults: number): StateShape {
  if (!host.isOnline) return host.isRevoked ? "square" : "gap";
  return faults > 0 ? "cross" : "ring";
}

/** Commands for adding a host: on the new host, and at the gateway. */
export function addCommands(gateway: string): { readonly there: string; readonly here: string } {
  return {
    there: [
      `fleetctl host set webview_gateway ${gateway === "" ? "GATEWAY" : gateway}`,
      "fleetctl apply",
      "fleetctl host key list",
    ].join("\n"),
    here: "fleetctl host key enroll HOST KEY",
  };
}
