/**
 * The registry of hosts at this gateway: connected host units, and jobs for them. It precedes the
 * agents' router at the dial-in listener and handles all traffic of hosts. So a host cannot create
 * an agent's event, and an agent cannot answer a host's job.
 *
 * A job lives in memory. It waits for its answer, the end of the host's connection, or its
 * timeout. All jobs are idempotent or queries, so a caller without an answer can send the job
 * again. The job store keeps the last results for callers that have left.
 *
 * @module
 */

import { defined } from "core/defined.ts";
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
import { errorText, refusal } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  cardOf,
  type JobCard,
  type JobEntry,
  type JobOutcome,
  openJobStore,
} from "gateway/hosts/job_store.ts";
import type { Hub } from "gateway/transcript/hub.ts";

/** A host as the cockpit shows it. */
export interface HostCard {
  readonly host: string;
  readonly is_online: boolean;
  readonly version: string | null;
  /** Time of connecting, or last seen; milliseconds since the epoch, null when never. */
  readonly since: number | null;
  /** All its keys were revoked: it cannot connect until an operator enrolls one. */
  readonly is_revoked: boolean;
  /** Jobs that change the host, newest first. */
  readonly jobs: readonly JobCard[];
}

/** The hosts of the fleet. */
export interface HostList {
  readonly hosts: readonly HostCard[];
  /** False when the list of keys cannot be read: then only connected hosts are listed. */
  readonly is_complete: boolean;
}

/** A job to run. */
export interface JobOrder {
  readonly job: HostJobName;
  readonly agent?: string;
  /** The requester, for the logs of both sides. */
  readonly by: string;
}

/** Lists hosts and runs jobs on them. */
export interface HostRegistry {
  /** The router that the listener passes its sessions to. */
  readonly router: SessionRouter;
  /** Hosts named in the list of keys and connected hosts, sorted by name. */
  list(): Promise<HostList>;
  /** Sends a host a job and waits for its result. */
  run(host: string, order: JobOrder): Promise<Result<JobOutcome>>;
  /**
   * Starts a job that changes the host; the job store gets its result. Refuses when the host is
   * not connected or busy, or when the same job is running.
   */
  begin(host: string, order: JobOrder): Result<JobCard>;
  /** Jobs of a host with the output of their verbs, newest first. */
  jobs(host: string): readonly JobEntry[];
}

/** Dependencies of the registry. */
export interface HostRegistryDeps {
  readonly registry: SessionRegistry;
  readonly keys: Pick<KeyList, "agents" | "listed">;
  readonly hub: Pick<Hub, "publish">;
  /** Handles all traffic of agents. */
  readonly agents: SessionRouter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

interface OpenJob {
  readonly host: string;
  end(outcome: Result<HostJobResult>): void;
}

/** Creates the registry of hosts. */
export function createHostRegistry(deps: HostRegistryDeps): HostRegistry {
  return new ConnectedHosts(deps);
}

class ConnectedHosts implements HostRegistry {
  readonly #deps: HostRegistryDeps;
  readonly #open = new Map<string, OpenJob>();
  readonly #jobs;

  constructor(deps: HostRegistryDeps) {
    this.#deps = deps;
    this.#jobs = openJobStore(deps.clock, (host) => this.#publish(host));
  }

  readonly router: SessionRouter = {
    attach: (session, openTurns) => {
      const { agents, registry } = this.#deps;
      const host = hostOfSession(session.agent);
      if (host === undefined) return agents.attach(session, openTurns);
      // The newer connection does not answer jobs of the older one, so end those now.
      this.#endAll(host);
      registry.put(session);
      this.#publish(host);
    },
    detach: (session, code) => {
      const { agents, registry, log } = this.#deps;
      const host = hostOfSession(session.agent);
      if (host === undefined) return agents.detach(session, code);
      if (!registry.remove(session, code)) return;
      log.info("host disconnected", { host, code });
      this.#endAll(host);
      this.#publish(host);
    },
    receive: (session, frame) => {
      const { agents, log } = this.#deps;
      const host = hostOfSession(session.agent);
      if (host === undefined) return agents.receive(session, frame);
      if (frame.type === "bye") return;
      const isOfJob = frame.type === "job_result" || frame.type === "job_progress";
      const job = isOfJob ? this.#open.get(frame.id) : undefined;
      // Drop late answers, and frames that a host may not send.
      if (!isOfJob || job?.host !== host) {
        return log.warning("frame of a host dropped", { host, type: frame.type });
      }
      if (frame.type === "job_progress") return this.#jobs.note(frame.id, frame.text);
      job.end(ok(frame));
    },
  };

