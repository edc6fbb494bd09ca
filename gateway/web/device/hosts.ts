/**
 * Client of the cockpit's API for hosts. A refusal throws `Refused`, a lost connection throws the
 * original error.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { ask } from "gateway/web/device/cockpit.ts";
import { type HostStatus, parseJob, parseReport, parseStatus } from "gateway/web/state/hosts.ts";
import type { HostJob, JobReport } from "gateway/web/state/hosts.ts";
import { number, parseJson, record } from "gateway/web/state/wire.ts";

/** Timeout for a host's status. */
const STATUS_TIMEOUT_MS = 60_000;
const CALL_TIMEOUT_MS = 15_000;

/** Fetches a host's status. */
export async function fetchStatus(host: string): Promise<HostStatus> {
  const query = new URLSearchParams({ host });
  const given = await read(`/api/host/status?${query}`, {}, STATUS_TIMEOUT_MS);
  return parseStatus(given.report, number(given.exit));
}

/** Reports of a host's last jobs, by the id of the job. */
export async function fetchReports(host: string): Promise<ReadonlyMap<string, JobReport>> {
  const { jobs } = await read(`/api/host/jobs?${new URLSearchParams({ host })}`);
  const known = new Map<string, JobReport>();
  for (const one of Array.isArray(jobs) ? jobs : []) {
    const { id, exit } = parseJob(one);
    if (exit !== undefined) known.set(id, parseReport(record(one).report, exit));
  }
  return known;
}

/** Starts a job on a host; resolves when it has started. */
export async function beginJob(
  host: string,
  order: Pick<HostJob, "job" | "agent">,
): Promise<HostJob> {
  const { job, agent } = order;
  const body = JSON.stringify({ host, job, ...defined({ agent }) });
  const headers = { "content-type": "application/json" };
  return parseJob(await read("/api/host/jobs", { method: "POST", headers, body }));
}

async function read(
  path: string,
  init: RequestInit = {},
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await ask(path, { ...init, signal: AbortSignal.timeout(timeoutMs) });
  return record(parseJson(await response.text()));
}
