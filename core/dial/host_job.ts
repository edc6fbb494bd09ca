/**
 * Jobs that a host's own dial unit runs for the gateway: a closed list, each one CLI verb with
 * fixed arguments. The gateway sends a job name and, for some jobs, an agent; it never sends a
 * command line. No I/O.
 *
 * | Job | Verb | Changes the host |
 * |---|---|---|
 * | `status` | `status` | no |
 * | `apply` | `apply` | to the state of its own ledger |
 * | `restart` | `agents restart <agent>` | one agent's unit |
 *
 * @module
 */

import * as z from "zod";
import { DIAL_LIMITS } from "core/limits/dial.ts";

/** Names of the jobs. */
export const HOST_JOBS = ["status", "apply", "restart"] as const;
/** One of `HOST_JOBS`. */
export type HostJobName = typeof HOST_JOBS[number];

/** Prefix of a host's name in lists that mix agents and hosts. */
export const HOST_PREFIX = "host:";

/** A job as the gateway sends it to a host. */
export const hostJob = z.object({
  type: z.literal("job"),
  id: z.string().min(1).max(64),
  job: z.string().max(32),
  agent: z.string().max(64).optional(),
  /** Who requested the job at the gateway, for the host's log. */
  by: z.string().max(254),
});
/** Parsed job. */
export type HostJob = z.infer<typeof hostJob>;

/** The result of a job. */
export const hostJobResult = z.object({
  type: z.literal("job_result"),
  id: z.string().min(1).max(64),
  /** Exit code of the verb; absent when it did not run. */
  exit: z.number().int().optional(),
  /** Output of the verb: one JSON document, or nothing. */
  output: z.string().max(DIAL_LIMITS.jobOutputLengthMax).optional(),
  code: z.string().max(64).optional(),
  message: z.string().max(2_000).optional(),
});
/** Parsed result. */
export type HostJobResult = z.infer<typeof hostJobResult>;

/** Progress of a job: one line for people, sent whenever it changes. */
export const hostJobProgress = z.object({
  type: z.literal("job_progress"),
  id: z.string().min(1).max(64),
  text: z.string().max(DIAL_LIMITS.jobProgressLengthMax),
});

/** Returns the session name under which a host's unit registers. */
export function hostSession(host: string): string {
  return `${HOST_PREFIX}${host}`;
}

/** Returns the hostname of a host's session; undefined for an agent's session. */
export function hostOfSession(agent: string): string | undefined {
  return agent.startsWith(HOST_PREFIX) ? agent.slice(HOST_PREFIX.length) : undefined;
}

/** Returns the arguments of a job's verb; undefined for a job that this version does not know. */
export function jobArguments(job: Pick<HostJob, "job" | "agent">): readonly string[] | undefined {
  switch (job.job) {
    case "status":
      return ["status", "--json"];
    case "apply":
      return ["apply", "--json", "--steps"];
    case "restart":
      // "--" ends the options, so an agent name from the gateway cannot become one.
      return job.agent === undefined ? undefined : ["agents", "restart", "--json", "--", job.agent];
    default:
      return undefined;
  }
}
