/**
 * Parses `mcp.yaml` text into a `Manifest`. One refusal lists all unknown keys, bad values and
 * version ranges, each with file, line and key. No I/O.
 *
 * @module
 */

import { readHeaders } from "core/catalog/endpoint.ts";
import { defined } from "core/defined.ts";
import { createFieldReader, type FieldReader } from "core/text/field_reader.ts";
import { checkSandboxed, sandboxPrograms } from "core/catalog/sandbox_rules.ts";
import { type Exposure, EXPOSURES, type Manifest } from "core/catalog/manifest.ts";
import {
  checkArgument,
  checkServerPath,
  checkToolName,
  checkVariableName,
  EVERY_TOOL,
  parsePermissions,
} from "core/catalog/manifest_rules.ts";
import { LOCK_FILES, parseSource } from "core/catalog/manifest_source.ts";
import { refusal } from "core/errors.ts";
import { type KeyName, type McpName, parseKeyName, parseMcpName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { faultCount } from "core/text/fault_count.ts";
import { parseCachedYaml } from "core/text/yaml_cache.ts";

const KNOWN_KEYS = [
  "name",
  "summary",
  "source",
  "integrity",
  "command",
  "args",
  "environment",
  "auth",
  "required_env",
  "user_env",
  "optional_env",
  "scope",
  "transport",
  "headers",
  "exposure",
  "tool_exposure",
  "tools",
  "engine",
  "engine_reason",
  "permissions",
  "run_as",
  "oauth",
  "limits",
  "host_programs",
] as const;
/** Keys that mean nothing for a server that is reached by URL. */
const PROCESS_KEYS = [
  "command",
  "args",
  "environment",
  "engine",
  "permissions",
  "run_as",
  "limits",
  "host_programs",
] as const;
const SUMMARY_LENGTH_MAX = 200;
const PROVIDER = /^[a-z][a-z0-9-]{0,30}$/;

/** Defaults of `limits`: enough for one Node-sized server, and the idle stop. */
const SERVER_LIMITS = { memoryMib: 512, tasks: 128, idleStopSeconds: 900 } as const;

/** Origin of a manifest; `name` is the name of its folder and must match the manifest's. */
export interface ManifestContext {
  readonly file: string;
  readonly name: string;
  readonly origin: Manifest["origin"];
  /** Text of the lock beside the manifest, see `LOCK_FILES`. */
  readonly lock?: string | undefined;
}

/** Parses one manifest. */
export function parseManifest(text: string, context: ManifestContext): Result<Manifest> {
  const yaml = parseCachedYaml(text, context.file);
  if (!yaml.ok) return yaml;
  const read = createFieldReader(yaml.value);
  if (typeof yaml.value.value !== "object" || yaml.value.value === null) {
    read.fault([], "must be a mapping with the keys of a manifest");
  }
  read.onlyKeys([], KNOWN_KEYS);
  const manifest = readManifest(read, context);
  if (read.faults.length === 0 && manifest !== undefined) return ok(manifest);
  return err(refusal(
    "manifest-invalid",
    `Cannot use MCP ${JSON.stringify(context.name)}: its manifest has ${faultCount(read.faults)}`,
    { details: read.faults },
  ));
}

function readManifest(read: FieldReader, context: ManifestContext): Manifest | undefined {
  const name = readName(read, context.name);
  const summary = read.string(
    ["summary"],
    (text) =>
      text.trim() !== "" && text.length <= SUMMARY_LENGTH_MAX && !/\p{Cc}/u.test(text)
        ? undefined
        : `must be one line of at most ${SUMMARY_LENGTH_MAX} characters`,
  );
  for (const key of ["summary", "source"]) {
    if (!read.has([key])) read.fault([key], "is missing");
  }
  const keys = readKeys(read);
  const declared = [...keys.requiredEnv, ...keys.userEnv, ...keys.optionalEnv];
  const source = parseSource(read, declared);
  const auth = read.choice(["auth"], ["none", "env", "oauth"]) ?? "none";
  const oauth = readOauth(read, auth);
  if (auth === "none" && (keys.requiredEnv.length > 0 || keys.userEnv.length > 0)) {
    read.fault(["auth"], 'is "none" although keys are required, must be "env"');
  }
  const engine = readEngine(read);
  const runAs = read.choice(["run_as"], ["root"]);
  const command = read.string(["command"], checkServerPath);
  const rest = {
    ...keys,
    auth,
    sharing: read.choice(["scope"], ["shared", "per_user"]) ?? "per_user",
    transport: read.choice(["transport"], ["stdio", "http"]),
    headers: readHeaders(read, declared),
    ...readExposure(read),
    ...readTools(read),
    args: readArguments(read),
    environment: readEnvironment(read, declared),
    permissions: parsePermissions(read),
    limits: readLimits(read),
    hostPrograms: readHostPrograms(read),
    origin: context.origin,
  };
  if (source === undefined || name === undefined || summary === undefined) return undefined;
  const kind = source.source.kind;
  const transport = rest.transport ?? (kind === "http" ? "http" : "stdio");
  if ((transport === "http") !== (kind === "http")) {
    read.fault(["transport"], `is "${transport}", must match the source kind "${kind}"`);
  }
  checkKind(read, { kind, engine: engine.engine }, context);
  const hostPrograms = [
    ...rest.hostPrograms,
    ...sandboxPrograms({ ...engine, ...source, permissions: rest.permissions }),
  ];
  return {
    name,
    summary,
    ...source,
    ...rest,
    hostPrograms,
    ...engine,
    transport,
    ...defined({ command, runAs, oauth }),
    ...(context.lock === undefined || !(kind in LOCK_FILES) ? {} : { lock: context.lock }),
  };
}

/** Adds a fault for each key that is missing or out of place for the kind of source. */
function checkKind(
  read: FieldReader,
  { kind, engine }: Pick<Manifest, "engine"> & { readonly kind: Manifest["source"]["kind"] },
  context: ManifestContext,
): void {
  if (kind === "http") {
    for (const key of PROCESS_KEYS) {
      if (read.has([key])) read.fault([key], "is not allowed for an http source");
    }
  }
  if (kind !== "http" && read.has(["headers"])) {
    read.fault(["headers"], `is not allowed for a source of kind "${kind}"`);
  }
  if (kind === "builtin") {
    for (const key of ["command", "args", "engine", "permissions"] as const) {
      if (read.has([key])) read.fault([key], "is fixed for a builtin source");
    }
  }
  if (kind === "npm" || kind === "uvx") {
    if (!read.has(["command"])) {
      const folder = kind === "npm" ? "node_modules/" : "site/bin/";
      read.fault(["command"], `is missing, must be the server's file under ${folder}`);
    }
    if (context.lock === undefined) {
      const what = kind === "npm" ? "an npm" : "a Python";
      read.fault(
        ["source"],
        `is ${what} package, but there is no "${LOCK_FILES[kind]}" beside the manifest`,
      );
    }
  }
  if (kind === "uvx" && read.has(["engine"])) {
    read.fault(["engine"], "is not allowed for a Python package");
  }
  if (kind === "uvx") checkSandboxed(read, "a Python server");
  if (kind === "npm" && engine === "node") checkSandboxed(read, "a server under Node");
  if (kind === "npm" || kind === "uvx") {
    for (const key of kind === "npm" ? ["package", "lock"] : ["lock"]) {
      if (!read.has(["integrity", key])) read.fault(["integrity", key], "is missing");
    }
  } else if (read.has(["integrity"])) {
    read.fault(["integrity"], `is not allowed for a source of kind "${kind}"`);
  }
}

function readName(read: FieldReader, folder: string): McpName | undefined {
  const name = read.string(
    ["name"],
    (text) =>
      !parseMcpName(text).ok
        ? "must start with a lowercase letter and contain at most 31 of a-z, 0-9 and -"
        : text === folder
        ? undefined
        : `must be the name of its folder, ${JSON.stringify(folder)}`,
  );
  if (!read.has(["name"])) read.fault(["name"], "is missing");
  return name as McpName | undefined;
}

function readKeys(read: FieldReader) {
  const keys = (key: string) =>
    read.strings(
      [key],
      (text) =>
        parseKeyName(text).ok
          ? undefined
          : "must start with an uppercase letter and contain at most 64 of A-Z, 0-9 and _",
    ) as readonly KeyName[];
  return {
    requiredEnv: keys("required_env"),
    userEnv: keys("user_env"),
    optionalEnv: keys("optional_env"),
  };
}

function readOauth(read: FieldReader, auth: Manifest["auth"]) {
  read.onlyKeys(["oauth"], ["provider", "scopes"]);
  const provider = read.string(
    ["oauth", "provider"],
    (text) => PROVIDER.test(text) ? undefined : "must be a name of a-z, 0-9 and -",
  );
  const scopes = read.strings(
    ["oauth", "scopes"],
    (text) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text) ? undefined : "must be one OAuth scope",
  );
  if (auth === "oauth" && provider === undefined && !read.has(["oauth", "provider"])) {
    read.fault(["oauth", "provider"], 'is missing although auth is "oauth"');
  }
  if (auth !== "oauth" && read.has(["oauth"])) {
    read.fault(["oauth"], `is not allowed when auth is "${auth}"`);
  }
  return provider === undefined ? undefined : { provider, scopes };
}

