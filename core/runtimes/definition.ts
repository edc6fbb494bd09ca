/**
 * A runtime definition: the program that an agent runs, and how to communicate with it. Data, not
 * code: `core/runtimes/shipped/<name>.yaml`, overlaid by `/etc/fleetctl/runtimes.d/`. Refuses
 * unknown keys and bad values with file, line and key. No I/O.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  installCommand,
  readNeeds,
  type RuntimeNeeds,
  versionList,
  WANTED_INSTALL,
  WANTED_VERSIONS,
} from "core/runtimes/needs.ts";
import { faultCount } from "core/text/fault_count.ts";
import { isRecord } from "core/text/json_object.ts";
import type { YamlFile } from "core/text/yaml.ts";
import { parseCachedYaml } from "core/text/yaml_cache.ts";

/** Wire protocols that a definition may name. */
const WIRE_PROTOCOLS = ["acp", "stream_json", "rpc_jsonl", "codex_app_server"] as const;
/** One of `WIRE_PROTOCOLS`. */
export type WireProtocol = typeof WIRE_PROTOCOLS[number];
/** Formats of a client config file: the location of its MCP entries, and their keys. */
const CLIENT_CONFIG_SHAPES = ["runtime-a", "runtime-b", "mcp_servers"] as const;
/** One of `CLIENT_CONFIG_SHAPES`. */
export type ClientConfigShape = typeof CLIENT_CONFIG_SHAPES[number];
/** How a model provider's account is connected. */
const LOGIN_METHODS = ["none", "pasted_code"] as const;

/** How to start and address one runtime. Placeholders in strings: `{lib}`, `{home}`, `{agent}`. */
export interface RuntimeDefinition {
  readonly name: string;
  readonly summary: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly protocol: WireProtocol;
  readonly clientConfig: {
    readonly path: string;
    readonly shape: ClientConfigShape;
  };
  readonly login: "none" | "pasted_code";
  /** Mode of the conversation, such as an ACP mode that requests permission first, or a sandbox. */
  readonly sessionMode?: string;
  /** Variables that the program gets unless the agent's own environment sets them. */
  readonly env: Readonly<Record<string, string>>;
  /** Files and folders in the home with the program's state; MCP servers cannot access them. */
  readonly state: readonly string[];
  /** Versions of the program that are tested; without them, every version counts as tested. */
  readonly known?: readonly string[];
  readonly needs?: RuntimeNeeds;
  /** Command that installs the program. */
  readonly install?: string;
  /** Command that renews the program's credential; `{agent}` stands for the name. */
  readonly signIn?: string;
  /** Idle time after which the program sleeps, in seconds; 0 is never. See `idleSecondsOf`. */
  readonly idleSeconds?: number;
}

/** Whether the program is the built-in agent loop, which reads its client config at its start. */
export function isBuiltIn({ command }: Pick<RuntimeDefinition, "command">): boolean {
  return command === "{lib}/fleetctl-runtime";
}

/** The built-in program wakes within 0.3 s, other programs within seconds. */
const IDLE_SECONDS = { builtIn: 600, other: 900 } as const;
const IDLE_SECONDS_MAX = 7 * 24 * 3_600;

/** Returns the idle time after which the program of a definition sleeps; undefined is never. */
export function idleSecondsOf(
  { command, idleSeconds }: Pick<RuntimeDefinition, "command" | "idleSeconds">,
): number | undefined {
  const seconds = idleSeconds ??
    (isBuiltIn({ command }) ? IDLE_SECONDS.builtIn : IDLE_SECONDS.other);
  return seconds === 0 ? undefined : seconds;
}

const RUNTIME_NAME = /^[a-z][a-z0-9-]{0,30}$/;
/** Braces around anything but a word, as in JSON, are not a placeholder. */
const PLACEHOLDER = /\{([A-Za-z_]+)\}/g;
const PLACEHOLDERS: ReadonlySet<string> = new Set(["lib", "home", "agent"]);
const TEXT_LENGTH_MAX = 4096;
const ARGS_MAX = 64;
const ENV_MAX = 64;
const ENV_NAME = /^[A-Z_][A-Z0-9_]{0,127}$/;
/** Variables that a definition may not set: fleetctl sets them for every runtime. */
const ENV_OWN = /^(HOME$|FLEETCTL_)/;

