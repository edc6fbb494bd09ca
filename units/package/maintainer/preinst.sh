#!/bin/sh
# Runs before the files of this version are unpacked.
set -e
case "$1" in install | upgrade) ;; *) exit 0 ;; esac

# Older versions rendered permission sets beside the programs. This script copies them to the new
# location for programs that start before `fleetctl apply` has rendered them there.
old=${DPKG_ROOT:-}/usr/lib/fleetctl
new=${DPKG_ROOT:-}/var/lib/fleetctl/permissions
copy() {
  if [ ! -f "$1" ] || [ -e "$2" ]; then return 0; fi
  install -d -o root -g root -m 755 "$new"
  install -o root -g root -m 644 "$1" "$2"
}
# In a newer version, permissions.json contains only the sets of its programs, not those of roles.
if grep -q '"mcp": *{' "$old/permissions.json" 2>/dev/null; then
  copy "$old/permissions.json" "$new/host.json"
fi
for file in "$old"/permissions-*.json; do
  agent=${file#"$old"/permissions-}
  copy "$file" "$new/agent-$agent"
done
