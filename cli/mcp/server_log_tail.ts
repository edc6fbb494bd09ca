/**
 * The last lines that the server of an MCP logged. They explain best why it does not answer.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { readLogs } from "cli/logs/source.ts";
import { safeText } from "cli/output.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import type { AgentName } from "core/names.ts";
import { mcpServiceUnit, mcpSocketUnit } from "units/render/unit_name.ts";

const LINES = 10;
const LINE_LENGTH_MAX = 400;

/** Returns the lines, oldest first, safe to print; none if the log cannot be read. */
export async function serverLogTail(
  { ports, paths }: VerbContext,
  { name, sharing }: Manifest,
  agent: AgentName,
): Promise<readonly string[]> {
  const owner = sharing === "shared" ? undefined : agent;
  const lines: string[] = [];
  await readLogs(ports, paths, {
    units: [mcpServiceUnit(name, owner), mcpSocketUnit(name, owner)],
    lines: LINES,
    isFollowing: false,
    stop: new AbortController().signal,
  }, async ({ text }) => void lines.push(safeText(text).slice(0, LINE_LENGTH_MAX)));
  return lines.slice(-LINES);
}
