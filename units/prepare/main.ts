/**
 * Prepares a root to run the programs of a source tree or of a build: launchers, permission sets
 * and the shape in `roles.yaml`. `units/prepare/under_root.sh` calls it before it starts a program,
 * because a program needs its permission set on disk first. That script also makes the link to the
 * pinned Deno, because creating a link needs rights to every path. Idempotent; prints nothing on
 * success.
 *
 * Arguments: `tree` or `bundle`, its folder, Deno's cache, root (all absolute), then the program
 * about to start. A role that is not installed gets a permission set from its environment.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { denoFiles } from "core/os/files.ts";
import type { Refusal } from "core/errors.ts";
import {
  editHostRoles,
  type HostRoles,
  parseHostRoles,
  printHostRoles,
} from "core/ledger/host_roles.ts";
import { privateAddressOf } from "core/net/ip.ts";
import { withLocalHints } from "core/hints/local_hints.ts";
import { pathsUnder } from "core/paths.ts";
import type { Files } from "core/ports/files.ts";
import { ok } from "core/result.ts";
import { checkRootFolder, rootRefusal } from "core/hints/root_refusal.ts";
import { knownCloud, parseCloud, reachableHosts } from "core/teamchat/cloud.ts";
import { upstreamHost, withUninstalled } from "units/prepare/uninstalled_role.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import {
  hostPermissions,
  renderHostPermissions,
  renderProgramPermissions,
} from "units/render/permission_files.ts";

function fail(lines: readonly string[], code: number): never {
  for (const line of lines) console.error(line);
  Deno.exit(code);
}

/** Prints a refusal in the format of the command line. */
function failWith(refused: Refusal): never {
  // A build is called by its own name, a source tree through `./dev`.
  const reason = kind !== "tree" ? refused : withLocalHints(refused, {
    FLEETCTL_FROM_TREE: dir ?? "",
    FLEETCTL_ROOT: root ?? "",
  });
  fail([
    `fleetctl: ${reason.message}`,
    ...reason.details.map((detail) => `  ${detail}`),
    ...reason.hints.map((hint) => `hint: ${hint}`),
  ], 1);
}

async function prepare(shape: HostRoles["shape"], root: string): Promise<void> {
  const files = denoFiles();
  const paths = pathsUnder(root);
  const owned = checkRootFolder(root, await files.stat(root), Deno.uid() ?? -1);
  if (!owned.ok) failWith(owned.error);
  await files.ensureDir(paths.etc, { mode: 0o755 });
  await files.ensureDir(paths.lib, { mode: 0o755 });
  await files.ensureDir(paths.permissionsDir, { mode: 0o755 });
  const before = await files.readText(paths.rolesFile);
  const parsed = parseHostRoles(before, paths.rolesFile);
  if (!parsed.ok) failWith(parsed.error);
  const roles: HostRoles = { ...parsed.value, shape };
  const text = before === undefined ? ok(printHostRoles(roles)) : editHostRoles(before, {
    shape: { kind: shape.kind, dir: shape.dir, deno_dir: shape.denoDir },
  }, paths.rolesFile);
  if (!text.ok) failWith(text.error);
  if (text.value !== before) await files.write(paths.rolesFile, text.value, { mode: 0o644 });
  const read = (name: string) => Deno.env.get(name);
  const here = withUninstalled(roles, program, { read, privateAddress: ownPrivateAddress() });
  const teamchat = await teamchatContext(files, here);
  const upstream = here === roles ? undefined : upstreamHost(read("WEBVIEW_UPSTREAM"));
  const context = {
    paths,
    shape: roles.shape,
    roles: {
      ...defined({ gateway: here.gateway }),
      ...(here.login === undefined ? {} : {
        login: { ...here.login, ...defined({ upstream }) },
      }),
      ...defined({ teamchat }),
    },
  };
  const sets = hostPermissions(context);
  if (!sets.ok) failWith(sets.error);
  for (
    const file of [
      ...renderLaunchers(roles.shape, paths),
      renderProgramPermissions(context, sets.value),
      renderHostPermissions(context, sets.value),
    ]
  ) {
    if (await files.readText(file.path) === file.content) continue;
    await files.write(file.path, file.content, { mode: file.mode });
  }
}

/**
 * What the team-chat gateway of this root may reach. A cloud file that cannot be read gives no
 * hosts; `up` reports it.
 */
async function teamchatContext(files: Pick<Files, "readText">, { teamchat }: HostRoles) {
  if (teamchat === undefined) return undefined;
  const known = knownCloud(teamchat.cloud);
  const text = known === undefined ? await files.readText(teamchat.cloud) : undefined;
  const cloud = known === undefined ? parseCloud(text ?? "", teamchat.cloud) : ok(known);
  return {
    listen: teamchat.listen,
    registerListen: teamchat.registerListen,
    hosts: cloud.ok ? reachableHosts([cloud.value], "either") : { keys: [], answers: [] },
    cloudFile: known === undefined ? teamchat.cloud : undefined,
  };
}

/**
 * Returns the private address of this machine. Queried only where `under_root.sh` permits it:
 * before a role that is not installed.
 */
function ownPrivateAddress(): string | undefined {
  if (Deno.permissions.querySync({ name: "sys", kind: "networkInterfaces" }).state !== "granted") {
    return undefined;
  }
  return privateAddressOf(Deno.networkInterfaces().map(({ address }) => address));
}

const [kind, dir, denoDir, root, program] = Deno.args;
if (
  (kind !== "tree" && kind !== "bundle") ||
  dir === undefined || denoDir === undefined || root === undefined
) {
  fail(["usage: fleetctl-prepare tree|bundle FOLDER DENO_DIR ROOT [PROGRAM]"], 2);
}
if (root === "/") {
  fail([
    'fleetctl: Cannot use root "/": must be a separate folder; "/" is reserved for the package',
    "hint: fleetctl up --root ~/.fleetctl",
  ], 2);
}
try {
  await prepare({ kind, dir, denoDir }, root);
} catch (thrown) {
  failWith(rootRefusal(root, thrown));
}
