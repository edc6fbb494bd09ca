#!/bin/sh
# A purge deletes everything that fleetctl wrote outside the homes of agents.
set -e

# Runs before anything is deleted. Saves the sealed copy to /var/backups. Without a copy, stops the
# purge if a recovery key exists, else reports how many secrets are lost.
save_copy() {
  state=/var/lib/fleetctl
  if [ -s "$state/removed.age" ]; then
    copy=/var/backups/fleetctl-$(uname -n)-$(date -u +%Y%m%dT%H%M%SZ).age
    install -d -o root -g root -m 755 /var/backups
    install -o root -g root -m 600 "$state/removed.age" "$copy.new"
    sync "$copy.new"
    mv "$copy.new" "$copy"
    echo "fleetctl: $copy is a copy of the fleet that its recovery key opens;"
    echo "fleetctl: on another host: fleetctl secret recover --key - --copy $copy < recovery.key"
  elif grep -qs '^# *recovery$' "$state/repo/recipients"; then
    echo "fleetctl: Cannot purge: a recovery key exists and no sealed copy was made, one must be" >&2
    echo "hint: install the package again and look what stops: fleetctl secret recovery copy" >&2
    echo "hint: rm -r $state/repo    # or give the fleet up, then purge again" >&2
    exit 1
  elif [ -f "$state/repo/secrets.age" ]; then
    count=$(cat "$state/removed.secrets" 2>/dev/null || echo "an unknown number of")
    echo "fleetctl: deleting $count secrets for good: there is no recovery key" >&2
  fi
}

case "$1" in
  purge)
    save_copy
    rm -rf /etc/fleetctl /var/lib/fleetctl /var/cache/fleetctl /var/log/fleetctl /run/fleetctl /run/mcp
    rm -rf /etc/systemd/system/fleetctl.slice /etc/systemd/system/fleetctl-agents-*.slice.d
    for unit in /etc/systemd/system/fleetctl-*.service /etc/systemd/system/mcp-*.service \
      /etc/systemd/system/mcp-*.socket; do
      [ -f "$unit" ] || continue
      head -n 1 "$unit" | grep -q '^# Rendered by fleetctl' || continue
      find /etc/systemd/system -mindepth 2 -name "${unit##*/}" -type l -delete
      rm -f "$unit"
    done
    # Accounts stay: a later user must never get their ids and, with them, the files they left.
    ;;
esac
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
