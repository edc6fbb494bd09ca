/**
 * `fleetctl mcp catalog import`: adds the server that a `server.json` of the official registry
 * describes, from a file or from a URL that is named. From the pin on it is `mcp catalog add`.
 *
 * @module
 */

import * as addVerb from "cli/mcp/catalog/add.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { type Grants, parseGrants } from "core/catalog/edit.ts";
import { parseServerJson, SERVER_JSON_BYTES_MAX } from "core/catalog/server_json.ts";
import { errorText, refusal } from "core/errors.ts";
import { parseMcpName } from "core/names.ts";
import { FileFault } from "core/ports.ts";
import { quoteShell } from "core/quote.ts";
import { err, ok, type Result } from "core/result.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** What `fleetctl mcp catalog import` was asked for. */
export interface Options {
  /** File or URL. */
  readonly from: string;
  readonly name: string | undefined;
  readonly into: string | undefined;
  readonly program: string | undefined;
  readonly grants: Grants;
}

const HELP = "fleetctl mcp catalog import --help";
const FETCH_MS_MAX = 20_000;

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const grants = parseGrants(repeated(invocation, "grant"));
  if (!grants.ok) return grants;
  const { name, into, program } = invocation.options;
  return ok({ from: invocation.args.from ?? "", name, into, program, grants: grants.value });
}

/** Reads the document and adds the entry. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const text = /^https?:/.test(options.from)
    ? await fetchText(context, options.from)
    : await readFile(context, options.from);
  if (!text.ok) return text;
  const server = parseServerJson(text.value);
  if (!server.ok) return err({ ...server.error, hints: [...server.error.hints, HELP] });
  const mcp = parseMcpName(options.name ?? server.value.name);
  if (!mcp.ok) return mcp;
  return await addVerb.run(context, {
    ...server.value,
    mcp: mcp.value,
    into: options.into,
    program: options.program,
    grants: options.grants,
    isShared: false,
    verb: "mcp catalog import",
  });
}

async function readFile(context: VerbContext, from: string): Promise<Result<string>> {
  const path = from.startsWith("/") ? from : `${context.cwd}/${from}`;
  try {
    const stat = await context.ports.files.stat(path);
    const isFit = stat?.kind === "file" && stat.size <= SERVER_JSON_BYTES_MAX;
    const text = isFit ? await context.ports.files.readText(path) : undefined;
    return text === undefined
      ? err(unreadable(from, "it is not a file of at most 1 MiB"))
      : ok(text);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return err(unreadable(from, thrown.code));
  }
}

async function fetchText(context: VerbContext, from: string): Promise<Result<string>> {
  const isLoopback = /^http:\/\/(127\.0\.0\.1|localhost|\[::1\])[:/]/.test(from);
  if (!from.startsWith("https:") && !isLoopback) {
    return err(unreadable(from, "it must use https (http only to loopback)"));
  }
  try {
    const response = await context.ports.http.fetch(from, {
      redirect: "error",
      headers: { accept: "application/json" },
      signal: AbortSignal.timeout(FETCH_MS_MAX),
    });
    if (!response.ok) {
      await response.body?.cancel();
      return err(unreadable(from, `the server answered ${response.status}`));
    }
    return await boundedText(response, from);
  } catch (thrown) {
    return err(unreadable(from, errorText(thrown)));
  }
}

async function boundedText(response: Response, from: string): Promise<Result<string>> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > SERVER_JSON_BYTES_MAX) {
      return err(unreadable(from, "it is larger than 1 MiB"));
    }
  }
  return ok(text + decoder.decode());
}

function unreadable(from: string, state: string) {
  return refusal(
    "import-unreadable",
    `Cannot read ${JSON.stringify(from.slice(0, 300))}: ${state}, must be a server.json`,
    {
      hints: [
        /^https?:/.test(from) ? `curl -sSL ${quoteShell(from)}` : `ls -l ${quoteShell(from)}`,
      ],
    },
  );
}
