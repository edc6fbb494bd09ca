/**
 * What a host's own dial unit does when the gateway asks: a closed list of jobs, each one verb of
 * the command line with fixed words (cross-host jobs and administration). The gateway names a job
 * and, where there is one, an agent; it never sends words of a command. No I/O.
 *
 * | Job | Verb | Changes the host |
 * |---|---|---|
 * | `status` | `status` | no |
 * | `apply` | `apply` | to what its own ledger says |
 * | `restart` | `agents restart <agent>` | one agent's unit |
 *
 * @module
 */

import { z } from "zod";
import { DIAL_LIMITS } from "core/limits/dial.ts";

/** Names of the jobs. */
export const HOST_JOBS = ["status", "apply", "restart"] as const;
/** One of `HOST_JOBS`. */
export type HostJobName = typeof HOST_JOBS[number];

/** What comes before a host's name where agents and hosts stand in one list. */
export const HOST_PREFIX = "host:";

/** A job as the gateway hands it to a host. */
export const hostJob = z.object({
  type: z.literal("job"),
  id: z.string().min(1).max(64),
  job: z.string().max(32),
  agent: z.string().max(64).optional(),
  /** Who asked at the gateway, for the log of the host. */
  by: z.string().max(254),
});
/** A job as the gateway hands it to a host. */
export type HostJob = z.infer<typeof hostJob>;

/** How a job ended. */
export const hostJobResult = z.object({
  type: z.literal("job_result"),
  id: z.string().min(1).max(64),
  /** Exit code of the verb; absent when it did not run. */
  exit: z.number().int().optional(),
  /** What the verb printed: one JSON document, or nothing. */
  output: z.string().max(DIAL_LIMITS.jobOutputLengthMax).optional(),
  code: z.string().max(64).optional(),
  message: z.string().max(2_000).optional(),
});
/** How a job ended. */
export type HostJobResult = z.infer<typeof hostJobResult>;

/** Where a job stands: a line for people, as often as there is something new. */
export const hostJobProgress = z.object({
  type: z.literal("job_progress"),
  id: z.string().min(1).max(64),
  text: z.string().max(DIAL_LIMITS.jobProgressLengthMax),
});

/** Returns the name under which a host's unit registers. */
export function hostSession(host: string): string {
  return `${HOST_PREFIX}${host}`;
}

/** Returns the hostname of a host's session; undefined for an agent's. */
export function hostOfSession(agent: string): string | undefined {
  return agent.startsWith(HOST_PREFIX) ? agent.slice(HOST_PREFIX.length) : undefined;
}

/** Returns the words of a job's verb; undefined for a job that this version does not know. */
export function jobWords(job: Pick<HostJob, "job" | "agent">): readonly string[] | undefined {
  switch (job.job) {
    case "status":
      return ["status", "--json"];
    case "apply":
      return ["apply", "--json", "--steps"];
    case "restart":
      // After "--" nothing is an option, whatever the gateway calls an agent.
      return job.agent === undefined ? undefined : ["agents", "restart", "--json", "--", job.agent];
    default:
      return undefined;
  }
}
