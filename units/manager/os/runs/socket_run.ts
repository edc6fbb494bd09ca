/**
 * Runs one socket unit. For each connection it starts an instance of the service template of the
 * same name, with the connection as stdin and stdout (systemd.socket(5) `Accept=yes`). As in
 * systemd, an instance is named `<n>-<peer pid>-<peer uid>`. When the client disconnects, the
 * instance reads the end of its input, and is killed after `TimeoutStopSec` if it has not ended.
 * When the instance ends, the client sees its connection close.
 *
 * @module
 */

import type { Socket } from "node:net";
import { errorText } from "core/errors.ts";
import { ServiceFault } from "units/manager/service_manager.ts";
import type { UnitEvent } from "units/manager/embedded.ts";
import type { AttemptDeps } from "units/manager/os/runs/attempt.ts";
import { type Execution, startExecution } from "units/manager/os/runs/execution.ts";
import { listenAt, type Listening } from "units/manager/os/runs/listening.ts";
import type { ServiceSpec } from "units/manager/units/service_spec.ts";
import type { SocketSpec } from "units/manager/units/socket_spec.ts";
import {
  prepareExecutionContext,
  removeExecutionContext,
} from "units/manager/os/runs/execution_context.ts";
import { splitUnitName, type UnitBase } from "units/manager/units/unit_spec.ts";
import { excerptSince, type UnitLog } from "units/manager/os/runs/unit_log.ts";
import { describeExit, failureOf, type RunEnd } from "units/manager/verdict.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** Dependencies of a socket. */
export interface SocketDeps extends AttemptDeps {
  readonly bindPath: string;
  readonly onEvent: (event: UnitEvent) => void;
  /** Reads the template under the name of an instance; throws its faults. */
  readonly instanceSpec: (unit: string) => UnitBase & ServiceSpec;
  /** The log that the instances of a template share. */
  readonly logOf: (unit: string) => UnitLog;
}

/** One connection, from its accept until every process of its server is gone. */
interface Connection {
  readonly unit: string;
  readonly since: number;
  readonly done: Promise<void>;
  execution: Execution | undefined;
  isKilled: boolean;
  isStopped: boolean;
}

/** Returns the template whose instances serve connections of a socket. */
function templateOf(socketUnit: string): string {
  return `${socketUnit.slice(0, -".socket".length)}@.service`;
}

/** One socket. */
export class SocketRun {
  readonly unit: string;
  /** Replaced by a reload; takes effect at the next start. */
  spec: UnitBase & SocketSpec;
  readonly #deps: SocketDeps;
  readonly #connections = new Map<string, Connection>();
  #listening: Listening | undefined;
  #job: Promise<void> = Promise.resolve();
  #active: UnitStatus["active"] = "inactive";
  #since: number | undefined;
  #reason: string | undefined;
  #accepted = 0;

  constructor(spec: UnitBase & SocketSpec, deps: SocketDeps) {
    this.unit = spec.unit;
    this.spec = spec;
    this.#deps = deps;
  }

  status(): UnitStatus {
    return {
      unit: this.unit,
      load: "loaded",
      active: this.#active,
      mainPid: undefined,
      since: this.#since,
      reason: this.#reason,
      restarts: 0,
    };
  }

