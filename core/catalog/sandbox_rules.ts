/**
 * Manifest rules for servers that a sandbox confines: Python servers, and Node servers
 * (`isSandboxed`). A permission that Deno can express but the sandbox cannot enforce is refused. No
 * I/O.
 *
 * @module
 */

import type { FieldReader } from "core/text/field_reader.ts";
import { isSandboxed, type Manifest } from "core/catalog/manifest.ts";

type HostProgram = Manifest["hostPrograms"][number];

/** Builds the file system view of a server that has path grants. */
const BUBBLEWRAP: HostProgram = { anyOf: ["bwrap"], install: "apt-get install bubblewrap" };
/** The Node engine itself; it is not part of the package. */
const NODE: HostProgram = { anyOf: ["node"], install: "apt-get install nodejs" };

/** Permissions that the sandbox does not limit, and why. */
const UNENFORCED = [
  ["run", "its sandbox also confines the programs that it starts"],
  ["sys", "its sandbox cannot enforce it"],
] as const;

/** Returns the programs that a host must have to start a server in its sandbox. */
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

/**
 * Adds a fault for each permission that the sandbox cannot enforce; `who` names the kind of server.
 */
export function checkSandboxed(read: FieldReader, who: string): void {
  if (read.has(["run_as"])) read.fault(["run_as"], "must be absent: root would leave the sandbox");
  for (const [kind, why] of UNENFORCED) {
    if (read.has(["permissions", kind])) {
      read.fault(["permissions", kind], `is not allowed for ${who}: ${why}`);
    }
  }
  for (const kind of ["read", "write"]) {
    for (let index = 0; index < read.count(["permissions", kind]); index++) {
      read.string(
        ["permissions", kind, index],
        (text) =>
          /[:\s"'\\]/.test(text)
            ? "must not contain a space, colon, quote or backslash"
            : undefined,
      );
    }
  }
  for (let index = 0; index < read.count(["permissions", "net"]); index++) {
    read.string(
      ["permissions", "net", index],
      (text) => text === "*" ? undefined : `must be "*": ${who} cannot be limited to single hosts`,
    );
  }
}
