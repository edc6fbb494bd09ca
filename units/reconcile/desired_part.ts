/**
 * The types of the desired state: tagged files, folders, units with their inputs, and the parts
 * that `desired.ts` combines. No I/O.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { FileOwner, RenderedFile } from "core/files/rendered_file.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { printUnit, type Unit } from "core/text/unit_file.ts";
import type { ClientConfig } from "units/render/client_config.ts";

/** Owner of a rendered item; decides what is held when the owner has a fault. */
export interface Tag {
  readonly agent?: AgentName;
  readonly mcp?: McpName;
}

/** A file and its owner. */
export interface TaggedFile extends Tag {
  readonly file: RenderedFile;
}

/** A folder; `home` names the agent whose home contains it, where only that agent may write. */
export interface DesiredFolder {
  readonly path: string;
  readonly mode: number;
  readonly owner: FileOwner;
  readonly home?: AgentName;
  /** The mode applies to a new folder only; an existing one keeps its owner's mode. */
  readonly keepsMode?: boolean;
}

/** A unit that should be active. Templates are files only; they belong to their socket's inputs. */
export interface DesiredUnit extends Tag {
  readonly name: string;
  readonly kind:
    | "daemon"
    | "gateway"
    | "login"
    | "teamchat"
    | "teamchat-receiver"
    | "host"
    | "dial"
    | "mcp";
  /** Texts whose change needs a restart (a bounce, for sockets). */
  readonly inputs: readonly string[];
  /** Texts that a unit reads at its start. It is not restarted when they change. */
  readonly softInputs: readonly string[];
  /** Program files whose content counts as an input. */
  readonly programs: readonly string[];
  /** Links whose targets count as inputs: the current vendored tree. */
  readonly links: readonly string[];
  /** Of a unit whose replacement may wait: what the hashes of an `Origin` cover. */
  readonly origin?: {
    readonly build: readonly string[];
    /** Program files that belong to the build. */
    readonly programs: readonly string[];
    readonly rights: readonly string[];
  };
  /** Stopped on purpose: its file exists, but it is neither enabled nor running. */
  readonly isStopped?: boolean;
  /** The socket on which it serves while it is active. */
  readonly socket?: DesiredSocket;
  /** Target that pulls it in: `multi-user.target` or `sockets.target`. */
  readonly wantedBy: string;
}

/** The socket through which clients connect to a unit. */
export interface DesiredSocket {
  readonly path: string;
  /** Undefined where the listening program sets mode and owner. */
  readonly mode?: number;
  readonly owner?: FileOwner;
}

/** One part of the desired state. */
export interface DesiredPart {
  readonly files: readonly TaggedFile[];
  readonly folders: readonly DesiredFolder[];
  readonly clients: readonly ClientConfig[];
  readonly units: readonly DesiredUnit[];
  readonly faults: readonly Refusal[];
  /** Owners of each fault; a fault without an entry belongs to the host. */
  readonly faultTags: FaultTags;
  /** Files that cannot be rendered now and stay unchanged. */
  readonly heldPaths?: readonly string[];
}

/** Owners of faults. */
export type FaultTags = ReadonlyMap<Refusal, readonly Tag[]>;

/** Header of every unit file. */
const UNIT_HEADER = "# Rendered by fleetctl; changes are overwritten.\n";
/** Returns the file of a unit. */
export function unitFile(unit: Unit, paths: Paths): RenderedFile {
  return {
    path: `${paths.units}/${unit.name}`,
    content: UNIT_HEADER + printUnit(unit),
    mode: 0o644,
    owner: { user: "root", group: "root" },
    secret: false,
  };
}

/** Returns the target in `[Install]`, or undefined when the unit has none. */
export function wantedBy(unit: Unit): string {
  return unit.sections.find((section) => section.name === "Install")?.entries
    .find((entry) => entry.key === "WantedBy")?.value ?? "";
}
