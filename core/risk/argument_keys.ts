/**
 * Argument keys that `mcp read` and `mcp call` refuse: those that access the local disk or override
 * a policy. No I/O.
 *
 * @module
 */

/**
 * Keys that name a host file to write or to send. `path` and `file_path` are allowed: for most
 * servers they are the tool's subject, inside the folders that it may read.
 */
const DISK_KEYS = [
  "filename",
  "local_path",
  "local_file",
  "output_path",
  "output_file",
  "output_dir",
  "save_path",
  "save_to",
  "download_path",
  "upload_path",
] as const;
/** Keys with which a caller could give an approval that only the owner may give. */
const POLICY_KEYS = [
  "confirm",
  "confirmed",
  "approve",
  "approved",
  "skip_confirmation",
  "bypass_approval",
  "override_policy",
  "allow_unsafe",
  "no_verify",
  "dangerously_skip_permissions",
] as const;

const REFUSED_KEYS: ReadonlySet<string> = new Set(
  [...DISK_KEYS, ...POLICY_KEYS].map(foldKey),
);
/** Nesting depth that is searched; deeper arguments are refused. */
const DEPTH_MAX = 32;

/** Returns the first refused key, at any depth and in any spelling. */
export function refusedKey(value: unknown, depth = 0): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > DEPTH_MAX) return "…";
  for (const [key, inner] of Object.entries(value)) {
    if (!Array.isArray(value) && REFUSED_KEYS.has(foldKey(key))) return key;
    const found = refusedKey(inner, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Some servers treat `filePath`, `file-path` and `FILE_PATH` as the same key. */
function foldKey(key: string): string {
  return key.normalize("NFKC").toLowerCase().replace(/[\s_.-]/g, "");
}
