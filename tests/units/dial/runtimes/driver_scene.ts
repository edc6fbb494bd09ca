/**
 * A driver with a fake program behind it, and a clock that the test controls.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { AskMode } from "core/ledger/agent.ts";
import { pathsUnder } from "core/paths.ts";
import { createDriver } from "units/dial/runtimes/create_driver.ts";
import type { RuntimeDefinition } from "core/runtimes/definition.ts";
import type { RuntimeNeeds } from "core/runtimes/needs.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import type { PermissionDecider } from "units/dial/runtimes/acp_permission.ts";
import type { QuestionAsker } from "units/dial/runtimes/question.ts";
import { settle } from "tests/fakes/clock.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";

/** Home of the agent, where its driver keeps the session. */
export const HOME = "/home/ada";
export const SESSION_FILE = `${HOME}/.fleetctl/dial/session.json`;

/** A driver and the host below it. */
export interface DriverScene {
  readonly host: MemoryHost;
  readonly driver: RuntimeDriver;
}

/** Settings of both. */
export interface SceneOptions {
  /** Path → text. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of a program that speaks lines. */
  readonly args?: readonly string[];
  /** Needs of a program that speaks lines. */
  readonly needs?: RuntimeNeeds;
  readonly decidePermission?: PermissionDecider;
  readonly askQuestion?: QuestionAsker;
  /** Mode in the agent's record. */
  readonly ask?: AskMode;
}

/** Creates the driver of a definition; `name` is the name under which its program is started. */
export function sceneOf(
  definition: RuntimeDefinition,
  [name, program]: readonly [name: string, program: FakeProgram],
  { files = {}, env = {}, decidePermission, askQuestion, ask }: SceneOptions,
): DriverScene {
  const host = memoryHost({ programs: { [name]: program }, files });
  const driver = createDriver(definition, host, {
    agent: "ada",
    home: HOME,
    paths: pathsUnder("/"),
    env,
    stateDir: `${HOME}/.fleetctl/dial`,
    ...defined({ decidePermission, askQuestion, ask }),
  });
  return { host, driver };
}

/** Advances promises and the fake clock, which the driver uses, until `work` is done. */
export async function withTime<T>(host: MemoryHost, work: Promise<T>): Promise<T> {
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
