#!/bin/sh
# Stops what runs. The fleet stays for the next install.
set -e
[ -d /run/systemd/system ] || exit 0
case "$1" in
  remove)
    systemctl stop 'fleetctl-*.service' 'mcp-*.socket' 'mcp-*.service'
    systemctl disable --quiet fleetctl-daemon.service
    for unit in /etc/systemd/system/fleetctl-*.service /etc/systemd/system/mcp-*.socket; do
      # Rendered units stay for the next install, and must not start without their programs.
      [ ! -f "$unit" ] || systemctl disable --quiet "${unit##*/}"
    done
    ;;
  # Agents go on; the daemon must not run verbs of two versions at once.
  upgrade | deconfigure) systemctl stop fleetctl-daemon.service ;;
esac
