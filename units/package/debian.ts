/**
 * The control files of the Debian package, as text. Pure.
 *
 * Installing creates accounts and folders, renders the host (which makes its keys), and starts the
 * daemon where systemd runs. Removing stops what runs and keeps the fleet; purging removes all that
 * fleetctl wrote outside the homes of agents, whose Unix users stay.
 *
 * @module
 */

import { DAEMON_UNIT } from "units/render/unit_name.ts";

/** Names of Debian's architectures. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x86_64: "amd64", aarch64: "arm64" };

/** Returns Debian's name of an architecture. */
export function debianArchitecture(arch: string): string {
  return ARCHITECTURES[arch] ?? arch;
}

/** Renders `control`. */
export function controlText(
  about: { readonly version: string; readonly arch: string; readonly kilobytes: number },
): string {
  return `Package: fleetctl
Version: ${about.version}
Architecture: ${debianArchitecture(about.arch)}
Maintainer: fleetctl maintainers <fleetctl@localhost>
Installed-Size: ${about.kilobytes}
Depends: libc6 (>= 2.31), libgcc-s1, git, passwd, procps
Recommends: systemd, dbus, util-linux, iproute2, bash-completion
Suggests: chromium, python3-pip
Section: admin
Priority: optional
Description: fleet of long-lived agents on your own hosts
 One command-line tool and a root daemon manage agents, their vendored MCP
 tool servers and their gateways. Holds its own pinned Deno.
`;
}

const POSTINST = `#!/bin/sh
set -e
[ "$1" = configure ] || exit 0

if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers fleetctl.conf
else
  getent group agents >/dev/null || groupadd --system agents
  for user in fleetctl-gateway fleetctl-host fleetctl-login fleetctl-teamchat fleetctl-teamchat-receiver; do
    getent passwd "$user" >/dev/null || useradd --system --user-group --no-create-home \\
      --home-dir "/var/lib/fleetctl/\${user#fleetctl-}" --shell /usr/sbin/nologin "$user"
  done
fi
# The folders of tmpfiles.d, also where systemd is not there to make them.
for folder in /etc/fleetctl /etc/fleetctl/env /var/lib/fleetctl /var/cache/fleetctl \\
  /var/cache/fleetctl/deno /run/fleetctl /run/mcp; do
  install -d -o root -g root -m 755 "$folder"
done
install -d -o root -g root -m 750 /var/log/fleetctl

# Only on a host that runs: an image must not carry keys that all its copies would share.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  env -u FLEETCTL_ROOT /usr/lib/fleetctl/fleetctl apply || {
    echo "fleetctl is installed, but this host is not as it should be yet; run: fleetctl apply" >&2
  }
  systemctl enable --quiet ${DAEMON_UNIT}
  # Without the key that signs grants the daemon could only refuse, and root would not be heard.
  [ ! -s /etc/fleetctl/host-op.env ] || systemctl start ${DAEMON_UNIT}
fi
`;

const PRERM = `#!/bin/sh
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
  remove)
    systemctl stop 'fleetctl-*.service' 'mcp-*.socket' 'mcp-*.service'
    systemctl disable --quiet ${DAEMON_UNIT}
    for unit in /etc/systemd/system/fleetctl-*.service /etc/systemd/system/mcp-*.socket; do
      # Rendered units stay for the next install, and must not start without their programs.
      [ ! -f "$unit" ] || systemctl disable --quiet "\${unit##*/}"
    done
    ;;
  # Agents go on; the daemon must not run verbs of two versions at once.
  upgrade | deconfigure) systemctl stop ${DAEMON_UNIT} ;;
esac
`;

const POSTRM = `#!/bin/sh
set -e
case "$1" in
  purge)
    rm -rf /etc/fleetctl /var/lib/fleetctl /var/cache/fleetctl /var/log/fleetctl /run/fleetctl /run/mcp
    # What was rendered beside the package's files.
    rm -rf /usr/lib/fleetctl
    for unit in /etc/systemd/system/fleetctl-*.service /etc/systemd/system/mcp-*.service \\
      /etc/systemd/system/mcp-*.socket; do
      [ -f "$unit" ] || continue
      head -n 1 "$unit" | grep -q '^# Rendered by fleetctl' || continue
      find /etc/systemd/system -mindepth 2 -name "\${unit##*/}" -type l -delete
      rm -f "$unit"
    done
    # Accounts stay: a later user must never get their numbers together with files they left.
    ;;
esac
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
`;

/** The maintainer scripts, by name. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  postinst: POSTINST,
  prerm: PRERM,
  postrm: POSTRM,
};

/** A package inside the programs, with the terms it came with. */
export interface Ingredient {
  readonly name: string;
  readonly license: string | undefined;
}

const MIT =
  `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction,
including without limitation the rights to use, copy, modify, merge, publish, distribute,
sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES
OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Renders `copyright`: what is in the package and under which terms. */
export function copyrightText(ingredients: readonly Ingredient[]): string {
  const parts = [
    "fleetctl\nCopyright: the fleetctl maintainers",
    `usr/lib/fleetctl/deno\nCopyright: the Deno authors\n\n${MIT}`,
    ...ingredients.map(({ name, license }) =>
      `usr/lib/fleetctl/programs: ${name}\n\n${
        license?.trim() ?? "No file with terms came with it."
      }`
    ),
  ];
  return `${parts.join(`\n\n${"-".repeat(72)}\n\n`)}\n`;
}
