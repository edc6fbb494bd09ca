/**
 * Asks the gateway of another host which agents of this host are connected. One request covers all
 * of them, signed with this host's dial key. Changes nothing.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { HOST_AGENTS_PATH, printStatement, statementText } from "core/dial/host_agents.ts";
import { parseDialKey, signProof } from "core/dial/proof.ts";
import { errorText } from "core/errors.ts";
import { ANSWER_LIMITS } from "core/limits/http.ts";
import { readJson } from "core/net/bounded_body.ts";

/** The gateway's answer, or the reason why there is none. */
export type Elsewhere =
  | { readonly kind: "told"; readonly connected: ReadonlySet<string> }
  | {
    readonly kind: "silent";
    readonly fault: string;
    /** Public half of this host's key if the gateway does not know it. */
    readonly refusedKey?: string;
  };

/** Time limit for the gateway. A slower one counts as unreachable. */
const ANSWER_MS_MAX = 2_000;
const AGENTS_MAX = 10_000;

/** Sends the request. Returns undefined where this process cannot sign for the host. */
export async function askElsewhere(
  { ports, paths }: VerbContext,
  registerUrl: string,
): Promise<Elsewhere | undefined> {
  const stored = await ports.files.readText(paths.hostDialKey);
  const key = stored === undefined ? undefined : await parseDialKey(stored);
  if (key?.ok !== true) return undefined;
  const url = new URL(HOST_AGENTS_PATH, registerUrl.replace(/^ws/, "http"));
  const statement = { host: ports.hostname, atMs: ports.clock.now() };
  const proof = await signProof(key.value, statementText(statement, url.host));
  const ending = new AbortController();
  const cancel = ports.clock.after(ANSWER_MS_MAX, () => ending.abort());
  try {
    const response = await ports.http.fetch(url, {
      headers: { authorization: printStatement(statement, proof) },
      redirect: "manual",
      signal: ending.signal,
    });
    if (response.status === 200) {
      const body = await readJson(response.body, ANSWER_LIMITS.bytesMax);
      return parseAnswer(body.ok ? body.value : undefined);
    }
    await response.body?.cancel();
    return response.status === 403
      ? {
        kind: "silent",
        fault: `the gateway at ${url.host} does not admit this host, or their clocks differ`,
        refusedKey: key.value.publicKey,
      }
      : { kind: "silent", fault: `the gateway at ${url.host} answered ${response.status}` };
  } catch (thrown) {
    const why = ending.signal.aborted
      ? `no answer within ${ANSWER_MS_MAX / 1000} s`
      : errorText(thrown);
    return { kind: "silent", fault: `the gateway at ${url.host}: ${why}` };
  } finally {
    cancel();
  }
}

function parseAnswer(body: unknown): Elsewhere {
  const { agents } = (body ?? {}) as { readonly agents?: unknown };
  if (!Array.isArray(agents) || agents.length > AGENTS_MAX) {
    return { kind: "silent", fault: "the gateway gave an answer of another form" };
  }
  return { kind: "told", connected: new Set(agents.map(String)) };
}
