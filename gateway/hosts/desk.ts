/**
 * The hosts at this gateway: which own units are connected, and jobs for them. Stands before the
 * router of agents at the dial-in listener and takes what belongs to hosts, so that nothing a host
 * says can become an event of an agent, and no agent can answer a host's job.
 *
 * A job lives in memory: it waits for its answer, its host's end, or its time. All jobs bring a host
 * to a state or ask for one, so that who is not answered asks again.
 *
 * @module
 */

import {
  HOST_PREFIX,
  type HostJobName,
  type HostJobResult,
  hostOfSession,
  hostSession,
} from "core/dial/host_job.ts";
import type { KeyList } from "core/dial/key_list.ts";
import type { SessionRouter } from "core/dial/serve_session.ts";
import type { SessionRegistry } from "core/dial/sessions.ts";
import { refusal } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits.ts";
import type { Clock, Log, Random } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";

/** A host as the cockpit shows it. */
export interface HostCard {
  readonly host: string;
  readonly is_online: boolean;
  readonly version: string | null;
  /** Connected since, or seen last; milliseconds since the epoch, null when never. */
  readonly since: number | null;
}

/** How the verb of a job ended. */
export interface JobOutcome {
  readonly exit: number;
  /** The JSON document that it printed; null for one that printed none. */
  readonly report: unknown;
}

/** A job to be run. */
export interface JobOrder {
  readonly job: HostJobName;
  readonly agent?: string;
  /** Who asks, for the logs of both sides. */
  readonly by: string;
}

/** Looking at hosts and giving them jobs. */
export interface HostDesk {
  /** What the listener hands its sessions to. */
  readonly router: SessionRouter;
  /** Hosts with an enrolled key, and those connected, in order of their names. */
  list(): Promise<readonly HostCard[]>;
  run(host: string, order: JobOrder): Promise<Result<JobOutcome>>;
}

/** What the desk is made of. */
export interface HostDeskParts {
  readonly registry: SessionRegistry;
  readonly keys: Pick<KeyList, "agents">;
  /** Takes everything that is an agent's. */
  readonly agents: SessionRouter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface OpenJob {
  readonly host: string;
  end(outcome: Result<HostJobResult>): void;
}

/** Makes the desk. */
export function createHostDesk(parts: HostDeskParts): HostDesk {
  const { registry, clock, random, log, agents } = parts;
  const open = new Map<string, OpenJob>();
  const router: SessionRouter = {
    attach: (session, openTurns) => {
      if (hostOfSession(session.agent) === undefined) return agents.attach(session, openTurns);
      // Whoever waits for the older connection of this host is not answered by the newer one.
      endAll(session.agent);
      registry.put(session);
    },
    detach: (session, code) => {
      const host = hostOfSession(session.agent);
      if (host === undefined) return agents.detach(session, code);
      if (!registry.remove(session, code)) return;
      log.info("host disconnected", { host, code });
      endAll(session.agent);
    },
    receive: (session, frame) => {
      const host = hostOfSession(session.agent);
      if (host === undefined) return agents.receive(session, frame);
      if (frame.type === "bye") return;
      const job = frame.type === "job_result" ? open.get(frame.id) : undefined;
      // Late answers are of no use to anybody, and other frames are not a host's to send.
      if (frame.type !== "job_result" || job?.host !== host) {
        return log.warning("frame of a host not taken", { host, type: frame.type });
      }
      job.end(ok(frame));
    },
  };
  const endAll = (name: string) => {
    for (const job of [...open.values()]) {
      if (hostSession(job.host) === name) job.end(err(lost(job.host)));
    }
  };
  return {
    router,
    list: async () => {
      const listed = [...await parts.keys.agents()].filter((name) => name.startsWith(HOST_PREFIX));
      const online = registry.all().map(({ agent }) => agent).filter((name) =>
        name.startsWith(HOST_PREFIX)
      );
      return [...new Set([...listed, ...online])].sort().map((name): HostCard => {
        const session = registry.get(name);
        return {
          host: hostOfSession(name) ?? "",
          is_online: session !== undefined,
          version: session?.version ?? null,
          since: session?.since ?? registry.lastSeen(name)?.at ?? null,
        };
      });
    },
    run: async (host, order) => {
      const session = registry.get(hostSession(host));
      if (session === undefined) return err(offline(host));
      const waiting = [...open.values()].filter((job) => job.host === host).length;
      if (waiting >= DIAL_LIMITS.jobsPerHostMax) return err(busy(host));
      const id = random.uuid();
      const answer = Promise.withResolvers<Result<HostJobResult>>();
      const cancel = clock.after(
        DIAL_LIMITS.jobSeconds * 1000,
        () => answer.resolve(err(late(host))),
      );
      open.set(id, { host, end: answer.resolve });
      try {
        const { job, agent, by } = order;
        log.info("job of a host", { host, id, job, agent, by });
        const isSent = session.send({
          ...{ type: "job", id, job, by },
          ...(agent === undefined ? {} : { agent }),
        });
        if (!isSent) return err(lost(host));
        const ended = await answer.promise;
        const outcome = ended.ok ? outcomeOf(host, ended.value) : ended;
        log.info("job of a host ended", {
          host,
          id,
          result: outcome.ok ? "ok" : outcome.error.code,
        });
        return outcome;
      } finally {
        cancel();
        open.delete(id);
      }
    },
  };
}

function outcomeOf(host: string, result: HostJobResult): Result<JobOutcome> {
  const { exit, output = "", code, message } = result;
  if (exit === undefined) {
    return err(refusal(
      "host-job-failed",
      `Cannot run the job on host "${host}": ${message ?? "it gave no reason"}`,
      { details: code === undefined ? [] : [code] },
    ));
  }
  try {
    return ok({ exit, report: output === "" ? null : JSON.parse(output) as unknown });
  } catch {
    // The verb was ended while it printed: its exit code is all there is.
    return ok({ exit, report: null });
  }
}

function offline(host: string) {
  return refusal(
    "host-offline",
    `Cannot run the job on host "${host}": its own unit is not connected, must be`,
    { hints: [`on ${host}: fleetctl status`, `on ${host}: fleetctl logs role:host`] },
  );
}

function lost(host: string) {
  return refusal(
    "host-lost",
    `Cannot tell how the job on host "${host}" ended: its unit went away, the job goes on there`,
    { hints: [`on ${host}: fleetctl audit list --caller host`] },
  );
}

function late(host: string) {
  return refusal(
    "host-late",
    `Cannot tell how the job on host "${host}" ended: no answer within ` +
      `${DIAL_LIMITS.jobSeconds} s, the job goes on there`,
    { hints: [`on ${host}: fleetctl audit list --caller host`] },
  );
}

function busy(host: string) {
  return refusal(
    "host-busy",
    `Cannot run the job on host "${host}": ${DIAL_LIMITS.jobsPerHostMax} jobs wait for it, ` +
      "must be fewer",
  );
}
