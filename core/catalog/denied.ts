/**
 * What a server was denied, out of the words of an answer or of a log: one line for the operator.
 * No I/O. Deno refuses with `Requires net access to "host:443", run again with …`; the advice at its end
 * is for people who start programs by hand. A Python server sees an error of the system instead, since
 * what is not granted is not there for it; what it names and the manifest does not is told the same way.
 *
 * @module
 */

import { versionOf } from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import { type Refusal, refusal } from "core/errors.ts";

const DENIED = /Requires (net|read|write|env|run|sys) access(?: to "([^"]{1,400})")?/g;
const LINES_MAX = 5;
/** A sandbox without a network: no such sockets, no route, no name, nobody on the loopback. */
const NO_NETWORK =
  /\[Errno (97|101|111|-2|-3)\]|Network is unreachable|Name or service not known|Temporary failure in name/;
/** Python's `OSError` about a file: not there, not permitted, read-only. */
const NO_FILE = /\[Errno (2|13|30)\] [^:\n]{1,60}: '(\/[^'\n]{1,400})'/g;
const READ_ONLY = "30";

/** One thing that was denied. */
interface Denied {
  readonly kind: string;
  readonly value: string;
}

/** The entry that a text is about. */
interface Of {
  readonly mcp: string;
  readonly version: string;
}

/** Returns a refusal for each thing that Deno says was denied, each once. */
export function deniedIn(of: Of, text: string): readonly Refusal[] {
  return refusalsOf(
    of,
    [...text.matchAll(DENIED)].map(([, kind = "", value = ""]) => ({ kind, value })),
  );
}

/** Returns the same for a Python server, by what its manifest grants. */
export function deniedInPython(
  { name, source, permissions }: Pick<Manifest, "name" | "source" | "permissions">,
  text: string,
): readonly Refusal[] {
  return refusalsOf({ mcp: name, version: versionOf(source) }, pythonFaults(permissions, text));
}

function refusalsOf({ mcp, version }: Of, denied: readonly Denied[]): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const { kind, value } of denied) {
    const known = PERMISSION_KINDS.find((one) => one === kind);
    if (known === undefined || found.size >= LINES_MAX) continue;
    const shown = value.replace(/\p{Cc}/gu, "?");
    const grant = shown === "" ? "" : ` --grant '${known}=${shown}'`;
    found.set(
      `${kind} ${shown}`,
      refusal(
        "server-denied",
        `Cannot let MCP "${mcp}" use ${known} ${
          JSON.stringify(shown)
        }: its manifest does not grant it`,
        { hints: [`fleetctl mcp catalog upgrade ${mcp} --to ${version}${grant}`] },
      ),
    );
  }
  return [...found.values()];
}

function pythonFaults(permissions: Manifest["permissions"], text: string): readonly Denied[] {
  const network = permissions.net.length === 0 && NO_NETWORK.test(text)
    ? [{ kind: "net", value: "*" }]
    : [];
  const files = [...text.matchAll(NO_FILE)].flatMap(([, errno, path = ""]) => {
    const kind = errno === READ_ONLY ? "write" : "read";
    const granted = kind === "write"
      ? permissions.write
      : [...permissions.read, ...permissions.write];
    return granted.some((folder) => isNamed(folder, path)) ? [] : [{ kind, value: path }];
  });
  return [...network, ...files];
}

/** Placeholders stand for folders that are not known here: what follows them must be in the path. */
function isNamed(folder: string, path: string): boolean {
  const tail = folder.replace(/^\{\w+\}/, "");
  return folder.startsWith("{") ? path.includes(tail) : `${path}/`.startsWith(`${folder}/`);
}
