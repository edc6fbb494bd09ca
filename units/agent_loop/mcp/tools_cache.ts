/**
 * Cached tool lists, so that an agent has its tools before their servers run: no server is started
 * for a known list. A list is valid for one way of starting a server and one state of its gate,
 * which names the pinned version. When either changes, the list is requested again.
 *
 * @module
 */

import * as z from "zod";
import { errorText } from "core/errors.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { canonicalJson, sha256 } from "core/risk/call.ts";
import { DAY_MS } from "core/text/duration.ts";
import type { ServerConfig } from "units/agent_loop/mcp/config.ts";

/** A tool as its server describes it. */
export interface ServerTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly isReadOnly: boolean;
}

/** The cached list of one server. */
export interface ToolsCache {
  /** Returns undefined when there is no list or it is no longer valid. */
  load(): Promise<readonly ServerTool[] | undefined>;
  /** Never rejects: without a stored list, the server is started, and nothing else changes. */
  save(tools: readonly ServerTool[]): Promise<void>;
}

/** Dependencies of a cache. */
export interface ToolsCacheContext {
  readonly files: Pick<Files, "readText" | "write" | "ensureDir" | "stat">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Log;
  /** Folder of the lists, in the agent's home. */
  readonly folder: string;
  /** Returns the path of an MCP's gate file. */
  readonly gate: (mcp: string) => string;
}

/** After this, a list is requested again, because a server may change its tools without notice. */
const AGE_MS_MAX = DAY_MS;
const TOOLS_MAX = 2_000;

const cached = z.object({
  key: z.string(),
  at: z.number(),
  tools: z.array(z.object({
    name: z.string(),
    description: z.string(),
    inputSchema: z.record(z.string(), z.unknown()),
    isReadOnly: z.boolean(),
  })).max(TOOLS_MAX),
});

/** Creates the cache of one server; reads nothing before `load`. */
export function toolsCache(config: ServerConfig, context: ToolsCacheContext): ToolsCache {
  const { files, clock, log, folder } = context;
  const path = `${folder}/${config.name}.json`;
  const keyOf = async () => {
    const gate = await files.readText(context.gate(config.name)).catch(() => undefined);
    return await sha256(canonicalJson([reachOf(config), gate ?? ""]));
  };
  return {
    async load() {
      try {
        const text = await files.readText(path);
        const parsed = text === undefined ? undefined : cached.safeParse(JSON.parse(text));
        if (parsed?.success !== true) return undefined;
        const { key, at, tools } = parsed.data;
        const age = clock.now() - at;
        return age >= 0 && age < AGE_MS_MAX && key === await keyOf() ? tools : undefined;
      } catch (thrown) {
        log.debug("tool list not read", { mcp: config.name, error: errorText(thrown) });
        return undefined;
      }
    },
    async save(tools) {
      try {
        if (await files.stat(folder) === undefined) await files.ensureDir(folder, { mode: 0o700 });
        const text = JSON.stringify({ key: await keyOf(), at: clock.now(), tools });
        await files.write(path, `${text}\n`, { mode: 0o600 });
      } catch (thrown) {
        log.debug("tool list not kept", { mcp: config.name, error: errorText(thrown) });
      }
    },
  };
}

/** How a server is reached, without the values of its variables, which may be secret. */
function reachOf(config: ServerConfig): unknown {
  return config.kind === "http"
    ? [config.kind, config.url.origin + config.url.pathname]
    : [config.kind, config.command, config.args, Object.keys(config.env).sort()];
}