function readEngine(read: FieldReader): Pick<Manifest, "engine" | "engineReason"> {
  const engine = read.choice(["engine"], ["deno", "node"]) ?? "deno";
  const engineReason = read.string(["engine_reason"]);
  if (engine === "node" && engineReason === undefined && !read.has(["engine_reason"])) {
    read.fault(["engine_reason"], 'is missing, must state why when engine is "node"');
  }
  if (engine === "deno" && engineReason !== undefined) {
    read.fault(["engine_reason"], 'is not allowed when engine is "deno"');
  }
  return engineReason === undefined ? { engine } : { engine, engineReason };
}

function readExposure(read: FieldReader) {
  const toolExposure = new Map<string, Exposure>();
  for (const [tool] of read.entries(["tool_exposure"])) {
    const path = ["tool_exposure", tool];
    const wanted = checkToolName(tool);
    if (wanted !== undefined) read.fault(path, wanted);
    const exposure = read.choice(path, EXPOSURES);
    if (exposure !== undefined) toolExposure.set(tool, exposure);
  }
  return { exposure: read.choice(["exposure"], EXPOSURES) ?? "codemode" as Exposure, toolExposure };
}

function readTools(read: FieldReader): Pick<Manifest, "risk" | "readOnly"> {
  const risk = new Map<string, "block" | "ask">();
  const readOnly = new Set<string>();
  for (const [tool] of read.entries(["tools"])) {
    const path = ["tools", tool];
    // "*" accepts only "ask": there is no use in wiring up an MCP whose tools are all blocked.
    const isEvery = tool === EVERY_TOOL;
    const wanted = isEvery ? undefined : checkToolName(tool);
    if (wanted !== undefined) read.fault(path, wanted);
    read.onlyKeys(path, isEvery ? ["risk"] : ["risk", "read_only"]);
    const value = read.choice([...path, "risk"], isEvery ? ["ask"] : ["block", "ask"]);
    if (value !== undefined) risk.set(tool, value);
    if (read.boolean([...path, "read_only"]) === true) readOnly.add(tool);
    if (!read.has([...path, "risk"]) && !read.has([...path, "read_only"])) {
      read.fault(path, "is empty, must have a risk or read_only");
    }
  }
  return { risk, readOnly };
}

