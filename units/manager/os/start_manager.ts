/**
 * The embedded service manager of `fleetctl up`. It locks the root, ends what an earlier manager
 * left behind, reads the units, and serves the control socket until it is closed. ADR 0019 explains
 * why it exists.
 *
 * @module
 */

import { eachUnit } from "units/manager/each_unit.ts";
import process from "node:process";
import type { Clock } from "core/ports/clock.ts";
import type { Files, Lock } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { Sockets } from "core/ports/sockets.ts";
import { errorText, refusal } from "core/errors.ts";
import type { EmbeddedManager, Leftover, UnitEvent } from "units/manager/embedded.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { serveControl } from "units/manager/control/control_server.ts";
import { lockRoot } from "units/manager/root_lock.ts";
import { Supervisor } from "units/manager/os/supervisor.ts";
import { startSweep, SWEEP_MS } from "units/manager/os/sweep.ts";
import { UnitStore } from "units/manager/os/unit_store.ts";
import {
  type ChildRecords,
  openChildRecords,
  readChildRecords,
} from "units/manager/os/processes/child_records.ts";
import { type Kernel, openKernel } from "units/manager/os/processes/kernel.ts";
import { Lingering } from "units/manager/os/processes/lingering.ts";
import { type Earlier, endLeftovers } from "units/manager/os/processes/leftovers.ts";
import { readBootId } from "units/manager/os/processes/process_table.ts";
import type { Execution } from "units/manager/os/runs/execution.ts";

/** Options of the manager. */
export interface EmbeddedOptions {
  readonly paths: Paths;
  readonly files: Files;
  readonly clock: Clock;
  readonly random: Pick<Random, "uuid">;
  readonly sockets: Pick<Sockets, "serveUnix">;
  readonly log: Log;
  /** Variables for every service; a unit's own settings override them. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Called for every event of a unit, in order. Must not throw. */
  readonly onEvent?: (event: UnitEvent) => void;
  /** Interval of the memory and client checks; one second when absent. */
  readonly sweepMs?: number;
}

const PRIVATE = 0o700;
/** When the manager closes, processes that outlived their run have this long to end. */
const LINGER_MS = 10_000;

/** Starts the manager of a root; refuses with `already-running` or `leftovers-alive`. */
export async function startEmbeddedManager(
  options: EmbeddedOptions,
): Promise<Result<EmbeddedManager>> {
  const { paths, files } = options;
  await files.ensureDir(paths.run, { mode: 0o755 });
  await files.ensureDir(paths.managerState, { mode: PRIVATE });
  await files.ensureDir(paths.logs, { mode: PRIVATE });
  const lock = await lockRoot(paths, files, process.pid);
  if (!lock.ok) return lock;
  try {
    const manager = await startLocked(options, lock.value);
    if (!manager.ok) await lock.value.release();
    return manager;
  } catch (thrown) {
    await lock.value.release();
    throw thrown;
  }
}

async function startLocked(
  options: EmbeddedOptions,
  lock: Lock,
): Promise<Result<EmbeddedManager>> {
  const kernel = openKernel();
  try {
    const manager = await startWith(options, lock, kernel);
    if (!manager.ok) kernel.close();
    return manager;
  } catch (thrown) {
    kernel.close();
    throw thrown;
  }
}

async function startWith(
  options: EmbeddedOptions,
  lock: Lock,
  kernel: Kernel,
): Promise<Result<EmbeddedManager>> {
  const { paths, files, clock, log } = options;
  const onEvent = options.onEvent ?? (() => {});
  const recordsPath = `${paths.managerState}/children`;
  const boot = readBootId(kernel);
  const earlier: Earlier = {
    records: readChildRecords(recordsPath),
    boot,
    managerSocket: paths.managerSocket,
    ownPid: process.pid,
  };
  const cleaning = await endLeftovers(earlier, { kernel, clock });
  for (const { unit, pid } of cleaning.ended) onEvent({ kind: "leftover", unit, pid });
  if (cleaning.survivors.length > 0) return err(leftoversAlive(paths, cleaning.survivors));
  await files.remove(`${paths.managerState}/credentials`, { recursive: true });
  const records = openChildRecords(recordsPath, boot);
  const running = new Set<Execution>();
  const lingering = new Lingering(records);
  const store = new UnitStore(paths, files);
  const supervisor = new Supervisor({
    paths,
    files,
    clock,
    store,
    bindPath: `${paths.managerState}/listen`,
    execution: { kernel, clock, records, running, lingering },
    context: {
      paths,
      files,
      environment: options.environment ?? {},
      invocation: () => options.random.uuid().replaceAll("-", ""),
    },
    onEvent,
    onLogFault: (unit, thrown) => log.error("unit_log_failed", { unit, error: errorText(thrown) }),
  });
  const deps: ManagerDeps = {
    options,
    kernel,
    records,
    running,
    lingering,
    store,
    supervisor,
    earlier,
    lock,
  };
  const manager = createManager(deps, cleaning.ended);
  try {
    await manager.reload();
    await manager.open();
  } catch (thrown) {
    records.close();
    throw thrown;
  }
  return ok(manager);
}

