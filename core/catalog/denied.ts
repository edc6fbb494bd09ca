/**
 * What a server was denied, out of the words of an answer or of a log: one line for the operator.
 * No I/O. Deno refuses with `Requires net access to "host:443", run again with …`; the advice at its end
 * is for people who start programs by hand.
 *
 * @module
 */

import { PERMISSION_KINDS } from "core/catalog/manifest_rules.ts";
import { type Refusal, refusal } from "core/errors.ts";

const DENIED = /Requires (net|read|write|env|run|sys) access(?: to "([^"]{1,400})")?/g;
const LINES_MAX = 5;

/** Returns a refusal for each thing that a text says was denied, each once. */
export function deniedIn(
  { mcp, version }: { readonly mcp: string; readonly version: string },
  text: string,
): readonly Refusal[] {
  const found = new Map<string, Refusal>();
  for (const [, kind = "", value = ""] of text.matchAll(DENIED)) {
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
