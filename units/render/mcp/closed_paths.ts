/**
 * Paths of a home that are closed to the agent's MCP servers, regardless of their grants: the state
 * of the dial unit and of its runtimes, and sign-ins of other MCPs. A server that could write to
 * them could run commands as the agent, or impersonate it. No I/O.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { fillPlaceholders, type RuntimeDefinition } from "core/runtimes/definition.ts";

/** Input that determines the closed paths. */
export interface ClosedPathsContext {
  readonly paths: Paths;
  readonly agent: AgentName;
  /** Definitions of the host: an agent whose runtime was changed keeps the state of the old one. */
  readonly runtimes: Iterable<RuntimeDefinition>;
  /** OAuth providers of the catalog. */
  readonly providers: Iterable<string>;
}

/** Returns the paths that are closed to a server of this MCP, sorted. */
export function closedPaths(manifest: Manifest, context: ClosedPathsContext): readonly string[] {
  const { paths, agent } = context;
  // Builtin servers connect to the dial unit; they contain no third-party code.
  if (manifest.source.kind === "builtin") return [];
  const home = paths.home(agent);
  const states = [...context.runtimes].flatMap(({ state, clientConfig }) =>
    [...state, clientConfig.path]
      .map((path) => fillPlaceholders(path, { lib: paths.lib, home, agent }))
  );
  const all = [paths.dialState(agent), ...states, ...closedSignIns(manifest, context)]
    .filter((path) => isWithin(path, home));
  return [...new Set(all)].filter((path) => !all.some((one) => one !== path && isWithin(path, one)))
    .sort();
}

function closedSignIns({ oauth }: Manifest, context: ClosedPathsContext): readonly string[] {
  const folder = `${context.paths.home(context.agent)}/.fleetctl/oauth`;
  if (oauth === undefined) return [folder];
  return [...new Set(context.providers)].filter((one) => one !== oauth.provider)
    .map((provider) => `${folder}/${provider}`);
}

/** Returns the closed paths that these grants would open; `*` grants everything. */
export function closedWithin(
  closed: readonly string[],
  granted: readonly string[],
): readonly string[] {
  return closed.filter((path) =>
    granted.some((grant) => grant === "*" || isWithin(path, grant) || isWithin(grant, path))
  );
}

function isWithin(path: string, folder: string): boolean {
  const above = folder.replace(/\/+$/, "");
  return path === above || path.startsWith(`${above}/`);
}
