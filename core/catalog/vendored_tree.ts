/**
 * The record beside a vendored tree. Types and one parser, no I/O.
 *
 * On disk, below `deploy/<mcp>/`: `current` (a link to the tree in use), one folder per tree named
 * by version and a random suffix, its record `<folder>.json`, and the previous tree, kept for
 * rollback.
 *
 * @module
 */

/** Result of `vendorEntry`. */
export interface VendoredTree {
  /** `sha256-…` over paths, modes, contents and link targets of the installer's output. */
  readonly treeHash: string;
  /** Whether the tree in use changed. */
  readonly changed: boolean;
  /** Absolute path of the tree's folder. */
  readonly folder: string;
}

/** The record beside a tree. */
export interface TreeRecord {
  readonly mcp: string;
  readonly version: string;
  readonly lockIntegrity: string;
  /** Hash of the tree on disk. */
  readonly treeHash: string;
  /** Hash of the installer's output before unused files were removed; npm trees only. */
  readonly installedHash?: string;
  readonly fingerprint: string;
  readonly files: number;
  readonly bytes: number;
}

const RECORD_KEYS = ["mcp", "version", "lockIntegrity", "treeHash", "fingerprint"] as const;

/** Returns the hash that a manifest pins: that of the installer's output. */
export function pinnedHash(record: TreeRecord): string {
  return record.installedHash ?? record.treeHash;
}

/** Parses a record; returns undefined if it is invalid, and the tree is then rebuilt. */
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