  /** Returns the status of each instance that serves a connection. */
  instances(): readonly UnitStatus[] {
    return [...this.#connections.values()].map((connection) => ({
      unit: connection.unit,
      load: "loaded",
      active: connection.isStopped || connection.isKilled ? "deactivating" : "active",
      mainPid: connection.execution?.pid,
      since: connection.since,
      reason: undefined,
      restarts: 0,
    }));
  }

  /** Resolves when clients can connect. */
  start(): Promise<void> {
    return this.#next(async () => {
      if (this.#listening !== undefined) return;
      this.#deps.onEvent({ kind: "starting", unit: this.unit });
      const { path, mode, directoryMode, backlog } = this.spec;
      try {
        this.#deps.instanceSpec(`${templateOf(this.unit).slice(0, -".service".length)}0.service`);
        this.#listening = await listenAt({
          path,
          mode,
          directoryMode,
          backlog,
          bindPath: this.#deps.bindPath,
          onConnection: (socket) => this.#accept(socket),
        });
      } catch (thrown) {
        this.#set("failed", errorText(thrown));
        this.#deps.onEvent({ kind: "failed", unit: this.unit, reason: errorText(thrown) });
        throw new ServiceFault(
          this.unit,
          `Cannot start unit ${JSON.stringify(this.unit)}: ${errorText(thrown)}`,
        );
      }
      this.#set("active", undefined);
      this.#deps.onEvent({ kind: "ready", unit: this.unit });
    });
  }

  /** Resolves when the socket accepts no connections and every instance is gone. */
  stop(): Promise<void> {
    return this.#next(async () => {
      const listening = this.#listening;
      this.#listening = undefined;
      if (listening !== undefined) this.#set("deactivating", undefined);
      for (const connection of this.#connections.values()) {
        connection.isStopped = true;
        connection.execution?.stop();
      }
      await listening?.close();
      await Promise.all([...this.#connections.values()].map((connection) => connection.done));
      if (listening === undefined) return;
      this.#set("inactive", undefined);
      this.#deps.onEvent({ kind: "stopped", unit: this.unit });
    });
  }

  /** Kills every instance now; the socket remains until `stop`. */
  kill(): void {
    for (const connection of this.#connections.values()) {
      connection.isKilled = true;
      connection.execution?.kill();
    }
  }

  #accept(socket: Socket): void {
    if (this.#listening === undefined || this.#connections.size >= this.spec.connectionsMax) {
      // As in systemd: the connection is closed immediately, and no instance is started for it.
      socket.destroy();
      if (this.#listening === undefined) return;
      this.#log().append([`${this.unit}: closed a connection: MaxConnections= is reached`]);
      return;
    }
    const unit = this.#nameInstance(socket);
    const connection: Connection = {
      unit,
      since: this.#deps.clock.now(),
      done: Promise.resolve().then(() => this.#serve(connection, socket)),
      execution: undefined,
      isKilled: false,
      isStopped: false,
    };
    this.#connections.set(unit, connection);
  }

  #nameInstance(socket: Socket): string {
    let peer = "unknown";
    try {
      const { pid, uid } = this.#deps.execution.kernel.readPeer(socket);
      peer = `${pid}-${uid}`;
    } catch {
      // The peer is already gone; its server will read the end of its input.
    }
    return `${splitUnitName(this.unit).prefix}@${this.#accepted++}-${peer}.service`;
  }

  async #serve(connection: Connection, socket: Socket): Promise<void> {
    const { unit } = connection;
    const logStart = this.#log().appended();
    const end = await this.#run(connection, socket);
    socket.destroy();
    this.#connections.delete(unit);
    const failure = end.spec === undefined ? end.detail : failureOf(end.spec.restart, end);
    const wasRequested = connection.isStopped || connection.isKilled;
    if (failure === undefined || wasRequested) {
      const reason = describeExit(end.exit);
      this.#deps.onEvent({ kind: wasRequested ? "stopped" : "exited", unit, reason });
      return;
    }
    this.#log().append([`${unit}: ${failure}`]);
    const journal = excerptSince(this.#log(), logStart);
    this.#deps.onEvent({ kind: "failed", unit, reason: failure, journal });
  }

  /** Runs the server of one connection; never rejects. */
  async #run(
    connection: Connection,
    socket: Socket,
  ): Promise<RunEnd & { readonly spec: ServiceSpec | undefined }> {
    const { unit } = connection;
    let spec: (UnitBase & ServiceSpec) | undefined;
    try {
      spec = this.#deps.instanceSpec(unit);
      const context = await prepareExecutionContext(unit, spec, this.#deps.context);
      if (connection.isStopped || connection.isKilled) return { ...NOT_RUN, spec };
      const execution = await startExecution({
        unit,
        line: spec.exec,
        spec,
        context,
        log: this.#log(),
        connection: socket,
        linePrefix: `[${splitUnitName(unit).instance ?? ""}] `,
      }, this.#deps.execution);
      connection.execution = execution;
      const { pid } = execution;
      this.#deps.onEvent({ kind: "ready", unit, pid });
      if (connection.isKilled) execution.kill();
      else if (connection.isStopped) execution.stop();
      const cancel = this.#limitRuntime(execution, spec.runtimeMaxMs);
      const end = await execution.finished;
      cancel();
      return { ...end, spec };
    } catch (thrown) {
      return { exit: undefined, cause: "resources", detail: errorText(thrown), spec };
    } finally {
      if (spec !== undefined) await this.#clean(unit, spec);
    }
  }

  #limitRuntime(execution: Execution, ms: number): () => void {
    if (ms === Infinity) return () => {};
    const reason = `of ${ms / 1000} s`;
    return this.#deps.clock.after(ms, () => execution.stop("runtime-limit", reason));
  }

  async #clean(unit: string, spec: ServiceSpec): Promise<void> {
    try {
      await removeExecutionContext(unit, spec, this.#deps.context);
    } catch (thrown) {
      this.#log().append([`Cannot remove the credentials of ${unit}: ${errorText(thrown)}`]);
    }
  }

  #log(): UnitLog {
    return this.#deps.logOf(templateOf(this.unit));
  }

  #set(active: UnitStatus["active"], reason: string | undefined): void {
    if (active !== this.#active) this.#since = this.#deps.clock.now();
    this.#active = active;
    this.#reason = reason;
  }

  /** Runs starts and stops one after another. */
  #next(work: () => Promise<void>): Promise<void> {
    const next = this.#job.then(work);
    this.#job = next.catch(() => {});
    return next;
  }
}

const NOT_RUN: RunEnd = {
  exit: { code: 0, signal: undefined },
  cause: undefined,
  detail: "",
};
