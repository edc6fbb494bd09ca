/**
 * Tries out a vendored server. It starts with made-up keys in an empty home. Where this host can
 * isolate it, it has no network. Where this program is root, it runs as an unprivileged user. It
 * lists its tools and gets one call of a read-only tool. Deno's permission audit records what it
 * requested.
 *
 * Under systemd each start is a transient unit (`units/render/mcp/try_unit.ts`).
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import {
  joinGrants,
  missingGrants,
  namedPaths,
  readAudit,
  type RequestedAccess,
  safeTrialGrants,
  trialCall,
  withGrants,
} from "core/catalog/dry_start.ts";
import type { Grants } from "core/catalog/edit.ts";
import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";
import { treePath } from "core/catalog/vendor.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { lastLines, missingAddon } from "core/catalog/start_failure.ts";
import type { McpTool, ProgramEndpoint } from "core/ports/mcp_client.ts";
import type { AgentName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import { expandPlaceholders, serverCommand, type ServerContext } from "units/render/mcp/command.ts";
import { PROGRAM_PATH } from "units/render/mcp/service.ts";
import { escapeWord, TRY_SLICE, tryUnitWords } from "units/render/mcp/try_unit.ts";
import { DAEMON_UNIT } from "units/render/unit_name.ts";

/** The result of a try. */
export interface Tried {
  /** Undefined when the server listed no tools. */
  readonly tools: readonly McpTool[] | undefined;
  readonly requested: RequestedAccess;
  /** Why it listed none. */
  readonly fault?: Refusal;
}

/** Maximum number of further starts, each with more of the harmless permissions it requested. */
const ROUNDS_MAX = 12;
const NOBODY = 65534;
const SYSTEM_BUS = "/run/dbus/system_bus_socket";
const CALL_MS_MAX = 20_000;
const TRY_AGENT = "nobody" as AgentName;

/** Tries out the server of a tree that is not in use yet. */
export async function tryOut(
  context: VerbContext,
  manifest: Manifest,
  tree: string,
): Promise<Tried> {
  const { files, random } = context.ports;
  await sweepTries(context);
  const folder = `${context.paths.tries}/${random.uuid()}`;
  const home = `${folder}/home`;
  const place = { home, tree, workdir: workdirOf(home), named: namedPaths(manifest) };
  const confined = await confinement(context, isSandboxed(manifest));
  if (!confined.ok) {
    return { tools: undefined, requested: readAudit("", place), fault: confined.error };
  }
  const confine = confined.value;
  const owner = confine.kind === "namespaces" ? { uid: NOBODY, gid: NOBODY } : {};
  try {
    await files.ensureDir(context.paths.tries, { mode: 0o711 });
    // With a unit, only the manager opens this folder. Its name is visible in the process list
    // while it is in use.
    await files.ensureDir(folder, { mode: confine.kind === "unit" ? 0o700 : 0o711 });
    await files.ensureDir(home, { mode: 0o700, ...owner });
    let grants: Grants = {};
    await files.ensureDir(place.workdir, { mode: 0o700, ...owner });
    let requested = readAudit("", place);
    for (let round = 0;; round++) {
      const start = await startOf(context, withGrants(manifest, grants), {
        tree,
        folder,
        home,
        confine,
        round,
      });
      const found = await listAndCall(context, manifest, start);
      const now = readAudit(await files.readText(start.audit) ?? "", place);
      requested = joinRequested(requested, now);
      if ("tools" in found) return { tools: found.tools, requested };
      const more = missingGrants(
        joinGrants(safeTrialGrants(requested.permissions)),
        joinGrants(manifest.permissions, grants),
      );
      if (Object.keys(more).length === 0 || round === ROUNDS_MAX) {
        return { tools: undefined, requested, fault: found.fault };
      }
      grants = joinGrants(grants, more);
    }
  } finally {
    await endTry(context, folder);
  }
}

/** Cleans up after an interrupted verb. Only one verb tries servers at a time. */
async function sweepTries(context: VerbContext): Promise<void> {
  const { tries } = context.paths;
  for (const name of await context.ports.files.list(tries)) {
    await endTry(context, `${tries}/${name}`);
  }
}

