/**
 * What verbs need of a machine besides the ports that every program has. Types only;
 * `cli/os/verb_ports.ts` opens the real one.
 *
 * @module
 */

import type { EmbeddedManager, UnitEvent } from "units/manager/embedded.ts";
import type { McpClient } from "core/ports/mcp_client.ts";
import type { HostName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import type { Host } from "core/ports/host.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";
import type { Result } from "core/result.ts";
import type { Trees } from "core/ports/trees.ts";

/** What a TLS server presents. */
export interface ServedCertificate {
  readonly fromMs: number;
  readonly toMs: number;
  /** Host names that it is for. */
  readonly names: readonly string[];
}

/** The machine as verbs see it: the host, and what only some of them need, opened on demand. */
export interface VerbPorts extends Host {
  readonly trees: Trees;
  /** Loads the MCP client, which few verbs need. */
  openMcpClient(): Promise<McpClient>;
  /** Looks at the certificate of a TLS server; absent where none can be asked. */
  readCertificate?(
    of: { readonly address: string; readonly port: number; readonly name: string },
    timeoutMs: number,
  ): Promise<ServedCertificate>;
  /** Name of this machine, as the ledger knows it. */
  readonly hostname: HostName;
  /** Memory of this machine; undefined where the permission set does not let a program ask. */
  memoryBytes(): number | undefined;
  /** systemd on a real host, the embedded manager under another root. */
  services(paths: Paths): ServiceManager;
  /** Starts the embedded manager of a root; for `up` only. */
  startManager(
    paths: Paths,
    onEvent: (event: UnitEvent) => void,
  ): Promise<Result<EmbeddedManager>>;
}
