/**
 * Prepares the start of a service: environment, working directory, folders and credentials. Reads
 * the environment files at each start, as systemd does. A fault is one sentence that names the file
 * and never a value.
 *
 * @module
 */

import type { Files } from "core/ports/files.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import type { Paths } from "core/paths.ts";
import { INVOCATION_VARIABLE } from "units/manager/os/processes/members.ts";
import type { ServiceFolder, ServiceSpec } from "units/manager/units/service_spec.ts";

/**
 * Environment variable of every child: this manager's socket, so that the next manager finds
 * leftovers.
 */
export const MANAGER_VARIABLE = "FLEETCTL_MANAGED_BY";

/** Environment variable of every child: its unit, so that a leftover process can be named. */
export const UNIT_VARIABLE = "FLEETCTL_UNIT";

/** Search path for programs, unless the unit sets its own (systemd's default). */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const FOLDER_BASES: Readonly<Record<ServiceFolder["kind"], string>> = {
  Runtime: "/run",
  State: "/var/lib",
  Cache: "/var/cache",
  Logs: "/var/log",
};
const FOLDER_VARIABLES: Readonly<Record<ServiceFolder["kind"], string>> = {
  Runtime: "RUNTIME_DIRECTORY",
  State: "STATE_DIRECTORY",
  Cache: "CACHE_DIRECTORY",
  Logs: "LOGS_DIRECTORY",
};
const CREDENTIAL_FOLDER_MODE = 0o700;
const CREDENTIAL_MODE = 0o400;

/** Dependencies of a start. */
export interface ExecutionContextDeps {
  readonly paths: Paths;
  readonly files: Files;
  /** Variables for every service, such as `LANG`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Returns a new invocation id for each start. */
  readonly invocation: () => string;
}

/** Environment, working directory and credentials of a child. */
export interface ExecutionContext {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** Returns the folder that contains the copies of a unit's credentials while it runs. */
export function credentialFolder(paths: Paths, unit: string): string {
  return `${paths.managerState}/credentials/${unit}`;
}

/** Prepares the execution context of a service; throws an `Error` that states what is missing. */
export async function prepareExecutionContext(
  unit: string,
  spec: ServiceSpec,
  deps: ExecutionContextDeps,
): Promise<ExecutionContext> {
  const { paths, files } = deps;
  const env: Record<string, string> = {
    PATH: DEFAULT_PATH,
    FLEETCTL_ROOT: paths.root,
    ...deps.environment,
    [INVOCATION_VARIABLE]: deps.invocation(),
    [MANAGER_VARIABLE]: paths.managerSocket,
    [UNIT_VARIABLE]: unit,
    ...(spec.user === undefined ? {} : userVariables(paths, spec.user)),
    ...await makeFolders(spec.folders, deps),
  };
  if (spec.credentials.length > 0) {
    env["CREDENTIALS_DIRECTORY"] = await copyCredentials(unit, spec, deps);
  }
  for (const [name, value] of spec.environment) env[name] = value;
  for (const { path, isOptional } of spec.environmentFiles) {
    const text = await files.readText(path);
    if (text === undefined && !isOptional) {
      throw new Error(`the environment file ${JSON.stringify(path)} does not exist`);
    }
    const values = parseEnvFile(text ?? "");
    if (!values.ok) {
      throw new Error(
        `the environment file ${JSON.stringify(path)} is unusable: ` +
          values.error.details.join("; "),
      );
    }
    for (const [name, value] of values.value) env[name] = value;
  }
  for (const word of spec.unset) {
    const [name, value] = word.split(/=(.*)/s);
    if (name !== undefined && (value === undefined || env[name] === value)) delete env[name];
  }
  return { env, cwd: await chooseFolder(spec, env, deps) };
}

/** Removes what was prepared for one run. */
export async function removeExecutionContext(
  unit: string,
  spec: ServiceSpec,
  deps: ExecutionContextDeps,
): Promise<void> {
  if (spec.credentials.length === 0) return;
  await deps.files.remove(credentialFolder(deps.paths, unit), { recursive: true });
}

/** Variables that systemd sets for `User=`; the service still runs as the user of the manager. */
function userVariables(paths: Paths, user: string): Readonly<Record<string, string>> {
  const home = user === "root" ? paths.at("/root") : paths.home(user);
  return { USER: user, LOGNAME: user, HOME: home, SHELL: "/bin/sh" };
}

async function makeFolders(
  folders: readonly ServiceFolder[],
  deps: ExecutionContextDeps,
): Promise<Readonly<Record<string, string>>> {
  const variables: Record<string, string> = {};
  for (const { kind, name, mode } of folders) {
    const path = deps.paths.at(`${FOLDER_BASES[kind]}/${name}`);
    // An existing folder keeps its mode: the manager's run folder contains its own socket.
    if (await deps.files.stat(path) === undefined) await deps.files.ensureDir(path, { mode });
    const variable = FOLDER_VARIABLES[kind];
    const before = variables[variable];
    variables[variable] = before === undefined ? path : `${before}:${path}`;
  }
  return variables;
}

async function copyCredentials(
  unit: string,
  spec: ServiceSpec,
  { paths, files }: ExecutionContextDeps,
): Promise<string> {
  const folder = credentialFolder(paths, unit);
  await files.ensureDir(folder, { mode: CREDENTIAL_FOLDER_MODE });
  for (const { id, path } of spec.credentials) {
    const bytes = await files.readBytes(path);
    if (bytes === undefined) {
      throw new Error(`the credential file ${JSON.stringify(path)} does not exist`);
    }
    await files.write(`${folder}/${id}`, bytes, { mode: CREDENTIAL_MODE });
  }
  return folder;
}

async function chooseFolder(
  spec: ServiceSpec,
  env: Readonly<Record<string, string>>,
  { paths, files }: ExecutionContextDeps,
): Promise<string> {
  const wanted = spec.workingDirectory;
  if (wanted === undefined) return paths.root;
  const path = wanted.path === "~" ? env["HOME"] ?? paths.root : wanted.path;
  if ((await files.stat(path)) !== undefined) return path;
  if (wanted.isOptional) return paths.root;
  throw new Error(`the working directory ${JSON.stringify(path)} does not exist`);
}
