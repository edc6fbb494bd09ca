/**
 * A machine whose requests reach the kit instead of a network, and whose disk may be full or
 * broken.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { type DiskFaults, faultyDisk } from "tests/fakes/disk_faults.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";
import type { KitRules } from "tests/teamchat/connector/conversation.ts";
import { type ConnectorKit, createConnectorKit } from "tests/teamchat/connector/kit.ts";

/** A machine and the platform that it reaches. */
export interface KitHost extends DiskFaults {
  readonly host: MemoryHost;
  readonly kit: ConnectorKit;
}

/** Options for the machine and the platform. */
export interface KitHostOptions {
  readonly rules?: Partial<KitRules>;
  /**
   * The platform's clock: the machine's, a separate one that ignores changes of the machine's time,
   * or the real one.
   */
  readonly platformClock?: "machine" | "own" | "real";
}

/** Makes a machine with a healthy disk, and its platform. */
export async function kitHost(options: KitHostOptions = {}): Promise<KitHost> {
  const wired: { kit?: ConnectorKit } = {};
  const host = memoryHost({
    http: (request) => wired.kit?.handle(request) ?? new Response(null, { status: 502 }),
  });
  const { clock } = host;
  const begun = clock.now() - clock.monotonic();
  const nows = {
    machine: () => clock.now(),
    own: () => begun + clock.monotonic(),
    real: Date.now,
  };
  const { rules, platformClock = "machine" } = options;
  const kit = wired.kit = await createConnectorKit({
    now: nows[platformClock],
    ...defined({ rules }),
  });
  const { databases, fill, spoil } = faultyDisk(host.databases);
  return { host: { ...host, databases }, kit, fill, spoil };
}
