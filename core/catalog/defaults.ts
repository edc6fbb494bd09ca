/**
 * Which MCPs an agent has by default, and how its deltas change that. No I/O except `readDefaults`,
 * which reads one file. A shipped set never contains an MCP that needs credentials;
 * `tests/core/catalog/defaults_test.ts` enforces this.
 *
 * @module
 */

import type { Catalog } from "core/catalog/catalog.ts";
import { editHint } from "core/hints/edit_hint.ts";
import { createFieldReader } from "core/text/field_reader.ts";
import { type Refusal, refusal } from "core/errors.ts";
import type { AgentRecord, Channel } from "core/ledger/agent.ts";
import { type McpName, parseMcpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import { editYaml, parseYaml } from "core/text/yaml.ts";

const NAMES = ["browser", "messenger", "teamchat", "workchat"] as const;
type DefaultName = typeof NAMES[number];
const named = (name: DefaultName) => name as string as McpName;

/** The default MCPs of each channel. */
export const CHANNEL_DEFAULTS: Readonly<Record<Channel, readonly McpName[]>> = {
  webview: [named("browser")],
  messenger: [named("browser"), named("messenger")],
  teamchat: [named("browser"), named("teamchat")],
  workchat: [named("browser"), named("workchat")],
};

/** The default MCPs of every agent on this host: its channel's set, and the host's additions. */
export interface Defaults {
  readonly channels: Readonly<Record<Channel, readonly McpName[]>>;
  /** `tools` of `/etc/fleetctl/defaults.yaml`, in order. */
  readonly hostTools: readonly McpName[];
  /** What is wrong with the host's file; `hostTools` contains the usable part of it. */
  readonly faults: readonly Refusal[];
  /**
   * True when the file as a whole is unusable. Its additions are then unknown, so a reconcile
   * removes nothing because of it. A single bad entry does not make the file damaged.
   */
  readonly isDamaged?: true;
}

/** The shipped sets alone. */
export const SHIPPED_DEFAULTS: Defaults = {
  channels: CHANNEL_DEFAULTS,
  hostTools: [],
  faults: [],
};

/** Reads the host's defaults overlay; a name without a usable catalog entry is a fault. */
export async function readDefaults(
  ports: { readonly files: Pick<Files, "readText"> },
  paths: Pick<Paths, "defaultsFile">,
  catalog: Catalog,
): Promise<Defaults> {
  try {
    const text = await ports.files.readText(paths.defaultsFile);
    return text === undefined ? SHIPPED_DEFAULTS : parseDefaults(text, paths.defaultsFile, catalog);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    const fault = refusal(
      "defaults-unreadable",
      `Cannot read the defaults "${paths.defaultsFile}": ${thrown.code}, must be readable`,
    );
    return { ...SHIPPED_DEFAULTS, faults: [fault], isDamaged: true };
  }
}

/** Parses the host's defaults overlay: `tools: [name, …]`. */
function parseDefaults(text: string, file: string, catalog: Catalog): Defaults {
  const shape = checkShape(text, file, "read");
  const yaml = parseYaml(text, file);
  if (!shape.ok || !yaml.ok) {
    const faults = shape.ok ? [] : [shape.error];
    return { ...SHIPPED_DEFAULTS, faults, isDamaged: true };
  }
  const read = createFieldReader(yaml.value);
  const hostTools = read.strings(
    ["tools"],
    (name) =>
      catalog.entries.has(name as McpName)
        ? undefined
        : "must be the name of a catalog entry that can be used",
  ) as readonly McpName[];
  const faults = read.faults.length === 0 ? [] : [refusal(
    "defaults-invalid",
    `Cannot use all of the defaults "${file}": the file has ${faultCount(read.faults)}`,
    { details: read.faults, hints: ["fleetctl mcp catalog list"] },
  )];
  return { channels: CHANNEL_DEFAULTS, hostTools, faults };
}

/**
 * Adds an MCP to the text of the host's defaults overlay. The name must be in the catalog. A file
 * that is not a mapping with a list of names is refused and not overwritten.
 */
export function addDefaultTool(
  text: string,
  name: string,
  { catalog, file }: { readonly catalog: Catalog; readonly file: string },
): Result<string> {
  const parsed = parseMcpName(name);
  if (!parsed.ok) return parsed;
  if (!catalog.entries.has(parsed.value)) {
    return err(refusal(
      "mcp-not-catalogued",
      `Cannot add MCP "${name}" to the defaults: the catalog has no such entry`,
      { hints: ["fleetctl mcp catalog list"] },
    ));
  }
  const readable = checkShape(text, file);
  if (!readable.ok) return readable;
  return editYaml(text, (editor) => editor.addToList(["tools"], parsed.value), file);
}

/** Removes an MCP from the host's additions, even one that is no longer in the catalog. */
export function removeDefaultTool(text: string, name: McpName, file: string): Result<string> {
  const readable = checkShape(text, file);
  if (!readable.ok) return readable;
  if (!readable.value.includes(name)) return ok(text);
  return editYaml(text, (editor) => editor.removeFromList(["tools"], name), file);
}

/** Returns the names in the file, known or not; refuses a file that an edit could damage. */
function checkShape(
  text: string,
  file: string,
  verb: "read" | "change" = "change",
): Result<readonly string[]> {
  const yaml = parseYaml(text, file);
  if (!yaml.ok) return err(defaultsRefusal(file, verb, yaml.error.details));
  if (yaml.value.value === null) return ok([]);
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], ["tools"]);
  const names = read.strings(["tools"]);
  return read.faults.length === 0 ? ok(names) : err(defaultsRefusal(file, verb, read.faults));
}