/** A partly read definition. Keys of a host's file replace those of the shipped one. */
interface Draft {
  summary: string | undefined;
  command: string | undefined;
  args: readonly string[] | undefined;
  protocol: WireProtocol | undefined;
  path: string | undefined;
  shape: ClientConfigShape | undefined;
  login: "none" | "pasted_code" | undefined;
  sessionMode: string | undefined;
  env: Readonly<Record<string, string>> | undefined;
  state: readonly string[] | undefined;
  known: readonly string[] | undefined;
  needs: RuntimeNeeds | undefined;
  install: string | undefined;
  signIn: string | undefined;
  idleSeconds: number | undefined;
}

/**
 * Parses one definition file. Keys that the file omits come from `base`, so that a host's file can
 * name only the command.
 */
export function parseDefinition(
  text: string,
  file: string,
  base?: RuntimeDefinition,
): Result<RuntimeDefinition> {
  const name = file.split("/").at(-1)?.replace(/\.ya?ml$/, "") ?? "";
  const parsed = parseCachedYaml(text, file);
  if (!parsed.ok) return parsed;
  const faults: string[] = [];
  if (!RUNTIME_NAME.test(name)) {
    faults.push(
      `${file}: the name must start with a lowercase letter and contain only a-z, 0-9 and -`,
    );
  }
  const draft = readKeys(parsed.value, base, faults);
  const { summary, command, args, protocol, path, shape, login, sessionMode, env, state } = draft;
  const { known, needs, install, signIn, idleSeconds } = draft;
  for (const [key, value] of Object.entries({ summary, command, protocol, path, shape })) {
    if (value === undefined && !faults.some((line) => line.includes(keyName(key)))) {
      faults.push(`${file}: ${keyName(key)} is not set`);
    }
  }
  if (
    faults.length > 0 || summary === undefined || command === undefined ||
    protocol === undefined || path === undefined || shape === undefined
  ) {
    return err(refusal(
      "runtime-invalid",
      `Cannot use runtime definition "${file}": it has ${faultCount(faults)}`,
      { kind: "settings", details: faults },
    ));
  }
  return ok({
    name,
    summary,
    command,
    args: args ?? [],
    protocol,
    clientConfig: { path, shape },
    login: login ?? "none",
    ...defined({ sessionMode, known, needs, install, signIn, idleSeconds }),
    env: env ?? {},
    state: state ?? [],
  });
}

function keyName(key: string): string {
  return key === "path" || key === "shape" ? `client_config.${key}` : key;
}

/** Returns a draft with the keys of the shipped definition. */
function draftOf(base: RuntimeDefinition | undefined): Draft {
  return {
    summary: base?.summary,
    command: base?.command,
    args: base?.args,
    protocol: base?.protocol,
    path: base?.clientConfig.path,
    shape: base?.clientConfig.shape,
    login: base?.login,
    sessionMode: base?.sessionMode,
    env: base?.env,
    state: base?.state,
    known: base?.known,
    needs: base?.needs,
    install: base?.install,
    signIn: base?.signIn,
    idleSeconds: base?.idleSeconds,
  };
}

function readKeys(
  yaml: YamlFile,
  base: RuntimeDefinition | undefined,
  faults: string[],
): Draft {
  const draft = draftOf(base);
  const bad = (path: readonly string[], wanted: string) =>
    faults.push(`${yaml.file}:${yaml.lineOf(path)}: ${path.join(".")} ${wanted}`);
  if (!isRecord(yaml.value)) {
    bad([], "the file must be a mapping");
    return draft;
  }
  // The shipped command installs the shipped program, not the host's.
  if (Object.hasOwn(yaml.value, "command")) draft.install = undefined;
  for (const [key, value] of Object.entries(yaml.value)) {
    switch (key) {
      case "summary":
        draft.summary = text(value) ?? void bad([key], "must be text");
        break;
      case "command":
        draft.command = absolutePath(value) ?? void bad([key], WANTED_PROGRAM);
        break;
      case "args":
        draft.args = list(value) ?? void bad([key], `must be a list of texts; ${WANTED_PLACES}`);
        break;
      case "protocol":
        draft.protocol = oneOf(value, WIRE_PROTOCOLS) ?? void bad([key], among(WIRE_PROTOCOLS));
        break;
      case "login":
        draft.login = oneOf(value, LOGIN_METHODS) ?? void bad([key], among(LOGIN_METHODS));
        break;
      case "session_mode":
        draft.sessionMode = text(value) ?? void bad([key], "must be text");
        break;
      case "env":
        draft.env = variables(value) ?? void bad([key], WANTED_ENV);
        break;
      case "state":
        draft.state = homePaths(value) ?? void bad([key], WANTED_STATE);
        break;
      case "known":
        draft.known = versionList(value) ?? void bad([key], WANTED_VERSIONS);
        break;
      case "needs":
        draft.needs = readNeeds(value, base?.needs, bad);
        break;
      case "install":
        draft.install = installCommand(value) ?? void bad([key], WANTED_INSTALL);
        break;
      case "sign_in":
        draft.signIn = installCommand(value) ?? void bad([key], WANTED_INSTALL);
        break;
      case "idle_seconds":
        draft.idleSeconds = seconds(value) ?? void bad([key], WANTED_SECONDS);
        break;
      case "client_config":
        readClientConfig(value, draft, bad);
        break;
      default:
        bad([key], "is not a known key");
    }
  }
  return draft;
}