interface ManagerDeps {
  readonly options: EmbeddedOptions;
  readonly kernel: Kernel;
  readonly records: ChildRecords;
  readonly running: ReadonlySet<Execution>;
  readonly lingering: Lingering;
  readonly store: UnitStore;
  readonly supervisor: Supervisor;
  readonly earlier: Earlier;
  readonly lock: Lock;
}

function createManager(
  deps: ManagerDeps,
  leftovers: readonly Leftover[],
): EmbeddedManager & { open(): Promise<void> } {
  const { options, store, supervisor, running, lingering, kernel } = deps;
  const killing = new AbortController();
  const { clock, paths } = options;
  killing.signal.addEventListener("abort", () => supervisor.killAll());
  let control: { close(): Promise<void> } | undefined;
  let endSweep = () => {};
  let closing: Promise<void> | undefined;
  const manager: EmbeddedManager & { open(): Promise<void> } = {
    name: "embedded",
    leftovers,
    async open() {
      const ownUid = process.getuid?.() ?? -1;
      const { sockets, log } = options;
      control = await serveControl({
        path: paths.managerSocket,
        ownUid,
        sockets,
        clock,
        log,
        manager,
      });
      endSweep = startSweep(running, lingering, {
        kernel,
        clock,
        everyMs: options.sweepMs ?? SWEEP_MS,
      });
    },
    isRunning: () => Promise.resolve(closing === undefined),
    async reload() {
      await store.reload();
      supervisor.adopt();
      for (const { unit, details } of store.faults()) {
        options.onEvent?.({ kind: "refused", unit, details });
      }
    },
    faults: () => store.faults(),
    relaxedKeys: () => store.relaxedKeys(),
    start: (unit) => supervisor.start(unit),
    stop: (unit) => supervisor.stop(unit),
    restart: (unit) => supervisor.restart(unit),
    enable: async (unit) => {
      // A newly written unit may be enabled before it is loaded, so load it here.
      if (store.find(unit) === undefined) await manager.reload();
      await store.enable(unit);
    },
    disable: (unit) => store.disable(unit),
    each: (verb, units) => eachUnit(units, (unit) => manager[verb](unit)),
    status: (units) => Promise.resolve(supervisor.status(units)),
    journal: async (unit, lines) => supervisor.journal(unit, lines),
    startEnabled: async () => await supervisor.startEach(await store.enabled()),
    kill: () => killing.abort(),
    close: () =>
      closing ??= closeManager(deps, killing, async () => {
        await control?.close();
        endSweep();
      }),
  };
  return manager;
}

async function closeManager(
  deps: ManagerDeps,
  killing: AbortController,
  endService: () => Promise<void>,
): Promise<void> {
  const { options, supervisor, lingering, records, lock, kernel, earlier } = deps;
  const { paths, files, clock, log } = options;
  // The first Ctrl-C starts the close; a second one means that the person does not want to wait.
  const killNow = () => killing.abort();
  process.on("SIGINT", killNow);
  try {
    await supervisor.stopAll();
    await lingering.end(LINGER_MS, killing.signal);
    await endService();
    // Processes that escaped from their unit still have this root's variable in their environment.
    const rest = await endLeftovers({ ...earlier, records: [] }, { kernel, clock });
    for (const { unit, pid } of rest.ended) log.warning("straggler_ended", { unit, pid });
    if (rest.survivors.length > 0) log.error("processes_left", { pids: rest.survivors });
  } finally {
    process.off("SIGINT", killNow);
    supervisor.closeLogs();
    records.close();
    kernel.close();
    await files.remove(`${paths.managerState}/pid`);
    await lock.release();
  }
}

function leftoversAlive(paths: Paths, pids: readonly number[]) {
  return refusal(
    "leftovers-alive",
    `Cannot start services under ${JSON.stringify(paths.root)}: ` +
      `processes ${pids.join(", ")} of an earlier run are still running, must end first`,
    { hints: [`kill -9 ${pids.join(" ")}`] },
  );
}
