/**
 * The environment of a bot, on loopback, for subjects of several makers: the connector's keys, an
 * identity provider that gives tokens to every caller, a connector that accepts every message, and
 * a second host that must never receive a bot's token. Counts the requests that reach each of them.
 *
 * @module
 */

import { createKitKeys, type KitKeys } from "tests/teamchat/connector/keys.ts";

/** Issuer of the public cloud, which the makers' SDKs know. */
export const PUBLIC_ISSUER = "https://api.botframework.com";

/** A syntactically valid JWT, because an SDK parses the token that it receives. */
const APP_TOKEN = [{ alg: "none" }, { aud: PUBLIC_ISSUER, exp: 4_102_444_800 }, {}]
  .map((part) => btoa(JSON.stringify(part)).replaceAll("=", "")).join(".");

/** The running environment. */
export interface World extends AsyncDisposable {
  readonly origin: string;
  readonly serviceUrl: string;
  /** `serviceUrl` of the host that must never receive a token. */
  readonly foreignUrl: string;
  readonly keys: KitKeys;
  /** Content of the file for `TEAMS_CLOUD`. */
  readonly cloudFile: string;
  /** Returns the number of messages that reached the connector. */
  messages(): number;
  /** Returns the number of requests with a bearer token that reached the foreign host. */
  thefts(): number;
  /** Returns the number of key set fetches. */
  keyFetches(): number;
  reset(): void;
  /** Called for each message that reaches the connector, except typing signs and progress lines. */
  onMessage: (conversation: string, text: string) => void;
}

/** Starts the environment. */
export async function startWorld(): Promise<World> {
  const keys = await createKitKeys(Date.now);
  const seen = { messages: 0, thefts: 0, keyFetches: 0 };
  const serve = (handler: (request: Request) => Response | Promise<Response>) =>
    Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, handler);
  const main = serve(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/teams/")) {
      const text = await request.text();
      if (!text.includes('"typing"')) {
        seen.messages++;
        const [, conversation = ""] = /conversations\/([^/]+)\//.exec(pathname) ?? [];
        const { text: words } = JSON.parse(text) as { text?: string };
        world.onMessage(decodeURIComponent(conversation), words ?? "");
      }
      return Response.json({ id: crypto.randomUUID() }, { status: 201 });
    }
    if (/\/keys$/.test(pathname)) {
      seen.keyFetches++;
      return Response.json(keys.published());
    }
    if (pathname.endsWith("/token")) {
      const answer = { token_type: "Bearer", expires_in: 3_600, access_token: APP_TOKEN };
      return Response.json(answer);
    }
    return Response.json(metadata(pathname, `http://127.0.0.1:${main.addr.port}`));
  });
  const foreign = serve((request) => {
    if ((request.headers.get("authorization") ?? "").startsWith("Bearer")) seen.thefts++;
    return Response.json({ id: "x" }, { status: 201 });
  });
  const origin = `http://127.0.0.1:${main.addr.port}`;
  const world: World = {
    origin,
    onMessage: () => {},
    serviceUrl: `${origin}/teams/`,
    foreignUrl: `http://127.0.0.1:${foreign.addr.port}/teams/`,
    keys,
    cloudFile: [
      `issuer: ${PUBLIC_ISSUER}`,
      `openid_metadata: ${origin}/own/.well-known/openidconfiguration`,
      `login_url: ${origin}/`,
      "default_tenant: botframework.com",
      "scope: https://api.botframework.com/.default",
      `service_hosts: ["${origin}"]`,
      "",
    ].join("\n"),
    messages: () => seen.messages,
    thefts: () => seen.thefts,
    keyFetches: () => seen.keyFetches,
    reset: () => {
      Object.assign(seen, { messages: 0, thefts: 0, keyFetches: 0 });
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([main.shutdown(), foreign.shutdown()]);
    },
  };
  return world;
}

/**
 * Returns a metadata document with the other addresses: the connector's, this world's, or those of
 * a tenant at the identity provider.
 */
function metadata(pathname: string, origin: string): unknown {
  const tenant = pathname.split("/")[1] ?? "";
  const login = `https://login.microsoftonline.com/${tenant}`;
  const isConnector = pathname.includes("openidconfiguration");
  const isOwn = pathname.startsWith("/own/");
  return {
    issuer: isConnector ? PUBLIC_ISSUER : `${login}/v2.0`,
    authorization_endpoint: `${login}/oauth2/v2.0/authorize`,
    token_endpoint: `${login}/oauth2/v2.0/token`,
    jwks_uri: isOwn
      ? `${origin}/own/.well-known/keys`
      : isConnector
      ? "https://login.botframework.com/v1/.well-known/keys"
      : `${login}/discovery/v2.0/keys`,
    id_token_signing_alg_values_supported: ["RS256"],
    tenant_discovery_endpoint: `${login}/v2.0/.well-known/openid-configuration`,
  };
}
