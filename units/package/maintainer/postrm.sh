#!/bin/sh
# Purging takes away what fleetctl wrote outside the homes of agents.
set -e
case "$1" in
  purge)
    rm -rf /etc/fleetctl /var/lib/fleetctl /var/cache/fleetctl /var/log/fleetctl /run/fleetctl /run/mcp
    for unit in /etc/systemd/system/fleetctl-*.service /etc/systemd/system/mcp-*.service \
      /etc/systemd/system/mcp-*.socket; do
      [ -f "$unit" ] || continue
      head -n 1 "$unit" | grep -q '^# Rendered by fleetctl' || continue
      find /etc/systemd/system -mindepth 2 -name "${unit##*/}" -type l -delete
      rm -f "$unit"
    done
    # Accounts stay: a later user must never get their numbers together with files they left.
    ;;
esac
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
