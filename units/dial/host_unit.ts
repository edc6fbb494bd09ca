/**
 * A host's own dial unit (`fleetctl-dial --host`). It keeps the host's session with the gateway and
 * runs the jobs that arrive there through the root daemon. The daemon knows this unit by its user
 * and allows it those verbs only. The unit has no outbox, no agent and no other rights
 * (docs/adr/0014-the-unit-of-a-host.md).
 *
 * @module
 */

import type { InboundFrame } from "units/dial/client_session.ts";
import { type HostJob, type HostJobResult, hostSession, jobArguments } from "core/dial/host_job.ts";
import type { DialKey } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { DIAL_LIMITS } from "core/limits/dial.ts";
import type { Host } from "core/ports/host.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream } from "core/ports/sockets.ts";
import { ok } from "core/result.ts";
import { connectDaemon, forward } from "core/verbs/daemon_client.ts";
import { type GatewayLink, startGatewayLink } from "units/dial/gateway_link.ts";
import type { Outbox } from "units/dial/gateway_session.ts";
import type { HostDialConfig } from "units/dial/host_config.ts";

/** Ports of the unit. */
export type HostUnitPorts = Pick<Host, "clock" | "random" | "sockets" | "log">;

/** The running unit. */
export interface HostUnit {
  isConnected(): boolean;
  /** Sends `bye` and closes; running verbs continue in the daemon. */
  close(): Promise<void>;
}

/** Starts connecting. */
export function startHostUnit(
  config: HostDialConfig,
  ports: HostUnitPorts,
  own: { readonly key: DialKey; readonly version: string },
): HostUnit {
  const { clock, random, sockets } = ports;
  const log = ports.log.with({ host: config.hostname });
  const link: GatewayLink = startGatewayLink({
    agent: hostSession(config.hostname),
    userEmail: "",
    host: config.hostname,
    ...own,
    gatewayUrl: config.gatewayUrl,
    capabilities: ["jobs"],
  }, {
    store: noOutbox(random.uuid()),
    sockets,
    clock,
    random,
    log,
    onFrame: (frame) => handleFrame(frame),
    onRegistered: () => {},
    onAcknowledged: () => {},
  });
  const handleFrame = (frame: InboundFrame) => {
    if (frame.type === "ack" || frame.type === "closing") return;
    if (frame.type !== "job") return log.warning("frame not accepted", { type: frame.type });
    const reportProgress = (text: string) =>
      link.send({ type: "job_progress", id: frame.id, text });
    runJob(frame, { socket: config.paths.daemonSocket, ports, log, reportProgress })
      .then((result) => link.send(result))
      .catch((thrown) => log.error("job failed", { id: frame.id, error: errorText(thrown) }));
  };
  return { isConnected: () => link.isRegistered(), close: () => link.close(0) };
}

/** Runs one job to its end; the result contains any failure. */
async function runJob(
  job: HostJob,
  deps: {
    readonly socket: string;
    readonly ports: HostUnitPorts;
    readonly log: Log;
    /** Reports the progress of the job in one line. */
    readonly reportProgress: (text: string) => void;
  },
): Promise<HostJobResult> {
  const { id, by, agent } = job;
  const { log, ports } = deps;
  const failed = (code: string, message: string): HostJobResult => {
    log.warning("job failed", { id, job: job.job, by, code });
    return { type: "job_result", id, code, message: message.slice(0, 2_000) };
  };
  const argv = jobArguments(job);
  if (argv === undefined) {
    return failed(
      "job-unknown",
      `Cannot run the job ${JSON.stringify(job.job)}: its type is unknown`,
    );
  }
  log.info("job begins", { id, job: job.job, agent, by });
  let stream: ByteStream | undefined;
  try {
    stream = await connectDaemon(ports.sockets, deps.socket);
  } catch (thrown) {
    return failed("daemon-not-running", `Cannot reach the daemon: ${errorText(thrown)}`);
  }
  if (stream === undefined) {
    return failed(
      "daemon-not-running",
      "Cannot reach the daemon: it does not answer on its socket",
    );
  }
  const open = stream;
  const cancel = ports.clock.after(DIAL_LIMITS.jobSeconds * 1000, () => open.close());
  let output = "";
  try {
    const code = await forward(open, { argv }, {
      out: async (text) => {
        output = (output + text).slice(0, DIAL_LIMITS.jobOutputLengthMax + 1);
      },
      err: async (text) => {
        const line = lastLine(text);
        if (line !== "") deps.reportProgress(line.slice(0, DIAL_LIMITS.jobProgressLengthMax));
      },
    });
    if (!code.ok) return failed(code.error.code, code.error.message);
    log.info("job ended", { id, job: job.job, exit: code.value });
    if (output.length > DIAL_LIMITS.jobOutputLengthMax) {
      return failed("job-output-too-long", "Cannot report the job: its output is too long");
    }
    return { type: "job_result", id, exit: code.value, output };
  } finally {
    cancel();
  }
}

/** Steps and notes of a verb are lines; the last one is the current progress. */
function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.trim() ?? "";
}

/** A host has no events that must survive: the gateway sends an interrupted job again. */
function noOutbox(epoch: string): Outbox {
  return {
    epoch: () => epoch,
    last: () => 0,
    dropped: () => 0,
    openTurns: () => [],
    read: () => [],
    acknowledge: () => {},
    renumber: () => ok(undefined),
  };
}
