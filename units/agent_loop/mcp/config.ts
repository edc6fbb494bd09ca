/**
 * The client config: the agent's MCP servers and how to reach them. Reads both shapes, the
 * top-level `mcpServers` of runtime-b and the project-scoped ones of runtime-a. `${KEY}` is
 * replaced from the environment; a value never appears in a fault. An unusable entry does not
 * affect the others. No I/O.
 *
 * @module
 */

import * as z from "zod";
import { isRecord } from "core/text/json_object.ts";
import { err, ok, type Result } from "core/result.ts";

/** Exposures that a config may contain; without scripts, only `hidden` has an effect. */
const exposure = z.enum(["codemode", "deferred", "direct", "hidden"]);

const stdioEntry = z.object({
  type: z.literal("stdio").optional(),
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  cwd: z.string().optional(),
  exposure: exposure.optional(),
  toolExposure: z.record(z.string(), exposure).default({}),
});
const httpEntry = z.object({
  type: z.enum(["http", "streamable-http"]),
  url: z.string().min(1),
  headers: z.record(z.string(), z.string()).default({}),
  exposure: exposure.optional(),
  toolExposure: z.record(z.string(), exposure).default({}),
});

/** How to reach one server, with every reference resolved. */
export type ServerConfig =
  & {
    readonly name: string;
    /** Whether the config hides a tool from the model. */
    readonly isHidden: (tool: string) => boolean;
  }
  & (
    | {
      readonly kind: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string | undefined;
    }
    | {
      readonly kind: "http";
      readonly url: URL;
      readonly headers: Readonly<Record<string, string>>;
    }
  );

/** A server whose entry is unusable. */
export interface ServerFault {
  readonly name: string;
  /** Part of a sentence: `needs CODEHOST_TOKEN, which is not set`. */
  readonly reason: string;
}

/** Contents of a client config. */
export interface ClientConfig {
  readonly servers: readonly ServerConfig[];
  readonly faults: readonly ServerFault[];
}

const SERVERS_MAX = 256;
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;

/** Parses a client config. The fault is for a file that is not a JSON object. */
export function parseClientConfig(
  text: string,
  env: Readonly<Record<string, string>>,
  home: string,
): Result<ClientConfig, string> {
  let root: unknown;
  try {
    root = JSON.parse(text);
  } catch {
    return err("it is not valid JSON");
  }
  if (!isRecord(root)) return err("it is not a JSON object");
  const project = isRecord(root.projects) ? root.projects[home] : undefined;
  const entries = {
    ...(isRecord(root.mcpServers) ? root.mcpServers : {}),
    ...(isRecord(project) && isRecord(project.mcpServers) ? project.mcpServers : {}),
  };
  const servers: ServerConfig[] = [];
  const faults: ServerFault[] = [];
  for (const [name, entry] of Object.entries(entries).slice(0, SERVERS_MAX)) {
    const parsed = parseEntry(name, entry, env);
    if (parsed.ok) servers.push(parsed.value);
    else faults.push({ name: name.slice(0, 64), reason: parsed.error });
  }
  return ok({ servers, faults });
}

function parseEntry(
  name: string,
  entry: unknown,
  env: Readonly<Record<string, string>>,
): Result<ServerConfig, string> {
  if (!NAME.test(name)) {
    return err("its name contains characters that are not allowed in tool names");
  }
  if (isRecord(entry) && entry.disabled === true) return err("it is disabled in the client config");
  const isHttp = isRecord(entry) && typeof entry.url === "string";
  const parsed = isHttp
    ? httpEntry.safeParse({ type: "http", ...entry })
    : stdioEntry.safeParse(entry);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return err(`its entry is unusable: ${issue?.path.join(".") || "entry"}: ${issue?.message}`);
  }
  const missing = new Set<string>();
  const fill = (text: string) =>
    text.replace(REFERENCE, (whole, key: string) => {
      const value = Object.hasOwn(env, key) ? env[key] : undefined;
      if (value === undefined) missing.add(key);
      return value ?? whole;
    });
  const config = resolveEntry(name, parsed.data, fill);
  if (missing.size > 0) return err(`it needs ${[...missing].join(", ")}, which is not set`);
  return config;
}

function resolveEntry(
  name: string,
  entry: z.infer<typeof stdioEntry> | z.infer<typeof httpEntry>,
  fill: (text: string) => string,
): Result<ServerConfig, string> {
  const isHidden = (tool: string) =>
    (Object.hasOwn(entry.toolExposure, tool) ? entry.toolExposure[tool] : entry.exposure) ===
      "hidden";
  const fillAll = (record: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, fill(value)]));
  if ("url" in entry) {
    const url = fill(entry.url);
    if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
      return err("its url is not an http or https URL");
    }
    return ok({ kind: "http", name, isHidden, url: new URL(url), headers: fillAll(entry.headers) });
  }
  return ok({
    kind: "stdio",
    name,
    isHidden,
    command: fill(entry.command),
    args: entry.args.map(fill),
    env: fillAll(entry.env),
    cwd: entry.cwd === undefined ? undefined : fill(entry.cwd),
  });
}
