/**
 * The real ports of verbs: those of a host, and some that only few verbs need. Shared by the
 * composition roots of the command line. All other files get ports as parameters.
 *
 * @module
 */

import type { EmbeddedManager, UnitEvent } from "units/manager/embedded.ts";
import { embeddedServices } from "units/manager/control/client.ts";
import { openHost } from "core/os/host.ts";
import { systemdServices } from "units/manager/os/systemd.ts";
import { denoTrees } from "core/os/vendor.ts";
import { type HostName, parseHostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import type { LogLevel } from "core/ports/log.ts";
import type { Result } from "core/result.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

/** Opens the ports for a program that runs verbs. */
export function openVerbPorts(program: string, level: LogLevel = "warning"): VerbPorts {
  const host = openHost({ log: { program, level } });
  return {
    ...host,
    trees: denoTrees(),
    openMcpClient: async () => {
      const { systemMcpClient } = await import("cli/os/mcp_client.ts");
      return systemMcpClient(host);
    },
    readCertificate: async (of, timeoutMs) => {
      const { readCertificate } = await import("cli/os/certificate.ts");
      return await readCertificate(of, timeoutMs);
    },
    // Read on demand, because not every permission set allows it.
    get hostname() {
      return ownHostName();
    },
    memoryBytes: () =>
      Deno.permissions.querySync({ name: "sys", kind: "systemMemoryInfo" }).state === "granted"
        ? Deno.systemMemoryInfo().total
        : undefined,
    services: (paths) =>
      paths.root === "/" ? systemdServices(host.processes) : embeddedServices(paths, host.sockets),
    startManager: (paths, onEvent) => startManager(host, paths, onEvent),
  };
}

/** Where services find programs: the caller's own PATH, which includes git and bash. */
function servicePath(): string {
  return Deno.env.get("PATH") ?? "/usr/local/bin:/usr/bin:/bin";
}

/** Returns the hostname. If the machine's name is not valid, returns systemd's default. */
function ownHostName(): HostName {
  const parsed = parseHostName(Deno.hostname());
  return parsed.ok ? parsed.value : "localhost" as HostName;
}

/** Loaded only here, because no other verb needs the manager itself. */
async function startManager(
  host: Host,
  paths: Paths,
  onEvent: (event: UnitEvent) => void,
): Promise<Result<EmbeddedManager>> {
  const { startEmbeddedManager } = await import("units/manager/os/start_manager.ts");
  return await startEmbeddedManager({
    ...host,
    paths,
    onEvent,
    environment: { PATH: servicePath() },
  });
}
