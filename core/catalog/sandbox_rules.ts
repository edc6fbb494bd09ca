/**
 * Rules of a manifest for servers that a sandbox confines: Python, and Node (`isSandboxed`). No
 * I/O. What Deno's permissions can say and a sandbox cannot hold is refused.
 *
 * @module
 */

import type { FieldReader } from "core/text/field_reader.ts";
import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";

type HostProgram = Manifest["hostPrograms"][number];

/** Builds the view of a server that is granted paths. */
const BUBBLEWRAP: HostProgram = { anyOf: ["bwrap"], install: "apt-get install bubblewrap" };
/** The engine itself; it is no part of the package. */
const NODE: HostProgram = { anyOf: ["node"], install: "apt-get install nodejs" };

/** Returns what a host must have to start a server in its sandbox. */
export function sandboxPrograms(
  of: Pick<Manifest, "source" | "engine" | "permissions">,
): readonly HostProgram[] {
  if (!isSandboxed(of)) return [];
  const { read, write } = of.permissions;
  return [
    ...(of.source.kind === "npm" ? [NODE] : []),
    ...(read.length + write.length > 0 ? [BUBBLEWRAP] : []),
  ];
}

/** Faults what the sandbox of a server could not hold; `who` names the kind of server. */
export function checkSandboxed(read: FieldReader, who: string): void {
  if (read.has(["run_as"])) read.fault(["run_as"], "must be absent: root would leave the sandbox");
  for (const kind of ["run", "sys"]) {
    if (read.has(["permissions", kind])) {
      read.fault(
        ["permissions", kind],
        `has no meaning for ${who}: what it starts is in the same sandbox`,
      );
    }
  }
  for (const kind of ["read", "write"]) {
    for (let index = 0; index < read.count(["permissions", kind]); index++) {
      read.string(
        ["permissions", kind, index],
        (text) =>
          /[:\s"'\\]/.test(text) ? "must hold no space, colon, quote or backslash" : undefined,
      );
    }
  }
  for (let index = 0; index < read.count(["permissions", "net"]); index++) {
    read.string(
      ["permissions", "net", index],
      (text) => text === "*" ? undefined : `must be "*": ${who} is held to no single host`,
    );
  }
}
