/**
 * A real dial unit with a scripted runtime, for tests of both client and server side together.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Host } from "core/ports/host.ts";
import { systemClock } from "core/os/clock.ts";
import type { RuntimeDriver } from "units/dial/runtimes/driver.ts";
import { type DialUnit, startDialUnit } from "units/dial/app.ts";
import { createMcpStates } from "units/dial/mcp_states.ts";
import type { QuestionEndpoint } from "units/dial/question_endpoint.ts";
import { readDialConfig } from "units/dial/config.ts";
import { memoryHost } from "tests/fakes/host.ts";

/** A real clock that shortens every wait by `divisor`, so that back-off does not slow a test. */
export function hastyClock(divisor = 500): Clock {
  const clock = systemClock();
  return { ...clock, sleep: (ms, signal) => clock.sleep(Math.ceil(ms / divisor), signal) };
}

/** A host with an in-memory disk and real time. */
export function liveHost(options: { readonly seed?: number; readonly clock?: Clock } = {}): Host {
  const host = memoryHost({ seed: options.seed ?? 1 });
  return { ...host, clock: options.clock ?? systemClock() };
}

/** Starts mia's dial unit. */
export async function startTestDial(options: {
  readonly url: string;
  readonly driver: RuntimeDriver;
  readonly host?: Host;
  readonly env?: Readonly<Record<string, string>>;
  readonly idleMs?: number;
  readonly releaseMemory?: () => void;
  /** Asks a person for the runtime. */
  readonly asks?: QuestionEndpoint;
}): Promise<DialUnit> {
  const config = readDialConfig({
    FLEETCTL_ROOT: "/r",
    FLEETCTL_AGENT: "mia",
    CHANNEL_USER_EMAIL: "mia@example.org",
    CHANNEL_WEBVIEW_GATEWAY_URL: options.url,
    FLEETCTL_RUNTIME: "scripted",
    ...options.env,
  });
  if (!config.ok) throw new Error(config.error.details.join("; "));
  const host = options.host ?? liveHost({ seed: 7, clock: hastyClock() });
  const unit = await startDialUnit(config.value, host, {
    driver: options.driver,
    mcps: createMcpStates({ ...host, folder: config.value.paths.dialState(config.value.agent) }),
    idleMs: options.idleMs,
    hostname: "atlas",
    version: "1.2.3",
    ...defined({ asks: options.asks, releaseMemory: options.releaseMemory }),
  });
  if (!unit.ok) throw new Error(unit.error.message);
  return unit.value;
}
