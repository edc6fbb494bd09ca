/**
 * A driver of a line protocol with a fake program behind it, and time in the hands of the test.
 *
 * @module
 */

import { pathsUnder } from "core/paths.ts";
import { createDriver } from "core/runtimes/create_driver.ts";
import type { RuntimeDriver } from "core/runtimes/driver.ts";
import type { PermissionDecider } from "core/runtimes/drivers/acp_permission.ts";
import { settle } from "tests/fakes/clock.ts";
import { memoryHost } from "tests/fakes/host.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";

export const HOME = "/home/ada";
export const SESSION_FILE = `${HOME}/.fleetctl/dial/session.json`;

/** A driver and the host below it. */
export interface DriverScene {
  readonly host: ReturnType<typeof memoryHost>;
  readonly driver: RuntimeDriver;
}

/** Creates the driver of `runtime-x`, whose program is a function. */
export function openDriver(
  protocol: "stream_json" | "rpc_jsonl",
  program: FakeProgram,
  options: {
    readonly files?: Readonly<Record<string, string>>;
    readonly decidePermission?: PermissionDecider;
  } = {},
): DriverScene {
  const { files, decidePermission } = options;
  const host = memoryHost({
    programs: { "/opt/runtime-x": program },
    ...(files === undefined ? {} : { files }),
  });
  const definition = {
    ...{ name: "runtime-x", summary: "", command: "/opt/runtime-x", args: ["-p"], protocol },
    clientConfig: { path: "{home}/x.json", shape: "runtime-a" as const },
    login: "none" as const,
  };
  const driver = createDriver(definition, host, {
    ...{ agent: "ada", home: HOME, paths: pathsUnder("/"), env: {} },
    stateDir: `${HOME}/.fleetctl/dial`,
    ...(decidePermission === undefined ? {} : { decidePermission }),
  });
  return { host, driver };
}

/** Lets promises run and the clock tick until `work` is done; the driver's time is the fake one. */
export async function withTime<T>(host: DriverScene["host"], work: Promise<T>): Promise<T> {
  let done = false;
  const finish = () => {
    done = true;
  };
  work.then(finish, finish);
  for (let turn = 0; turn < 200 && !done; turn++) {
    await settle();
    if (!done && turn > 20) await host.clock.advanceToNext();
  }
  return await work;
}
