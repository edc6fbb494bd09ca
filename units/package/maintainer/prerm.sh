#!/bin/sh
# Stops all running units. The fleet stays for the next install.
set -e

# Seals a copy of the fleet and keeps it beside the fleet, because a purge runs without the programs
# that can seal one. Without a recovery key, keeps the number of secrets for the purge to report.
keep_copy() {
  state=/var/lib/fleetctl
  rm -f "$state/removed.age" "$state/removed.secrets"
  [ -f "$state/repo/recipients" ] || return 0
  if why=$(umask 077 && env -u FLEETCTL_ROOT /usr/lib/fleetctl/fleetctl secret recovery copy \
    2>&1 >"$state/removed.age"); then
    return 0
  fi
  rm -f "$state/removed.age"
  count=$(printf '%s\n' "$why" | sed -n 's/.*sealed copy of \([0-9][0-9]*\) secrets: no recovery key.*/\1/p')
  if [ -n "$count" ]; then
    printf '%s\n' "$count" >"$state/removed.secrets"
    echo "fleetctl: purging this package deletes $count secrets for good: there is no recovery key" >&2
  else
    printf '%s\n' "$why" >&2
    echo "fleetctl: no sealed copy of the fleet could be made, so purging deletes its secrets for good" >&2
  fi
}

[ "$1" != remove ] || keep_copy
[ -d /run/systemd/system ] || exit 0
case "$1" in
  remove)
    systemctl stop 'fleetctl-*.service' 'mcp-*.socket' 'mcp-*.service'
    # Slices outlive their services. A pattern without a match is no error.
    systemctl stop 'fleetctl*.slice'
    systemctl disable --quiet fleetctl-daemon.service
    for unit in /etc/systemd/system/fleetctl-*.service /etc/systemd/system/mcp-*.socket; do
      # Rendered units stay for the next install, and must not start without their programs.
      [ ! -f "$unit" ] || systemctl disable --quiet "${unit##*/}"
    done
    ;;
  # Agents keep running. The daemon stops, because it must not run verbs of two versions at once.
  upgrade | deconfigure) systemctl stop fleetctl-daemon.service ;;
esac
