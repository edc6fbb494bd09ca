/**
 * Whether an MCP that is reached by URL answers an `initialize` with the agent's own keys. The URL
 * may contain a key, so messages name only its host.
 *
 * @module
 */

import type { Manifest } from "core/catalog/manifest.ts";
import { errorText, refusal } from "core/errors.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { HttpEndpoint } from "core/ports/mcp_client.ts";
import { err, ok, type Result } from "core/result.ts";

/** The `initialize` request of MCP 2025-11-25. Servers of the next revision also accept it. */
const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "fleetctl", version: "0" },
  },
});

/** Sends one request. Returns a sentence about the answer. */
export async function probeHttp(
  ports: { readonly http: HttpClient; readonly clock: Clock },
  manifest: Manifest,
  { url, headers, secrets }: HttpEndpoint,
): Promise<Result<string>> {
  const { host } = new URL(url);
  const ending = new AbortController();
  const cancel = ports.clock.after(MCP_LIMITS.handshakeSeconds * 1000, () => ending.abort());
  try {
    const response = await ports.http.fetch(url, {
      method: "POST",
      redirect: "manual",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: INITIALIZE,
      signal: ending.signal,
    });
    await response.body?.cancel();
    if (response.ok) return ok(`${host} answered`);
    const isKey = response.status === 401 || response.status === 403;
    return err(refusal(
      isKey ? "mcp-key-refused" : "mcp-answers-badly",
      `${host} answered with status ${response.status}, must accept the request`,
      {
        hints: isKey
          ? manifest.requiredEnv.map((key) => `fleetctl secret set ${key}`)
          : [`fleetctl mcp catalog list`],
      },
    ));
  } catch (thrown) {
    // The fault text may repeat the URL, and so a key.
    const why = ending.signal.aborted
      ? "no answer in time"
      : [url, ...secrets].reduce((text, part) => text.split(part).join("…"), errorText(thrown));
    return err(refusal("mcp-unreachable", `Cannot reach ${host}: ${why.slice(0, 200)}`, {
      hints: [`curl -sS -o /dev/null -w '%{http_code}\\n' https://${host}/`],
    }));
  } finally {
    cancel();
  }
}
