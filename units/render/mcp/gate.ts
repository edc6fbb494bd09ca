/**
 * The rendered rules of the runtime permission gate, one file per MCP: which tools are refused and
 * which need a human's approval. `fleetctl-mcp` and `mcp call` read them; there `block` overrides
 * `ask`. No I/O.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import type { Paths } from "core/paths.ts";
import { gateOf } from "core/risk/rules.ts";

/** Renders the rules of one MCP; readable by all users, because they are not secret. */
export function renderGate(manifest: Manifest, paths: Paths): RenderedFile {
  const gate = gateOf(manifest);
  const sorted = (names: Iterable<string>) => [...names].sort();
  const byName = <T>(map: ReadonlyMap<string, T>) =>
    Object.fromEntries([...map].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0));
  const value = {
    mcp: gate.mcp,
    version: gate.version,
    rules: byName(gate.rules),
    ...(gate.reads.size === 0 ? {} : { reads: sorted(gate.reads) }),
    endpoint: gate.endpoint,
    ...(gate.held === undefined ? {} : { held: sorted(gate.held) }),
    ...(gate.accepted === undefined ? {} : { accepted: byName(gate.accepted) }),
    idle_stop_seconds: gate.idleStopSeconds,
  };
  return {
    path: paths.gate(manifest.name),
    content: `${JSON.stringify(value, null, 2)}\n`,
    mode: 0o644,
    owner: ROOT_OWNER,
    secret: false,
  };
}
