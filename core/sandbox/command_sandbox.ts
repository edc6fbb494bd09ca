/**
 * The sandbox of an agent's commands: what bubblewrap shows to them, and their environment. A
 * command sees programs of the host and the folders of its view. It has its own processes, and none
 * of them outlives it. Pure. ADR 0038 explains why.
 *
 * @module
 */

import { BUBBLEWRAP, HOST_FILES } from "core/sandbox/host_files.ts";

/** Which network a command has: no address at all, or that of its user. */
export const SANDBOX_NETWORKS = ["none", "all"] as const;
/** One of `SANDBOX_NETWORKS`. */
export type SandboxNetwork = typeof SANDBOX_NETWORKS[number];

/** The folders of a sandbox, as absolute paths, and its network. */
export interface SandboxView {
  readonly home: string;
  /** A missing folder is omitted, here and in `readable`. */
  readonly writable: readonly string[];
  readonly readable: readonly string[];
  readonly network: SandboxNetwork;
}

/** Largest home and `/tmp` of a command. Both are in memory, which the agent's limit also bounds. */
const TEMPORARY_BYTES_MAX = 1024 ** 3;

/** Variables that a command gets. All others could contain a key. */
const PASSED: ReadonlySet<string> = new Set(["PATH", "USER", "LOGNAME", "LANG", "TZ", "TERM"]);

/**
 * Returns the words that precede a command. Later mounts cover earlier ones, so the view's folders
 * are visible also below the home and `/tmp`.
 */
export function sandboxWords(view: SandboxView, cwd: string): readonly string[] {
  const bind = (how: string, path: string) => [how, path, path];
  const size = ["--size", String(TEMPORARY_BYTES_MAX)];
  return [
    BUBBLEWRAP,
    // Without `--unshare-user` bubblewrap refuses `--disable-userns`.
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    ...(view.network === "all" ? ["--share-net"] : []),
    // Processes that a command leaves behind end with it.
    "--die-with-parent",
    // No input can be written to a terminal of the runtime.
    "--new-session",
    "--cap-drop",
    "ALL",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    ...size,
    "--tmpfs",
    "/tmp",
    ...HOST_FILES.flatMap((path) => bind("--ro-bind-try", path.replace(/^-/, ""))),
    "--perms",
    "0700",
    ...size,
    "--tmpfs",
    view.home,
    ...view.readable.flatMap((path) => bind("--ro-bind-try", path)),
    ...view.writable.flatMap((path) => bind("--bind-try", path)),
    // Everything else is an empty folder in memory, without a size limit.
    "--remount-ro",
    "/",
    "--chdir",
    cwd,
    "--",
  ];
}

/** Returns the variables of a command; `HOME` is an empty folder that ends with it. */
export function sandboxEnv(
  env: Readonly<Record<string, string>>,
  view: Pick<SandboxView, "home">,
): Readonly<Record<string, string>> {
  const passed = Object.entries(env).filter(([name]) => PASSED.has(name) || name.startsWith("LC_"));
  return { ...Object.fromEntries(passed), HOME: view.home };
}

/**
 * Returns why a view would show more than it should; undefined when it does not. A folder that
 * contains the home or the root would show the agent's keys.
 */
export function viewFault(
  view: Pick<SandboxView, "home" | "writable">,
  root: string,
): string | undefined {
  const closed = root === "/" ? [view.home] : [view.home, root];
  const open = view.writable.find((folder) => closed.some((path) => isWithin(path, folder)));
  return open === undefined
    ? undefined
    : `the workspace ${JSON.stringify(open)} contains the agent's keys, ` +
      "must be a folder below its home";
}

/** Returns whether a path is a folder or below it. */
export function isWithin(path: string, folder: string): boolean {
  const above = folder.replace(/\/+$/, "");
  return path === above || path.startsWith(`${above}/`);
}
