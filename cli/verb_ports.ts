/**
 * The ports that verbs need besides those of every program. Types only; `cli/os/verb_ports.ts`
 * opens the real ones.
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

/** The certificate that a TLS server presents. */
export interface ServedCertificate {
  readonly fromMs: number;
  readonly toMs: number;
  /** Host names that it covers. */
  readonly names: readonly string[];
}

/** The machine for verbs: the host ports, and ports that only some verbs need, opened on demand. */
export interface VerbPorts extends Host {
  readonly trees: Trees;
  /** Loads the MCP client, which few verbs need. */
  openMcpClient(): Promise<McpClient>;
  /** Reads the certificate of a TLS server; absent when this is not possible. */
  readCertificate?(
    of: { readonly address: string; readonly port: number; readonly name: string },
    timeoutMs: number,
  ): Promise<ServedCertificate>;
  /** Name of this machine in the ledger. */
  readonly hostname: HostName;
  /** Memory of this machine; undefined when the permission set does not allow reading it. */
  memoryBytes(): number | undefined;
  /** systemd on a real host, the embedded manager under another root. */
  services(paths: Paths): ServiceManager;
  /** Starts the embedded manager of a root; for `up` only. */
  startManager(
    paths: Paths,
    onEvent: (event: UnitEvent) => void,
  ): Promise<Result<EmbeddedManager>>;
}
