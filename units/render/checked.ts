/**
 * The text of `fleetctl-checked`, which runs before every vendored server: it compares the tree
 * with its record and then executes the server. No I/O.
 *
 * It is in `sh`, because a second Deno would cost more than the comparison. GNU find reads the
 * kernel's metadata of each file, which must match the recorded fingerprint
 * (`core/ports/trees.ts`). If it does not, `fleetctl-mcp check` reads every byte and decides.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { STAMP_END, STAMP_FORMAT } from "core/ports/trees.ts";
import { quoteShell } from "core/text/quote.ts";

/** Renders the script. Standard input and output belong to the client: the check gets neither. */
export function checkedText(paths: Paths): string {
  return `#!/bin/sh
# usage: fleetctl-checked MCP program [arguments]
# Rendered by fleetctl; changes are overwritten.
set -eu
mcp=$1
shift

# Whether every file is the one that was recorded; anything unclear is a no.
is_known() (
  PATH=/usr/bin:/bin
  LC_ALL=C
  export PATH LC_ALL
  cd ${quoteShell(paths.deployDir)}/"$mcp" || return 1
  tree=$(readlink current) || return 1
  case "$tree" in '' | . | .. | */*) return 1 ;; esac
  wanted=$(sed -n 's/^  "fingerprint": "\\([0-9a-f]\\{64\\}\\)",\\{0,1\\}$/\\1/p' "$tree.json") ||
    return 1
  cd "$tree" || return 1
  found=$({ find . -mindepth 1 -printf ${quoteShell(STAMP_FORMAT)} && printf '${STAMP_END}\\0'; } |
    sha256sum) || return 1
  [ -n "$wanted" ] && [ "\${found%% *}" = "$wanted" ]
)

# A rule for every tool is that of an MCP that waits for its review as a whole. Rules that cannot be
# read are no rules that let it pass: grep ends with 1 only when it has read them all.
is_open() {
  found=0
  grep -q '"\\*": "block"' ${quoteShell(paths.gates)}/"$mcp".json || found=$?
  [ "$found" = 1 ]
}

if ! is_known </dev/null >/dev/null 2>&1 || ! is_open </dev/null >/dev/null 2>&1; then
  ${quoteShell(paths.program("fleetctl-mcp"))} check "$mcp" </dev/null >&2
fi
exec "$@"
`;
}