  async list(): Promise<HostList> {
    const { registry, keys, log } = this.#deps;
    let listed: readonly string[] = [];
    let isComplete = true;
    try {
      listed = [...await keys.agents()];
    } catch (thrown) {
      log.warning("list of keys not readable", { error: errorText(thrown) });
      isComplete = false;
    }
    const online = registry.all().map(({ agent }) => agent);
    const names = [...new Set([...listed, ...online])].filter((one) => one.startsWith(HOST_PREFIX));
    const hosts = await Promise.all(
      names.sort().map(async (name): Promise<HostCard> => {
        const session = registry.get(name);
        const host = hostOfSession(name) ?? "";
        const own = isComplete ? await keys.listed(name).catch(() => undefined) : undefined;
        return {
          host,
          is_online: session !== undefined,
          version: session?.version ?? null,
          since: session?.since ?? registry.lastSeen(name)?.at ?? null,
          is_revoked: own?.length === 0,
          jobs: this.#jobs.of(host).map(cardOf),
        };
      }),
    );
    return { hosts, is_complete: isComplete };
  }

  jobs(host: string): readonly JobEntry[] {
    return this.#jobs.of(host);
  }

  async run(host: string, order: JobOrder): Promise<Result<JobOutcome>> {
    const isFree = this.#isFree(host);
    if (!isFree.ok) return isFree;
    const id = this.#deps.random.uuid();
    // A query changes nothing; only its requester gets the answer.
    if (order.job !== "status") this.#note(id, host, order);
    return await this.#send(id, host, order);
  }

  begin(host: string, order: JobOrder): Result<JobCard> {
    const isFree = this.#isFree(host);
    if (!isFree.ok) return isFree;
    const same = this.#jobs.of(host).find(({ ended, job, agent }) =>
      ended === null && job === order.job && agent === (order.agent ?? null)
    );
    if (same !== undefined) return err(running(host, same));
    const id = this.#deps.random.uuid();
    const card = this.#note(id, host, order);
    void this.#send(id, host, order);
    return ok(card);
  }

  #note(id: string, host: string, { job, agent, by }: JobOrder): JobCard {
    return this.#jobs.begin({ id, host, job, agent: agent ?? null, by });
  }

  #isFree(host: string): Result<void> {
    if (this.#deps.registry.get(hostSession(host)) === undefined) return err(offline(host));
    const waiting = [...this.#open.values()].filter((job) => job.host === host).length;
    return waiting >= DIAL_LIMITS.jobsPerHostMax ? err(busy(host)) : ok(undefined);
  }

  async #send(id: string, host: string, order: JobOrder): Promise<Result<JobOutcome>> {
    const { registry, clock, log } = this.#deps;
    const { job, agent, by } = order;
    const answer = Promise.withResolvers<Result<HostJobResult>>();
    const limitMs = DIAL_LIMITS.jobSeconds * 1000;
    const cancel = clock.after(limitMs, () => answer.resolve(err(late(host))));
    this.#open.set(id, { host, end: answer.resolve });
    log.info("job of a host", { host, id, job, agent, by });
    const isSent = registry.get(hostSession(host))?.send({
      type: "job",
      id,
      job,
      by,
      ...defined({ agent }),
    });
    if (isSent !== true) answer.resolve(err(lost(host)));
    const ended = await answer.promise;
    cancel();
    this.#open.delete(id);
    const outcome = ended.ok ? outcomeOf(host, ended.value) : ended;
    log.info("job of a host ended", { host, id, result: outcome.ok ? "ok" : outcome.error.code });
    this.#jobs.end(id, outcome);
    return outcome;
  }

  #endAll(host: string): void {
    for (const job of [...this.#open.values()]) {
      if (job.host === host) job.end(err(lost(host)));
    }
  }

  #publish(host: string): void {
    this.#deps.hub.publish([{ kind: "host", host }]);
  }
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
    // The verb was killed while printing: only the exit code is usable.
    return ok({ exit, report: null });
  }
}

function offline(host: string) {
  return refusal(
    "host-offline",
    `Cannot run the job on host "${host}": it is not connected`,
    { hints: [`ssh ${host} fleetctl status`, `ssh ${host} fleetctl logs role:host`] },
  );
}

function lost(host: string) {
  return refusal(
    "host-lost",
    `Cannot report the result of the job on host "${host}": it disconnected; the job may still ` +
      "be running there",
    { hints: [`ssh ${host} fleetctl audit list --caller host`] },
  );
}

function late(host: string) {
  return refusal(
    "host-late",
    `Cannot report the result of the job on host "${host}": no answer within ` +
      `${DIAL_LIMITS.jobSeconds} s; the job may still be running there`,
    { hints: [`ssh ${host} fleetctl audit list --caller host`] },
  );
}

function running(host: string, { job, agent, by }: JobCard) {
  const what = agent === null ? job : `${job} of agent "${agent}"`;
  return refusal(
    "host-job-running",
    `Cannot run the job on host "${host}": ${what} is already running there, requested by ${by}`,
  );
}

function busy(host: string) {
  return refusal(
    "host-busy",
    `Cannot run the job on host "${host}": ${DIAL_LIMITS.jobsPerHostMax} jobs are waiting for ` +
      "it, must be fewer",
  );
}
