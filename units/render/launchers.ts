/**
 * The `sh` launchers under `{lib}`. They start each program with its permission set and the pinned
 * Deno, from the source tree or from one bundled file. No I/O.
 *
 * @module
 */

import type { Paths } from "core/paths.ts";
import { printShell, quoteShell } from "core/text/quote.ts";
import { type RenderedFile, ROOT_OWNER } from "core/files/rendered_file.ts";
import { checkedText } from "units/render/checked.ts";
import { EXEC_SET, PROGRAM_SETS } from "units/render/permissions.ts";
import piGate from "./pi_gate.js" with { type: "text" };
import underRoot from "units/prepare/under_root.sh" with { type: "text" };

/** One program: its launcher's name, its entry in the tree and its permission set. */
export interface Program {
  readonly name: string;
  readonly entry: string;
  readonly set: string;
  /** Its set contains one agent's paths, so it is in that agent's file. */
  readonly isAgents?: boolean;
}

/** Every program, ordered as in docs/design.md#programs. */
export const PROGRAMS: readonly Program[] = [
  { name: "fleetctl", entry: "cli/main.ts", set: "fleetctl" },
  { name: "fleetctl-help", entry: "cli/help/main.ts", set: "fleetctl" },
  { name: "fleetctld", entry: "units/daemon/main.ts", set: "daemon" },
  { name: "fleetctl-exec", entry: "cli/exec/main.ts", set: "fleetctl-exec" },
  { name: "fleetctl-gateway", entry: "gateway/main.ts", set: "gateway" },
  { name: "fleetctl-login", entry: "login/main.ts", set: "login" },
  { name: "fleetctl-teamchat", entry: "teamchat/main.ts", set: "teamchat" },
  {
    name: "fleetctl-teamchat-receiver",
    entry: "teamchat/receiver/main.ts",
    set: "teamchat-receiver",
  },
  { name: "fleetctl-dial", entry: "units/dial/main.ts", set: "dial", isAgents: true },
  { name: "fleetctl-runtime", entry: "units/agent_loop/main.ts", set: "runtime", isAgents: true },
  { name: "fleetctl-mcp", entry: "units/mcp/main.ts", set: "mcp", isAgents: true },
];

/** Writes launchers and permission sets of a root; it has no launcher and no set itself. */
export const PREPARE = { name: "fleetctl-prepare", entry: "units/prepare/main.ts" } as const;

/** How programs are started. */
export interface LauncherShape {
  readonly kind: "tree" | "bundle";
  readonly dir: string;
  readonly denoDir: string;
}

/**
 * Drops every variable that is not listed, then executes the command. It is for MCP servers that
 * Deno does not confine, or whose children Deno does not confine. Names come from awk, so that
 * values with line breaks cannot pass for names.
 */
const KEEP_ENV = `#!/bin/sh
# usage: fleetctl-keep-env NAME,NAME,... program [arguments]
# Rendered by fleetctl; changes are overwritten.
set -eu
keep=",$1,"
shift
names=$(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^[A-Za-z_][A-Za-z0-9_]*$/) print name }')
for name in $names; do
  case "$keep" in
    *",$name,"*) ;;
    *) unset "$name" ;;
  esac
done
# Creates the server's TMPDIR, if it sets one, as a folder that no other user can read.
if [ -n "\${TMPDIR:-}" ] && [ ! -d "$TMPDIR" ]; then
  mkdir -p -m 700 "$TMPDIR"
fi
exec "$@"
`;

/**
 * Starts Chromium for the `browser` server, under any name that the host uses for it. If Chromium
 * is missing, the printed message reaches the model. Chromium refuses to run as root in its
 * sandbox.
 */
const CHROMIUM = `#!/bin/sh
# Rendered by fleetctl; changes are overwritten.
for name in chromium chromium-browser google-chrome-stable google-chrome; do
  if program=$(command -v "$name"); then
    [ "$(id -u)" -ne 0 ] || set -- --no-sandbox "$@"
    exec "$program" "$@"
  fi
done
echo "Cannot start the browser: Chromium is not installed on this host." >&2
echo "An operator can install it: apt-get install -y chromium" >&2
exit 127
`;

