/**
 * The vocabulary of what is desired: tagged files, folders, units with their inputs, and the parts
 * that `desired.ts` puts together. No I/O.
 *
 * @module
 */

import type { Refusal } from "core/errors.ts";
import type { FileOwner, RenderedFile } from "core/files/rendered_file.ts";
import type { AgentName, McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { printUnit, type Unit } from "core/text/unit_file.ts";
import type { ClientConfig } from "units/render/client_config.ts";

/** Whose a rendered thing is; decides what is held when that one has a fault. */
export interface Tag {
  readonly agent?: AgentName;
  readonly mcp?: McpName;
}

/** A file and whose it is. */
export interface TaggedFile extends Tag {
  readonly file: RenderedFile;
}

/** A folder; `home` names the agent in whose home it is, where only that agent may write. */
export interface DesiredFolder {
  readonly path: string;
  readonly mode: number;
  readonly owner: FileOwner;
  readonly home?: AgentName;
  /** The mode is for a folder that is made; one that is there keeps what its owner gave it. */
  readonly isModeTheirs?: boolean;
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
  /** Texts that a running unit has read at its start, but for which it is not restarted. */
  readonly softInputs: readonly string[];
  /** Program files whose content counts as an input. */
  readonly programs: readonly string[];
  /** Links whose targets count as inputs: the vendored tree in use. */
  readonly links: readonly string[];
  /** Stopped on purpose: its file is there, it is neither enabled nor running. */
  readonly isStopped?: boolean;
  /** The socket on which it serves, while it is active. */
  readonly socket?: DesiredSocket;
  /** Target that wants it: `multi-user.target` or `sockets.target`. */
  readonly wantedBy: string;
}

/** Where clients reach a unit. */
export interface DesiredSocket {
  readonly path: string;
  /** Undefined where the program that listens sets mode and owner. */
  readonly mode?: number;
  readonly owner?: FileOwner;
}

/** One part of what is desired. */
export interface DesiredPart {
  readonly files: readonly TaggedFile[];
  readonly folders: readonly DesiredFolder[];
  readonly clients: readonly ClientConfig[];
  readonly units: readonly DesiredUnit[];
  readonly faults: readonly Refusal[];
  /** Whose each fault is; a fault that is not in it is the host's. */
  readonly faultTags: FaultTags;
  /** Files that cannot be rendered now and stay as they are. */
  readonly heldPaths?: readonly string[];
}

/** Whose faults are. */
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

/** Returns the target in `[Install]`, where a unit has one. */
export function wantedBy(unit: Unit): string {
  return unit.sections.find((section) => section.name === "Install")?.entries
    .find((entry) => entry.key === "WantedBy")?.value ?? "";
}
