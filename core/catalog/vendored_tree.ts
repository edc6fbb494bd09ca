/**
 * What is known of a vendored tree: the record beside it. Types and one parse, no I/O.
 *
 * On disk, below `deploy/<mcp>/`: `current` (a link to the tree in use), one folder per tree named
 * by version and hash, its record `<folder>.json`, and the one before it, kept for rollback.
 *
 * @module
 */

/** What `vendorEntry` leaves behind. */
export interface VendoredTree {
  /** `sha256-…` over paths, modes, contents and link targets of what the installer made. */
  readonly treeHash: string;
  /** Whether the tree in use is another one than before. */
  readonly changed: boolean;
  /** Absolute path of the tree's folder. */
  readonly folder: string;
}

/** The record beside a tree. */
export interface TreeRecord {
  readonly mcp: string;
  readonly version: string;
  readonly lockIntegrity: string;
  /** Hash of the tree as it stands here. */
  readonly treeHash: string;
  /** Hash of what the installer made, before idle files were taken away; absent when none were. */
  readonly installedHash?: string;
  readonly fingerprint: string;
  readonly files: number;
  readonly bytes: number;
}

const RECORD_KEYS = ["mcp", "version", "lockIntegrity", "treeHash", "fingerprint"] as const;

/** Returns the hash that a manifest pins. */
export function pinnedHash(record: TreeRecord): string {
  return record.installedHash ?? record.treeHash;
}

/** Parses a record; undefined when it is not one, which means that the tree is made anew. */
export function parseTreeRecord(text: string): TreeRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const record = value as Record<string, unknown>;
    const isComplete = RECORD_KEYS.every((key) => typeof record[key] === "string") &&
      ["string", "undefined"].includes(typeof record["installedHash"]) &&
      Number.isInteger(record["files"]) && Number.isInteger(record["bytes"]);
    return isComplete ? value as TreeRecord : undefined;
  } catch {
    return undefined;
  }
}
