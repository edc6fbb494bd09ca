#!/bin/sh
# Creates accounts and folders, renders the host, and starts the daemon where systemd runs.
set -e
[ "$1" = configure ] || exit 0

if command -v systemd-sysusers >/dev/null 2>&1; then
  SYSTEMD_LOG_LEVEL=warning systemd-sysusers fleetctl.conf
else
  getent group agents >/dev/null || groupadd --system agents
  for user in fleetctl-gateway fleetctl-host fleetctl-login fleetctl-teamchat fleetctl-teamchat-receiver; do
    getent passwd "$user" >/dev/null || useradd --system --user-group --no-create-home \
      --home-dir "/var/lib/fleetctl/${user#fleetctl-}" --shell /usr/sbin/nologin "$user"
  done
fi
# Creates the folders of tmpfiles.d, also on a host without systemd.
for folder in /etc/fleetctl /etc/fleetctl/env /var/lib/fleetctl /var/lib/fleetctl/permissions \
  /var/cache/fleetctl /var/cache/fleetctl/deno /run/fleetctl /run/mcp; do
  install -d -o root -g root -m 755 "$folder"
done
install -d -o root -g root -m 750 /var/log/fleetctl

# Shows the output of apply on a terminal; in a script, prints it only on failure.
apply() {
  if [ -t 1 ]; then
    env -u FLEETCTL_ROOT /usr/lib/fleetctl/fleetctl apply
    return
  fi
  if said=$(env -u FLEETCTL_ROOT /usr/lib/fleetctl/fleetctl apply 2>&1); then return 0; fi
  printf '%s\n' "$said" >&2
  return 1
}

# Only on a running host: an image must not contain keys that all its copies would share.
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  apply || {
    echo "fleetctl is installed, but this host is not as it should be yet; run: fleetctl apply" >&2
  }
  systemctl enable --quiet fleetctl-daemon.service
  # Without the key that signs grants, the daemon would refuse all requests, even those of root.
  [ ! -s /etc/fleetctl/host-op.env ] || systemctl start fleetctl-daemon.service
fi
# Files that a removal kept for a purge that never ran.
rm -f /var/lib/fleetctl/removed.age /var/lib/fleetctl/removed.secrets
# Older versions rendered these beside the programs; preinst has copied them.
rm -f /usr/lib/fleetctl/permissions-*.json
