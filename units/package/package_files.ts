/**
 * The rendered files of an installed host: launchers and permission sets for `/`, the daemon's
 * unit, the accounts and folders it needs. Pure. It uses the renderers of `fleetctl apply`, so that
 * the first apply changes nothing here.
 *
 * @module
 */

import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import { DEFAULT_ROLES } from "core/ledger/host_roles.ts";
import { pathsUnder } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";
import { unitFile } from "units/reconcile/desired_part.ts";
import { renderLaunchers } from "units/render/launchers.ts";
import { hostPermissions, renderProgramPermissions } from "units/render/permission_files.ts";
import { renderDaemon } from "units/render/roles/daemon.ts";
import { DAEMON_UNIT } from "units/render/unit_name.ts";

const RECEIVER_HOME = "/var/lib/fleetctl/teamchat-receiver";
/** Users and the group that own parts of a host. */
const SYSUSERS = `# Accounts of fleetctl; see sysusers.d(5).
g agents -
u fleetctl-gateway - "fleetctl gateway" /var/lib/fleetctl/gateway /usr/sbin/nologin
u fleetctl-host - "fleetctl host unit" / /usr/sbin/nologin
u fleetctl-login - "fleetctl login" /var/lib/fleetctl/login /usr/sbin/nologin
u fleetctl-teamchat - "fleetctl team chat" /var/lib/fleetctl/teamchat /usr/sbin/nologin
u fleetctl-teamchat-receiver - "fleetctl team chat receiver" ${RECEIVER_HOME} /usr/sbin/nologin
`;

/** Folders of a host; a role's unit creates the folders of that role. */
const TMPFILES = `# Folders of fleetctl; see tmpfiles.d(5).
d /etc/fleetctl 0755 root root -
d /etc/fleetctl/env 0755 root root -
d /var/lib/fleetctl 0755 root root -
d /var/lib/fleetctl/permissions 0755 root root -
d /var/log/fleetctl 0750 root root -
d /var/cache/fleetctl 0755 root root -
d /var/cache/fleetctl/deno 0755 root root -
d /run/fleetctl 0755 root root -
d /run/mcp 0755 root root -
`;

/** Renders the files of a package, with their paths on the host. */
export function packageFiles(): Result<readonly RenderedFile[]> {
  const paths = pathsUnder("/");
  const { shape } = DEFAULT_ROLES;
  const context = { paths, shape, roles: {} };
  const sets = hostPermissions(context);
  if (!sets.ok) return sets;
  return ok([
    ...renderLaunchers(shape, paths),
    renderProgramPermissions(context, sets.value),
    // The vendor folder for units: files that an operator or `apply` writes to /etc take
    // precedence.
    { ...unitFile(renderDaemon(paths), paths), path: `/usr/lib/systemd/system/${DAEMON_UNIT}` },
    plain("/usr/lib/sysusers.d/fleetctl.conf", SYSUSERS),
    plain("/usr/lib/tmpfiles.d/fleetctl.conf", TMPFILES),
  ]);
}

/** A file that root owns and all users may read. */
export function plain(path: string, content: string): RenderedFile {
  return { path, content, mode: 0o644, owner: ROOT_OWNER, secret: false };
}
