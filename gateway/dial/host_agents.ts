/**
 * Answers a host's query for its connected agents. Only a host with an enrolled dial key gets an
 * answer, and only about its own agents. Every refusal looks the same.
 *
 * @module
 */

import { browserSign } from "core/dial/browser.ts";
import {
  HOST_AGENTS_PATH,
  parseStatement,
  STATEMENT_MS_MAX,
  statementText,
} from "core/dial/host_agents.ts";
import { hostOfSession, hostSession } from "core/dial/host_job.ts";
import { verifyProof } from "core/dial/proof.ts";
import type { SessionRegistry } from "core/dial/sessions.ts";
import { hostnameOf, type IsOwnName } from "core/net/host_name.ts";
import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { DialKeys } from "gateway/dial/keys.ts";

/** Dependencies of the endpoint. */
export interface HostAgentsDeps {
  readonly clock: Clock;
  readonly keys: Pick<DialKeys, "enrolled">;
  readonly registry: Pick<SessionRegistry, "all">;
  readonly isOwnName: IsOwnName;
  readonly log: Log;
}

/** Answers one request at the dial-in listener. */
export async function answerHost(
  request: Request,
  peer: string,
  deps: HostAgentsDeps,
): Promise<Response> {
  const isAsked = request.method === "GET" &&
    new URL(request.url).pathname === HOST_AGENTS_PATH;
  if (!isAsked || browserSign(request.headers, deps.isOwnName) !== undefined) return notFound();
  const host = await provenHost(request, deps);
  if (host === undefined) {
    deps.log.warning("host not answered", { peer });
    return Response.json({ code: "host-not-admitted" }, { status: 403 });
  }
  const agents = deps.registry.all()
    .filter((session) => hostOfSession(session.agent) === undefined && session.host === host)
    .map(({ agent }) => agent);
  return Response.json({ agents }, { headers: { "cache-control": "no-store" } });
}

async function provenHost(
  { headers }: Request,
  { clock, keys, isOwnName }: HostAgentsDeps,
): Promise<string | undefined> {
  const statement = parseStatement(headers.get("authorization"));
  if (statement === undefined) return undefined;
  if (Math.abs(clock.now() - statement.atMs) > STATEMENT_MS_MAX) return undefined;
  const gateway = headers.get("host") ?? "";
  const name = hostnameOf(gateway);
  // A statement signed for another gateway must not be valid here.
  if (!isOwnName(name)) return undefined;
  const text = statementText(statement, gateway);
  for (const key of await keys.enrolled(hostSession(statement.host)) ?? []) {
    if (await verifyProof(key, text, statement.proof)) return statement.host;
  }
  return undefined;
}

function notFound(): Response {
  return new Response("not found\n", { status: 404 });
}
