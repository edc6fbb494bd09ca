/**
 * State of hosts beyond the stream's data, and operations on them: status, jobs, reports. A status
 * check is also a job on the host, so it runs once when the host connects, after a job, and on
 * request.
 *
 * @module
 */

import { computed, effect, signal } from "@preact/signals";
import { cleanLine } from "core/text/clean.ts";
import { agents, announcement, connection, dialog, now, sentHosts } from "gateway/web/app/model.ts";
import { Refused } from "gateway/web/device/cockpit.ts";
import { beginJob, fetchReports, fetchStatus } from "gateway/web/device/hosts.ts";
import {
  type Fleet,
  type HostJob,
  type HostStatus,
  type HostView,
  jobName,
  type JobReport,
  jobState,
  parseFleet,
  withForgotten,
} from "gateway/web/state/hosts.ts";

/** Result of a host's status check. */
export interface HostCheck {
  readonly isAsking: boolean;
  readonly at: number;
  readonly status: HostStatus | undefined;
  /** Why the check failed; empty when it succeeded. */
  readonly fault: string;
}

/** A job that waits for confirmation. */
export interface JobRequest {
  readonly job: "apply" | "restart";
  readonly hosts: readonly string[];
  readonly agent: string | undefined;
}

/** Limit of concurrent status checks, because each one starts a program on its host. */
const CHECKS_MAX = 4;

/** Status checks by host. */
export const checks = signal<ReadonlyMap<string, HostCheck>>(new Map());
/** Reports by the id of their job. */
export const reports = signal<ReadonlyMap<string, JobReport>>(new Map());
/** Why the last request about a host was refused, by host. */
export const requestFaults = signal<ReadonlyMap<string, string>>(new Map());
/** The job that the open dialog asks to confirm. */
export const jobRequest = signal<JobRequest | undefined>(undefined);

let before: Fleet | undefined;

/** The hosts, and jobs that the gateway has forgotten. */
export const fleet = computed<Fleet | undefined>(() => {
  const next = parseFleet(sentHosts.value);
  if (next === undefined) return before = undefined;
  return before = withForgotten(before, next, now.peek());
});

function setIn<Value>(map: ReadonlyMap<string, Value>, key: string, value: Value) {
  return new Map([...map, [key, value]]);
}

function faultOf(thrown: unknown, silence: string): string {
  if (!(thrown instanceof Refused)) return silence;
  return thrown.isSignedOut ? "You are signed out" : cleanLine(thrown.problem.detail);
}

const waiting = new Set<string>();
let open = 0;

/** Checks a host's status, now or after other checks. */
export function checkHost(host: string): void {
  if (checks.value.get(host)?.isAsking === true) return;
  waiting.add(host);
  const known = checks.value.get(host);
  const check = { at: 0, status: undefined, ...known, fault: "", isAsking: true };
  checks.value = setIn(checks.value, host, check);
  void checkNext();
}

async function checkNext(): Promise<void> {
  const [host] = waiting;
  if (host === undefined || open >= CHECKS_MAX) return;
  waiting.delete(host);
  open++;
  const known = checks.value.get(host)?.status;
  let check: HostCheck;
  try {
    const status = await fetchStatus(host);
    check = { isAsking: false, at: Date.now(), status, fault: "" };
  } catch (thrown) {
    const fault = faultOf(thrown, "The gateway did not answer");
    check = { isAsking: false, at: Date.now(), status: known, fault };
  }
  open--;
  now.value = Date.now();
  checks.value = setIn(checks.value, host, check);
  await checkNext();
}

/** Opens the dialog to confirm a job. */
export function openConfirm(wanted: JobRequest): void {
  jobRequest.value = wanted;
  dialog.value = "host";
}

/** Starts the confirmed job. */
export async function runConfirmed({ job, hosts, agent }: JobRequest): Promise<void> {
  await Promise.all(hosts.map(async (host) => {
    requestFaults.value = setIn(requestFaults.value, host, "");
    try {
      await beginJob(host, { job, agent });
    } catch (thrown) {
      const silence = "The gateway did not answer. The job may or may not have started";
      requestFaults.value = setIn(requestFaults.value, host, faultOf(thrown, silence));
    }
  }));
}

/** Connection time of each checked host, jobs seen running, and jobs with a fetched report. */
const seenSince = new Map<string, number | null>();
const running = new Set<string>();
const reported = new Set<string>();

/** Follows updates of hosts while they are shown. The returned function stops it. */
export function followHosts(): () => void {
  const stopFollowing = effect(() => {
    const known = fleet.value;
    if (known === undefined || connection.value.kind !== "online") return;
    for (const host of known.hosts) follow(host);
  });
  // Updates the displayed seconds of running jobs.
  const timer = setInterval(() => {
    const isRunning = fleet.value?.hosts.some(({ jobs }) => jobs.some(isOpen));
    if (isRunning === true) now.value = Date.now();
  }, 1_000);
  return () => {
    clearInterval(timer);
    stopFollowing();
  };
}

function isOpen({ ended }: HostJob): boolean {
  return ended === undefined;
}

function follow({ host, isOnline, since, jobs }: HostView): void {
  for (const job of jobs) {
    if (isOpen(job)) {
      running.add(job.id);
      continue;
    }
    if (running.delete(job.id)) {
      announcement.value = `${jobName(job)} on ${host}: ${jobState(job).words}`;
      seenSince.delete(host);
    }
    if (job.exit === undefined || reported.has(job.id)) continue;
    reported.add(job.id);
    void readReports(host);
  }
  if (!isOnline) return void seenSince.delete(host);
  // Do not check during a change: the result would be outdated at once.
  if (jobs.some(isOpen) || seenSince.get(host) === since) return;
  seenSince.set(host, since);
  queueMicrotask(() => checkHost(host));
}

async function readReports(host: string): Promise<void> {
  // The job contains its result; without the report there is nothing more to show.
  const found = await fetchReports(host).catch(() => new Map());
  reports.value = new Map([...reports.value, ...found]);
}

/** The given agents that are working now. */
export function workingAmong(names: readonly string[]): readonly string[] {
  return (agents.value ?? []).filter(({ agent, state }) =>
    state === "working" && names.includes(agent)
  )
    .map(({ agent }) => agent);
}