function readArguments(read: FieldReader): readonly string[] {
  const args: string[] = [];
  for (let index = 0; index < read.count(["args"]); index++) {
    const value = read.string(["args", index], checkArgument);
    if (value !== undefined) args.push(value);
    else if (!read.has(["args", index])) read.fault(["args", index], "is empty, must be a string");
  }
  return args;
}

function readEnvironment(
  read: FieldReader,
  declared: readonly KeyName[],
): Readonly<Record<string, string>> {
  const environment: Record<string, string> = {};
  for (const [name] of read.entries(["environment"])) {
    const path = ["environment", name];
    const wanted = checkVariableName(name);
    if (wanted !== undefined) read.fault(path, wanted);
    if ((declared as readonly string[]).includes(name)) {
      read.fault(path, "is also a secret key of this manifest, must be one or the other");
    }
    const value = read.string(path, checkArgument);
    if (value !== undefined) environment[name] = value;
    else if (!read.has(path)) read.fault(path, "is empty, must be a string");
  }
  return environment;
}

function readLimits(read: FieldReader): Manifest["limits"] {
  read.onlyKeys(["limits"], ["memory_mib", "tasks", "idle_stop_seconds"]);
  const memoryMib = read.integer(["limits", "memory_mib"], [64, 16_384]);
  const tasks = read.integer(["limits", "tasks"], [8, 4096]);
  const idle = read.integer(["limits", "idle_stop_seconds"], [10, 86_400]);
  return {
    memoryBytesMax: (memoryMib ?? SERVER_LIMITS.memoryMib) * 1024 * 1024,
    tasksMax: tasks ?? SERVER_LIMITS.tasks,
    idleStopSeconds: idle ?? SERVER_LIMITS.idleStopSeconds,
  };
}

function readHostPrograms(read: FieldReader): Manifest["hostPrograms"] {
  const programs: { anyOf: readonly string[]; install: string }[] = [];
  for (let index = 0; index < read.count(["host_programs"]); index++) {
    const path = ["host_programs", index];
    read.onlyKeys(path, ["any_of", "install"]);
    const anyOf = read.strings(
      [...path, "any_of"],
      (text) => /^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(text) ? undefined : "must be a program name",
    );
    const install = read.string([...path, "install"], checkArgument);
    if (anyOf.length === 0) read.fault(path, "names no program, must have any_of");
    if (install === undefined) read.fault(path, "must have install, what to run when it is absent");
    else programs.push({ anyOf, install });
  }
  return programs;
}