/** Ends every server that is being tried out, then deletes the folder of one try. */
async function endTry(context: VerbContext, folder: string): Promise<void> {
  await endServers(context);
  await context.ports.files.remove(folder, { recursive: true });
}

async function endServers({ ports, paths }: VerbContext): Promise<void> {
  const services = ports.services(paths);
  if (services.name === "systemd" && await services.isRunning()) await services.stop(TRY_SLICE);
}

function joinRequested(a: RequestedAccess, b: RequestedAccess): RequestedAccess {
  const union = (x: readonly string[], y: readonly string[]) => [...new Set([...x, ...y])].sort();
  return {
    permissions: joinGrants(a.permissions, b.permissions),
    refused: union(a.refused, b.refused),
    keys: union(a.keys, b.keys),
  };
}

/** One start of a server: the program, and the path of its audit. */
interface Start {
  readonly program: () => ProgramEndpoint;
  readonly audit: string;
}

async function listAndCall(
  context: VerbContext,
  manifest: Manifest,
  start: Start,
): Promise<{ readonly tools: readonly McpTool[] } | { readonly fault: Refusal }> {
  const client = await context.ports.openMcpClient();
  const listed = await client.listTools(manifest.name, start.program());
  await endServers(context);
  if (!listed.ok) return { fault: tryFailed(manifest.name, listed.error) };
  const call = trialCall(listed.value);
  if (call !== undefined) {
    // The call fails without a real key and a network. The audit records what it tried to access.
    await client.callTool(manifest.name, start.program(), { ...call, timeoutMs: CALL_MS_MAX });
    await endServers(context);
  }
  return { tools: listed.value };
}

/**
 * Adds the server's last output, which explains the fault best. Its log is deleted with the try.
 */
function tryFailed(mcp: string, { message, details }: Refusal): Refusal {
  const text = details.join("\n");
  const addon = missingAddon(text);
  const state = message.replace(/^Cannot [^:]*: /, "");
  return refusal(
    "try-failed",
    `Cannot try out MCP "${mcp}": ${state}${addon === undefined ? "" : `; ${addon}`}`,
    { details: lastLines(text) },
  );
}

interface TryStart {
  readonly tree: string;
  readonly folder: string;
  readonly home: string;
  readonly confine: Confinement;
  readonly round: number;
}

async function startOf(context: VerbContext, manifest: Manifest, at: TryStart): Promise<Start> {
  const { files, random } = context.ports;
  const name = `.audit-${at.round}`;
  const seenAs = `${at.home}/${name}`;
  const argv = serverArgv(context, manifest, at);
  const env = serverEnv(context, manifest, { ...at, audit: seenAs });
  const { confine } = at;
  if (confine.kind !== "unit") {
    const [command = "", ...args] = [...confine.words, ...argv];
    const program = () => ({ command, args, cwd: at.home, env, keepsStderr: true }) as const;
    return { audit: seenAs, program };
  }
  const audit = { file: `${at.folder}/${name}`, seenAs };
  const root = `${at.folder}/root`;
  await files.ensureDir(root, { mode: 0o755 });
  // The unit's dynamic user is unknown before it runs, so the file is writable for all. Only this
  // folder is reachable for it.
  await files.write(audit.file, "", { mode: 0o666 });
  const program = (): ProgramEndpoint => {
    const [command = "", ...args] = tryUnitWords(confine.systemdRun, {
      unit: `fleetctl-try-${random.uuid()}.service`,
      boundTo: confine.boundTo,
      limits: manifest.limits,
      root,
      tree: at.tree,
      home: at.home,
      workdir: workdirOf(at.home),
      audit,
      env,
    });
    return {
      command,
      args: [...args, ...argv.map(escapeWord)],
      env: { PATH: env["PATH"] ?? "", LC_ALL: "C" },
      keepsStderr: true,
    };
  };
  return { audit: audit.file, program };
}

function placeOf({ paths }: VerbContext, home: string): ServerContext {
  const workdir = workdirOf(home);
  return { paths: { ...paths, home: () => home }, agent: TRY_AGENT, workdir, closed: [] };
}

function workdirOf(home: string): string {
  return `${home}/workspace`;
}

