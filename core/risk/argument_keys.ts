/**
 * Argument keys that `mcp read` and `mcp call` refuse: those that reach the local disk or override
 * a policy. No I/O.
 *
 * @module
 */

/**
 * Keys that name a file of the host to write or to send away. `path` and `file_path` are not among
 * them: for most servers they are what the tool is about, inside the folders that it may read.
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
/** Keys with which a caller would answer the question that only the owner may answer. */
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
/** Nesting of arguments that is looked into; deeper is refused. */
const DEPTH_MAX = 32;

/** Returns the first refused key, however deep it stands and however it is spelled. */
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

/** `filePath`, `file-path` and `FILE_PATH` are one key to some server or other. */
function foldKey(key: string): string {
  return key.normalize("NFKC").toLowerCase().replace(/[\s_.-]/g, "");
}