/**
 * Renders the launchers of every program, `fleetctl-checked`, `fleetctl-keep-env`,
 * `fleetctl-chromium` and the files that pi loads.
 */
export function renderLaunchers(shape: LauncherShape, paths: Paths): readonly RenderedFile[] {
  return [
    ...PROGRAMS.map((program) =>
      launcher(program.name, launcherText(program, shape, paths), paths)
    ),
    launcher("fleetctl-checked", checkedText(paths), paths),
    launcher("fleetctl-keep-env", KEEP_ENV, paths),
    launcher("fleetctl-chromium", CHROMIUM, paths),
    { ...launcher("pi-gate.js", piGate, paths), mode: 0o644 },
    ...(paths.root === "/" ? [launcher("fleetctl-under-root", underRoot, paths)] : []),
  ];
}

function launcher(name: string, content: string, paths: Paths): RenderedFile {
  return { path: paths.program(name), content, mode: 0o755, owner: ROOT_OWNER, secret: false };
}

/** Without the flag, Deno reads the code of all dynamic imports before it runs a program. */
const LAZY = " --unstable-lazy-dynamic-imports";
/** Additional flags of Deno, by program. */
const FLAGS: Readonly<Record<string, string>> = {
  fleetctl: LAZY,
  // A turn waits for this start. The model's provider is one of several, in 3 MB of code.
  "fleetctl-runtime": LAZY,
  // One waits for each agent, mostly idle, so memory counts. The first flag saves 2 MB of compiled
  // code, the second 5 MB of space for young objects. The third is for `releaseMemory`.
  "fleetctl-dial": " --no-code-cache --v8-flags=--max-semi-space-size=1,--expose-gc",
};

function launcherText(program: Program, shape: LauncherShape, paths: Paths): string {
  const isUnderRoot = paths.root !== "/";
  const isFleetctl = program.name === "fleetctl";
  const isDial = program.name === "fleetctl-dial";
  const entry = entryPath(program, shape);
  const isAgents = program.isAgents === true;
  const isExec = program.set === EXEC_SET;
  const config = isAgents
    ? '"$FLEETCTL_PERMISSIONS"'
    : isFleetctl || isExec
    ? '"$sets"'
    : quoteShell(PROGRAM_SETS.includes(program.set) ? paths.programPermissions : paths.permissions);
  const lines = [
    "#!/bin/sh",
    `# Starts ${program.name} with its permission set. Rendered by fleetctl; changes are ` +
    "overwritten.",
    // A program of the tree finds its packages only in the tree's cache, so its environment must
    // not override `DENO_DIR`.
    ...(shape.kind === "tree"
      ? [`export DENO_DIR=${quoteShell(shape.denoDir)}`]
      : unlessSet("DENO_DIR", quoteShell(shape.denoDir))),
    ...(isFleetctl ? helpProgram(shape, paths) : []),
    ...(isFleetctl && !isUnderRoot ? otherRoot(shape, paths) : []),
    ...unlessSet("FLEETCTL_ROOT", quoteShell(paths.root)),
    ...(isDial ? hostMode(paths) : []),
    ...(isAgents ? choiceOfAgent(paths) : []),
    ...(isAgents ? unlessAgent(program.name) : []),
    "export DENO_NO_UPDATE_CHECK=1",
    ...(isFleetctl ? choiceOfSet(paths) : []),
    ...(isExec ? execSets(paths) : []),
    `exec ${quoteShell(paths.deno)} run -q --no-prompt --cached-only${
      FLAGS[program.name] ?? ""
    } --config ${config} \\`,
    `  -P=${isFleetctl || isDial ? '"$set"' : program.set} ${quoteShell(entry)} "$@"`,
  ];
  return `${lines.join("\n")}\n`;
}

/** A process started before an upgrade may name the set's former path, beside the programs. */
function choiceOfAgent(paths: Paths): readonly string[] {
  const own = `${quoteShell(`${paths.permissionsDir}/agent-`)}"\${FLEETCTL_AGENT:-$(id -un)}".json`;
  return [
    'case "${FLEETCTL_PERMISSIONS:-}" in',
    `  "" | ${quoteShell(`${paths.lib}/permissions`)}*) FLEETCTL_PERMISSIONS=${own} ;;`,
    "esac",
    "export FLEETCTL_PERMISSIONS",
  ];
}