const WANTED_PLACES = "placeholders are {lib}, {home} and {agent}";
const WANTED_ENV =
  "must map names of capitals, digits and _ to texts, without HOME and FLEETCTL_*; " +
  `${WANTED_PLACES}`;
const WANTED_STATE = `must be a list of paths below {home}/; ${WANTED_PLACES}`;
const WANTED_SECONDS = `must be a whole number from 0 (never) to ${IDLE_SECONDS_MAX}`;
const WANTED_PROGRAM = `must be an absolute path or start with a placeholder; ${WANTED_PLACES}`;

function readClientConfig(
  value: unknown,
  draft: Draft,
  bad: (path: readonly string[], wanted: string) => void,
): void {
  if (!isRecord(value)) return bad(["client_config"], "must be a mapping");
  for (const [key, part] of Object.entries(value)) {
    const at = ["client_config", key];
    if (key === "path") draft.path = absolutePath(part) ?? void bad(at, WANTED_PROGRAM);
    else if (key === "shape") {
      draft.shape = oneOf(part, CLIENT_CONFIG_SHAPES) ?? void bad(at, among(CLIENT_CONFIG_SHAPES));
    } else bad(at, "is not a known key");
  }
}

/** Returns a definition's string with its placeholders replaced. */
export function fillPlaceholders(
  template: string,
  values: { readonly lib: string; readonly home: string; readonly agent: string },
): string {
  return template.replaceAll(PLACEHOLDER, (whole, name: string) => {
    if (name === "lib") return values.lib;
    if (name === "home") return values.home;
    return name === "agent" ? values.agent : whole;
  });
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value.length > 0 && value.length <= TEXT_LENGTH_MAX &&
      !value.includes("\0")
    ? value
    : undefined;
}

function withKnownPlaceholders(value: unknown): string | undefined {
  const known = text(value);
  if (known === undefined) return undefined;
  const names = [...known.matchAll(PLACEHOLDER)].map((match) => match[1] ?? "");
  return names.every((name) => PLACEHOLDERS.has(name)) ? known : undefined;
}

/** Returns a path that is absolute, or becomes absolute when its placeholder is replaced. */
function absolutePath(value: unknown): string | undefined {
  const known = withKnownPlaceholders(value);
  return known !== undefined && /^(\/|\{(lib|home)\}\/)/.test(known) ? known : undefined;
}

function list(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > ARGS_MAX) return undefined;
  const items = value.map(withKnownPlaceholders);
  return items.every((item) => item !== undefined) ? items : undefined;
}

function homePaths(value: unknown): readonly string[] | undefined {
  const paths = list(value);
  const isBelow = (path: string) => /^\{home\}\/[^/]/.test(path) && !/\/\.{1,2}(\/|$)/.test(path);
  return paths?.every(isBelow) === true ? paths : undefined;
}

function variables(value: unknown): Readonly<Record<string, string>> | undefined {
  if (!isRecord(value)) return undefined;
  const pairs = Object.entries(value);
  const isUsable = pairs.length <= ENV_MAX &&
    pairs.every(([name, part]) =>
      ENV_NAME.test(name) && !ENV_OWN.test(name) && withKnownPlaceholders(part) !== undefined
    );
  return isUsable ? value as Readonly<Record<string, string>> : undefined;
}

function seconds(value: unknown): number | undefined {
  const isUsable = typeof value === "number" && Number.isInteger(value) && value >= 0 &&
    value <= IDLE_SECONDS_MAX;
  return isUsable ? value : undefined;
}

function oneOf<const T extends string>(value: unknown, words: readonly T[]): T | undefined {
  return words.find((word) => word === value);
}

function among(words: readonly string[]): string {
  return `must be one of ${words.join(", ")}`;
}
