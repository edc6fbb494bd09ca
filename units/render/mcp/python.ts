/**
 * Confines a server under Python or Node. Deno's permissions do not apply to it, so the sandbox
 * around the process is its only confinement. One view, rendered for both service managers. No I/O.
 * ADR 0013 explains why.
 *
 * | A manifest says | The process has |
 * |---|---|
 * | nothing | programs of the host, its own tree, an empty home and `/tmp` in memory, no network |
 * | `permissions.read`, `write` | those files and folders, and no others |
 * | `permissions.net: ["*"]` | its user's network; single hosts cannot be distinguished |
 * | `permissions.env`, keys, `environment` | those variables, and no others (`fleetctl-keep-env`) |
 *
 * | Who builds the view | For which server | How |
 * |---|---|---|
 * | systemd, as root | one without paths | `RootDirectory`, `PrivateNetwork` |
 * | the command, as its user | one with paths, and each under the embedded manager | bubblewrap |
 *
 * Without bubblewrap the server does not start.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { PACKAGES_FOLDER, PYTHON } from "core/catalog/python_install.ts";
import { sandboxRoot } from "core/catalog/vendor.ts";
import { BUBBLEWRAP, HOST_FILES } from "core/sandbox/host_files.ts";
import type { UnitEntry } from "core/text/unit_file.ts";
import { escapeSpecifiers } from "units/render/exec_line.ts";

/** The process's view, besides programs of the host. Absolute paths. */
export interface SandboxView {
  readonly manifest: Manifest;
  /** Folder of the server's deployment, including the record of the tree. */
  readonly deploy: string;
  readonly home: string;
  /** The home is a folder of the server's user, not an empty one in memory. */
  readonly keepsHome: boolean;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

/** Maximum memory for files of its home, and for those of `/tmp`. */
const HOME_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Starts a script of the tree. It can import only the tree's packages and the standard library: not
 * the distribution's packages (`-S`), nor modules from the current folder or from variables (`-I`).
 */
const START = "import runpy,sys;sys.path.insert(0,sys.argv[1]);del sys.argv[:2];" +
  'runpy.run_path(sys.argv[0],run_name="__main__")';

/** Returns the words that start a script of a tree; `own` is the script and its arguments. */
export function pythonWords(tree: string, own: readonly string[]): readonly string[] {
  return [PYTHON, "-I", "-S", "-B", "-c", START, `${tree}/${PACKAGES_FOLDER}`, ...own];
}

/** Returns whether the server has network access. */
function reachesNetwork(manifest: Manifest): boolean {
  return manifest.permissions.net.length > 0;
}

/** Returns the words that precede the server's command and build the view without the manager. */
export function bubblewrapWords(view: SandboxView): readonly string[] {
  const { manifest, deploy, home, keepsHome } = view;
  const bind = (how: string, path: string) => [how, path, path];
  return [
    BUBBLEWRAP,
    // Without `--unshare-user` bubblewrap refuses `--disable-userns`.
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    ...(reachesNetwork(manifest) ? ["--share-net"] : []),
    "--cap-drop",
    "ALL",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    ...HOST_FILES.flatMap((path) => bind("--ro-bind-try", path.replace(/^-/, ""))),
    ...(keepsHome ? bind("--bind-try", home) : ["--tmpfs", home]),
    ...bind("--ro-bind", deploy),
    ...view.reads.flatMap((path) => bind("--ro-bind-try", path)),
    ...view.writes.flatMap((path) => bind("--bind-try", path)),
    "--chdir",
    home,
    "--",
  ];
}

/**
 * Returns the unit entries that build the view under systemd. `reads` are paths in folders of root,
 * because the manager follows links as root.
 */
export function sandboxEntries(
  view: Pick<SandboxView, "deploy" | "home" | "keepsHome" | "reads">,
): readonly UnitEntry[] {
  const { deploy, home, keepsHome, reads } = view;
  const list = (paths: readonly string[]) => paths.map(escapeSpecifiers).join(" ");
  const optional = (paths: readonly string[]) => paths.map((path) => `-${path}`);
  return [
    {
      key: "RootDirectory",
      value: escapeSpecifiers(sandboxRoot(deploy)),
      why: "Its engine has no sandbox: it sees only the listed files of the host",
    },
    { key: "MountAPIVFS", value: "yes", why: "Its own /proc, /sys and /dev" },
    {
      key: "BindReadOnlyPaths",
      value: list([...HOST_FILES, deploy, ...optional(reads)]),
      why: "Programs, its own tree, and fleetctl's files; all are in folders of root",
    },
    ...(keepsHome ? [] : [{
      key: "TemporaryFileSystem",
      value: `${escapeSpecifiers(home)}:mode=1777,size=${HOME_BYTES_MAX},nr_inodes=16k`,
      why: "A private home, removed at its end",
    }]),
  ];
}
