/**
 * An agent's workspace: the folder that its runtime works in, and the only one that shipped MCPs
 * may write to. Defines how its path is written, resolved and restricted. Pure.
 *
 * @module
 */

/** Workspace of an agent whose record does not name one. */
export const DEFAULT_WORKSPACE = "~/workspace";

/** Characters with a special meaning in a unit, a permission list or a launcher. */
export const UNUSABLE_IN_PATHS = /[\p{Cc},"'\\{}:]/u;

const LENGTH_MAX = 200;
/** Folders of the system, and the folder of other users' homes. */
const SYSTEM_FOLDERS: ReadonlySet<string> = new Set([
  "bin",
  "boot",
  "dev",
  "etc",
  "home",
  "lib",
  "lib32",
  "lib64",
  "libx32",
  "lost+found",
  "nix",
  "proc",
  "root",
  "run",
  "sbin",
  "snap",
  "sys",
  "tmp",
  "usr",
  "var",
]);

/** Returns the rule that the text of a workspace breaks; undefined when it breaks none. */
export function workspaceRule(text: string): string | undefined {
  if (!/^~?\/./.test(text)) return "must be an absolute path or begin with ~/";
  return pathRule(text, text.replace(/^~?\//, ""));
}

/** Returns the rule that the path of a set-up script breaks; undefined when it breaks none. */
export function setupRule(text: string): string | undefined {
  if (/^[/~-]/.test(text)) return "must be relative to the repository's root, such as bin/setup";
  return pathRule(text, text);
}

/** Returns the folder that a workspace stands for. */
export function workspaceFolder(text: string, home: string): string {
  return text.startsWith("~/") ? `${home}${text.slice(1)}` : text;
}

/**
 * Returns the rule that the workspace's location on a host breaks; undefined when it is allowed. A
 * file that a shipped MCP writes there must not affect the host, the agent's keys, or another user.
 */
export function workspacePlaceRule(text: string, home: string): string | undefined {
  const folder = workspaceFolder(text, home);
  if (folder === home) return "must be a folder below the home, not the home itself";
  if (folder.startsWith(`${home}/`)) {
    const isHidden = folder.slice(home.length + 1).startsWith(".");
    return isHidden
      ? "must not be in a hidden folder of the home: keys are stored there"
      : undefined;
  }
  const [first = "", ...rest] = folder.slice(1).split("/");
  if (first === "home") return "must not be in the home of another user";
  if (SYSTEM_FOLDERS.has(first)) return `must not be below /${first}`;
  return rest.length === 0 ? `must be a folder below /${first}` : undefined;
}

/** Returns the rule for paths that a text breaks; `parts` is what follows its beginning. */
function pathRule(text: string, parts: string): string | undefined {
  if (text.length > LENGTH_MAX) return `must have at most ${LENGTH_MAX} characters`;
  if (UNUSABLE_IN_PATHS.test(text)) {
    return "must not contain , \" ' \\ { } : or a control character";
  }
  const isPlain = parts.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  return isPlain ? undefined : "must not contain an empty part, . or ..";
}
