/**
 * Extracts from an answer or a log what a server was denied, as refusals for the operator. No I/O.
 *
 * Deno reports `Requires net access to "host:443", run again with …`; the advice at its end is for
 * interactive use and is dropped. A server in a sandbox (Python, Node) sees a system error instead,
 * because what is not granted does not exist there. If such an error names something that the
 * manifest does not grant, it is reported in the same form.
 *
 * @module
 */

import { versionOf } from "core/catalog/edit.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { quoteShell } from "core/text/quote.ts";

const DENIED = /Requires (net|read|write|env|run|sys) access(?: to "([^"]{1,400})")?/g;
const LINES_MAX = 5;
/** A sandbox without a network: no such sockets, no route, no name resolution, no listener. */
const NO_NETWORK =
  /\[Errno (97|101|111|-2|-3)\]|Network is unreachable|Name or service not known|Temporary failure in name|\b(ECONNREFUSED|ENETUNREACH|EAI_AGAIN|ENOTFOUND|EAFNOSUPPORT)\b/;
/** Python's `OSError` about a file: missing, not permitted, or read-only. */
const NO_FILE = /\[Errno (2|13|30)\] [^:\n]{1,60}: '(\/[^'\n]{1,400})'/g;
/** The same for Node: `ENOENT: no such file or directory, open '/x'`. */
const NO_NODE_FILE = /\b(ENOENT|EACCES|EPERM|EROFS): [^,\n]{1,60}, \w{1,20} '(\/[^'\n]{1,400})'/g;
const READ_ONLY: ReadonlySet<string> = new Set(["30", "EROFS"]);

/** One thing that was denied. */
interface Denied {
  readonly kind: string;
  readonly value: string;
}

/** The entry that a text is about. */
interface DeniedServer {
  readonly mcp: string;
  readonly version: string;
  /** Home of the agent: a grant applies to every agent, so paths below it are shown as `{home}`. */
  readonly home?: string | undefined;
}

/** Returns one refusal for each distinct denial that Deno reports, at most `LINES_MAX`. */
export function deniedIn(server: DeniedServer, text: string): readonly Refusal[] {
  return refusalsOf(
    server,
    [...text.matchAll(DENIED)].map(([, kind = "", value = ""]) => ({ kind, value })),
  );
}

/** Returns the same for a server in a sandbox, based on what its manifest grants. */
export function deniedInSandbox(
  { name, source, permissions }: Pick<Manifest, "name" | "source" | "permissions">,
  text: string,
  home?: string,
): readonly Refusal[] {
  const server = { mcp: name, version: versionOf(source), home };
  return refusalsOf(server, systemFaults(permissions, text));
}

function refusalsOf(
  { mcp, version, home }: DeniedServer,
  denied: readonly Denied[],
): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const { kind, value } of denied) {
    const known = PERMISSION_KINDS.find((one) => one === kind);
    if (known === undefined || found.size >= LINES_MAX) continue;
    const shown = value.replace(/\p{Cc}/gu, "?");
    const named = home !== undefined && shown.startsWith(`${home}/`)
      ? `{home}${shown.slice(home.length)}`
      : shown;
    const grant = named === "" ? "" : ` --grant ${quoteShell(`${known}=${named}`)}`;
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

function systemFaults(permissions: Manifest["permissions"], text: string): readonly Denied[] {
  const network = permissions.net.length === 0 && NO_NETWORK.test(text)
    ? [{ kind: "net", value: "*" }]
    : [];
  const found = [...text.matchAll(NO_FILE), ...text.matchAll(NO_NODE_FILE)];
  const files = found.flatMap(([, errno = "", path = ""]) => {
    const kind = READ_ONLY.has(errno) ? "write" : "read";
    const granted = kind === "write"
      ? permissions.write
      : [...permissions.read, ...permissions.write];
    return granted.some((folder) => isCovered(folder, path)) ? [] : [{ kind, value: path }];
  });
  return [...network, ...files];
}

/**
 * Tells whether a granted folder covers a path. The folder of a placeholder is not known here, so
 * only the rest of the grant must occur in the path.
 */
function isCovered(folder: string, path: string): boolean {
  const tail = folder.replace(/^\{\w+\}/, "");
  return folder.startsWith("{") ? path.includes(tail) : `${path}/`.startsWith(`${folder}/`);
}
