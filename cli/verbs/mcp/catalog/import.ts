/**
 * `fleetctl mcp catalog import`: adds the server that a `server.json` of the official registry
 * describes, from a given file or URL. After the pin is known, it works like `mcp catalog add`.
 *
 * @module
 */

import * as addVerb from "cli/verbs/mcp/catalog/add.ts";
import { seenLines } from "cli/mcp/catalog/add_report.ts";
import type { VerbContext } from "cli/context.ts";
import type { VerbReport } from "cli/output.ts";
import { grantOptions } from "core/catalog/dry_start.ts";
import { type Grants, parseGrants } from "core/catalog/edit.ts";
import { type Marks, parseMarks } from "core/catalog/risk_marks.ts";
import {
  type ImportedServer,
  parseServerJson,
  SERVER_JSON_BYTES_MAX,
} from "core/catalog/server_json.ts";
import { errorText, refusal } from "core/errors.ts";
import { parseMcpName } from "core/names.ts";
import { readText } from "core/net/bounded_body.ts";
import { FileFault } from "core/ports/files.ts";
import { printShell, quoteShell } from "core/text/quote.ts";
import { err, ok, type Result } from "core/result.ts";
import { checkServerKeys } from "core/secrets/closed_keys.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import { type Invocation, repeated } from "core/verbs/invocation.ts";

/** Options of `fleetctl mcp catalog import`. */
export interface Options {
  /** File or URL. */
  readonly from: string;
  readonly name: string | undefined;
  readonly into: string | undefined;
  readonly program: string | undefined;
  /** Keys that the server may see. Each key that the document names must be among them. */
  readonly keys: readonly string[];
  readonly grants: Grants;
  readonly marks: Marks;
}

const HELP = "fleetctl mcp catalog import --help";
const FETCH_MS_MAX = 20_000;

/** Parses the arguments. */
export function parseOptions(invocation: Invocation): Result<Options> {
  const grants = parseGrants(repeated(invocation, "grant"));
  if (!grants.ok) return grants;
  const marks = parseMarks(repeated(invocation, "risk"));
  if (!marks.ok) return marks;
  const { name, into, program } = invocation.options;
  const from = invocation.args.from ?? "";
  const keys = repeated(invocation, "env");
  const seen = checkServerKeys([...keys, ...grants.value.env ?? []]);
  if (!seen.ok) return seen;
  return ok({ from, name, into, program, keys, grants: grants.value, marks: marks.value });
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
  const accepted = checkAccepted(server.value, options);
  if (!accepted.ok) return accepted;
  return await addVerb.run(context, {
    ...server.value,
    mcp: mcp.value,
    into: options.into,
    program: options.program,
    marks: options.marks,
    grants: options.grants,
    engine: undefined,
    isShared: false,
    verb: "mcp catalog import",
  });
}

/**
 * Checks that the operator named each key for the server, because the document may be untrusted.
 */
function checkAccepted(server: ImportedServer, options: Options): Result<void> {
  const wanted = [...server.requiredEnv, ...server.optionalEnv];
  const closed = checkServerKeys(wanted);
  if (!closed.ok) return closed;
  const missing = wanted.filter((key) => !options.keys.includes(key));
  const unknown = options.keys.filter((key) => !wanted.includes(key));
  if (missing.length + unknown.length === 0) return ok(undefined);
  const state = missing.length > 0
    ? `its document asks for keys that were not accepted (${missing.join(", ")})`
    : `its document does not ask for ${unknown.join(", ")}`;
  return err(refusal(
    "keys-unaccepted",
    `Cannot import the server: ${state}, must be accepted by --env, each by its name`,
    { details: seenLines(server), hints: [printShell(wordsOf(options, wanted))] },
  ));
}

/** Returns the same command with these keys accepted. */
function wordsOf(options: Options, keys: readonly string[]): readonly string[] {
  const { from, name, into, program, grants, marks } = options;
  const one = (option: string, value: string | undefined) =>
    value === undefined ? [] : [`--${option}`, value];
  return [
    "fleetctl",
    "mcp",
    "catalog",
    "import",
    from,
    ...one("name", name),
    ...one("into", into),
    ...one("program", program),
    ...grantOptions(grants).flatMap((text) => one("grant", text)),
    ...[...marks].flatMap(([tool, mark]) => one("risk", `${tool}=${mark}`)),
    ...keys.flatMap((key) => one("env", key)),
  ];
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
    return await withinTime(context.ports.clock, FETCH_MS_MAX, async (signal) => {
      const response = await context.ports.http.fetch(from, {
        redirect: "error",
        headers: { accept: "application/json" },
        signal,
      });
      if (!response.ok) {
        await response.body?.cancel();
        return err(unreadable(from, `the server answered ${response.status}`));
      }
      const text = await readText(response.body, SERVER_JSON_BYTES_MAX);
      return text.ok ? text : err(unreadable(from, "it is larger than 1 MiB"));
    });
  } catch (thrown) {
    return err(unreadable(from, errorText(thrown)));
  }
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