/** Refuses to start an agent's program for a user that is not an agent. */
function unlessAgent(name: string): readonly string[] {
  return [
    'if [ ! -r "$FLEETCTL_PERMISSIONS" ]; then',
    `  echo "${name}: Cannot start as \${FLEETCTL_AGENT:-$(id -un)}: not an agent of this ` +
    `host" >&2`,
    '  echo "hint: fleetctl agents list" >&2',
    "  exit 2",
    "fi",
  ];
}

function entryPath(program: Pick<Program, "name" | "entry">, shape: LauncherShape): string {
  return shape.kind === "tree"
    ? `${shape.dir}/${program.entry}`
    : `${shape.dir}/${program.name}.js`;
}

/**
 * A separate program with only the verb table answers `--help` and `--version`. Deno reads the
 * whole module graph before a program starts, dynamic imports included. The graph of all verbs
 * doubles the time of `--help`.
 */
function helpProgram(shape: LauncherShape, paths: Paths): readonly string[] {
  const entry = entryPath({ name: "fleetctl-help", entry: "cli/help/main.ts" }, shape);
  return [
    "help=",
    '[ $# -gt 0 ] && [ "$1" != --version ] || help=yes',
    "for word; do",
    '  case "$word" in',
    "    --) break ;;",
    "    --help | -h) help=yes ;;",
    "  esac",
    "done",
    'if [ -n "$help" ]; then',
    `  DENO_NO_UPDATE_CHECK=1 exec ${quoteShell(paths.deno)} run -q --no-prompt --cached-only \\`,
    `    --config ${quoteShell(paths.programPermissions)} -P=fleetctl ${quoteShell(entry)} "$@"`,
    "fi",
  ];
}

/**
 * Under another root, verbs run in this process, which gets the permissions of a verb. Under `/`,
 * verbs go through the daemon. Root gets the permissions of a verb too: it can write there anyway,
 * and must work without the daemon until the daemon has its key.
 */
function choiceOfSet(paths: Paths): readonly string[] {
  const own = `sets=${quoteShell(paths.programPermissions)}`;
  return paths.root === "/"
    ? [
      `set=fleetctl ${own}`,
      `if [ -w ${quoteShell(paths.etc)} ]; then`,
      `  set=${EXEC_SET}`,
      ...execSets(paths).map((line) => `  ${line}`),
      "fi",
    ]
    : [`set=${EXEC_SET} ${own}`, '[ "${1:-}" != up ] || set=fleetctl-up'];
}

/** The rendered set covers the agents of this host; the shipped set can render it again. */
function execSets(paths: Paths): readonly string[] {
  return [
    `sets=${quoteShell(paths.permissions)}`,
    `grep -qs '"${EXEC_SET}": {' "$sets" || sets=${quoteShell(paths.programPermissions)}`,
  ];
}

/** The host's own dial unit does not belong to an agent: it uses a set of the host. */
function hostMode(paths: Paths): readonly string[] {
  return [
    "set=dial",
    'if [ "${1:-}" = --host ]; then',
    `  set=host-dial FLEETCTL_PERMISSIONS=${quoteShell(paths.permissions)}`,
    "fi",
  ];
}

/** `up`, and verbs of another root, use the launcher of that root, with that root's sets. */
function otherRoot(shape: LauncherShape, paths: Paths): readonly string[] {
  const words = [
    paths.program("fleetctl-under-root"),
    shape.kind,
    shape.dir,
    paths.deno,
    // A build's programs need no packages, so each root keeps its own Deno cache.
    shape.kind === "tree" ? shape.denoDir : "",
    "fleetctl",
  ];
  return [
    'if [ "${1:-}" = up ] || [ "${FLEETCTL_ROOT:-/}" != / ]; then',
    `  exec ${printShell(words)} "$@"`,
    "fi",
  ];
}

function unlessSet(name: string, value: string): readonly string[] {
  return [`[ -n "\${${name}:-}" ] || ${name}=${value}`, `export ${name}`];
}
