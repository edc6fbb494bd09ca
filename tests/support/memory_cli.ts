/**
 * The command line's dependencies on an in-memory machine: no terminal, no prompts, and recorded
 * output.
 *
 * @module
 */

import type { CliDeps } from "cli/context.ts";
import type { HostName } from "core/names.ts";
import { splitArguments } from "core/os/argv.ts";
import { ok } from "core/result.ts";
import { NO_TERMINAL } from "core/verbs/daemon_frames.ts";
import type { MemoryHost } from "tests/fakes/host.ts";
import { noServices } from "tests/support/no_services.ts";
import type { VerbPorts } from "cli/verb_ports.ts";

function never(): never {
  throw new Error("not asked for here");
}

/** Creates them for the host atlas; `ports` adds the ports of the tested verb. */
export function memoryCli(
  host: MemoryHost,
  { ports = {}, stdin = "" }: {
    readonly ports?: Partial<VerbPorts>;
    readonly stdin?: string;
  } = {},
) {
  const output = { out: "", err: "" };
  const deps: CliDeps = {
    version: "0.0.0",
    env: { FLEETCTL_ROOT: "/" },
    cwd: "/",
    terminal: NO_TERMINAL,
    tokenize: splitArguments,
    takeOverStop: () => new AbortController().signal,
    openPorts: () =>
      Promise.resolve({
        ...host,
        trees: { copy: never, prune: never, summarize: never, fingerprint: never },
        openMcpClient: never,
        hostname: "atlas" as HostName,
        memoryBytes: () => 8 * 1024 ** 3,
        services: noServices,
        startManager: never,
        ...ports,
      }),
    out: async (text) => void (output.out += text),
    err: async (text) => void (output.err += text),
    readStdin: async () => ok(stdin),
    openStdin: () => new Blob([stdin]).stream(),
    promptSecret: async () => undefined,
    promptLine: async () => undefined,
  };
  return { deps, output };
}
