/**
 * A driver of a line protocol with a fake program behind it.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { FakeProgram } from "tests/fakes/processes.ts";
import {
  type DriverScene,
  sceneOf,
  type SceneOptions,
} from "tests/units/dial/runtimes/driver_scene.ts";

/** Creates the driver of `runtime-x`, whose program is a function. */
export function openDriver(
  protocol: "stream_json" | "rpc_jsonl",
  program: FakeProgram,
  options: SceneOptions = {},
): DriverScene {
  const definition = {
    name: "runtime-x",
    summary: "",
    command: "/opt/runtime-x",
    args: options.args ?? ["-p"],
    protocol,
    clientConfig: { path: "{home}/x.json", shape: "runtime-a" as const },
    login: "none" as const,
    env: {},
    state: [],
    ...defined({ needs: options.needs }),
  };
  return sceneOf(definition, [definition.command, program], options);
}