/** Drops the first two words, which verify the tree in use. This tree was hashed just before. */
function serverArgv(
  context: VerbContext,
  manifest: Manifest,
  { tree, home, confine }: TryStart,
): readonly string[] {
  const inUse = treePath(context.paths, manifest.name);
  const place = placeOf(context, home);
  return serverCommand(manifest, place, confine.kind !== "unit").slice(2)
    .map((word) => word.replaceAll(`${inUse}/`, `${tree}/`));
}

function serverEnv(
  context: VerbContext,
  manifest: Manifest,
  { home, audit }: TryStart & { readonly audit: string },
): Readonly<Record<string, string>> {
  const place = placeOf(context, home);
  const fixed = Object.entries(manifest.environment)
    .map(([name, value]) => [name, expandPlaceholders(value, manifest, place)] as const);
  const keys = [...manifest.requiredEnv, ...manifest.userEnv].map((key) => [key, "made-up"]);
  return {
    PATH: PROGRAM_PATH,
    HOME: home,
    DENO_DIR: `${home}/.deno`,
    DENO_NO_UPDATE_CHECK: "1",
    DENO_AUDIT_PERMISSIONS: audit,
    NO_COLOR: "1",
    ...Object.fromEntries(fixed),
    ...Object.fromEntries(keys),
  };
}

/** How a server that is tried out is isolated. */
export type Confinement =
  /** Only the server's own sandbox: the caller has no more rights than the later server. */
  | { readonly kind: "none"; readonly words: readonly [] }
  /** Words before the server's command that remove its rights and its network. */
  | { readonly kind: "namespaces"; readonly words: readonly string[] }
  /** A separate transient unit of the manager. */
  | { readonly kind: "unit"; readonly systemdRun: string; readonly boundTo: string | undefined };

/**
 * Chooses the isolation of a server. Without root it is `none`. As root a server always runs
 * isolated, because its code is untrusted.
 */
export async function confinement(
  context: Pick<VerbContext, "paths"> & {
    readonly ports: Pick<VerbContext["ports"], "users" | "files" | "processes" | "services">;
  },
  needsSandbox: boolean,
): Promise<Result<Confinement>> {
  const { ports, paths } = context;
  const isRoot = ports.users.currentUid() === 0 && paths.root === "/";
  const services = ports.services(paths);
  if (isRoot && services.name === "systemd" && await services.isRunning()) {
    const systemdRun = await ports.processes.which("systemd-run");
    if (systemdRun === undefined) return err(unconfined("systemd-run", "systemd"));
    // `systemd-run` needs the system bus to wait for a unit.
    const bus = await ports.files.stat(SYSTEM_BUS);
    if (bus === undefined) return err(unconfined("the system bus", "dbus"));
    const [daemon] = await services.status([DAEMON_UNIT]);
    const boundTo = daemon?.active === "active" ? DAEMON_UNIT : undefined;
    return ok({ kind: "unit", systemdRun, boundTo });
  }
  // Deno always confines its servers. Python and Node need a sandbox.
  if (needsSandbox && await ports.processes.which("bwrap") === undefined) {
    return err(unconfined("bwrap", "bubblewrap"));
  }
  // Under another root its owner is the operator, and the folders above it are closed to others.
  if (!isRoot) return ok({ kind: "none", words: [] });
  const unshare = await ports.processes.which("unshare");
  const setpriv = await ports.processes.which("setpriv");
  if (unshare === undefined) return err(unconfined("unshare", "util-linux"));
  if (setpriv === undefined) return err(unconfined("setpriv", "util-linux"));
  return ok({
    kind: "namespaces",
    words: [
      unshare,
      "--net",
      "--",
      setpriv,
      "--reuid",
      `${NOBODY}`,
      "--regid",
      `${NOBODY}`,
      "--clear-groups",
      "--no-new-privs",
      "--",
    ],
  });
}

function unconfined(missing: string, install: string): Refusal {
  return refusal(
    "try-unconfined",
    `Cannot try out the server: ${missing} is not on this host, must be installed to run it ` +
      `without root's rights and the network`,
    { hints: [`apt-get install ${install}`] },
  );
}