function defaultsRefusal(file: string, verb: string, details: readonly string[]): Refusal {
  return refusal("defaults-file-invalid", `Cannot ${verb} the defaults "${file}": it is unusable`, {
    details,
    hints: [editHint(file)],
  });
}

type Wanting = Pick<AgentRecord, "channel" | "tools">;

/**
 * Returns the MCPs of an agent: defaults, host additions, its own; `remove` wins. Names that the
 * catalog lacks are left out.
 */
export function resolveTools(
  agent: Wanting,
  catalog: Catalog,
  defaults: Defaults,
): readonly McpName[] {
  return wantedTools(agent, defaults).filter((name) => catalog.entries.has(name));
}

/** Returns the MCPs that an agent should have and the catalog lacks. */
export function missingTools(
  agent: Wanting,
  catalog: Catalog,
  defaults: Defaults,
): readonly McpName[] {
  return wantedTools(agent, defaults).filter((name) => !catalog.entries.has(name));
}

function wantedTools(agent: Wanting, defaults: Defaults): readonly McpName[] {
  const wanted = new Set([
    ...defaults.channels[agent.channel],
    ...defaults.hostTools,
    ...agent.tools.add,
  ]);
  for (const name of agent.tools.remove) wanted.delete(name);
  return [...wanted];
}

/** Returns the deltas after `mcp add` of a name, as short as possible. */
export function withTool(agent: Wanting, name: McpName, defaults: Defaults): AgentRecord["tools"] {
  const remove = agent.tools.remove.filter((one) => one !== name);
  const isDefault = defaults.channels[agent.channel].includes(name) ||
    defaults.hostTools.includes(name);
  const add = isDefault || agent.tools.add.includes(name)
    ? agent.tools.add
    : [...agent.tools.add, name];
  return { add, remove };
}

/** Returns the deltas after `mcp remove` of a name. */
export function withoutTool(
  agent: Wanting,
  name: McpName,
  defaults: Defaults,
): AgentRecord["tools"] {
  const add = agent.tools.add.filter((one) => one !== name);
  const isDefault = defaults.channels[agent.channel].includes(name) ||
    defaults.hostTools.includes(name);
  const remove = !isDefault || agent.tools.remove.includes(name)
    ? agent.tools.remove
    : [...agent.tools.remove, name];
  return { add, remove };
}
