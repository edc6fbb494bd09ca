/**
 * The OpenID provider as a relying party sees it, over `oauth4webapi`: discovery, the code flow with
 * PKCE S256 and nonce, signatures, user info and refresh (RFC 9700, RFC 9207, OpenID Connect Core 3.1).
 * Whatever is wrong with an answer is one fault for the log; nothing of it is shown to anybody.
 *
 * @module
 */

import * as oauth from "oauth4webapi";
import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import type { Clock, HttpClient } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import { toBase64Url } from "core/signed_value.ts";
import { boundedFetch, ProviderAway } from "login/oidc/fetch.ts";
import type { Flow } from "login/oidc/flows.ts";
import type { Claims } from "login/oidc/principal.ts";

/** Settings of the driver. */
export interface ProviderSettings {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  /** `${WEBVIEW_URL}/auth/callback`. */
  readonly redirectUri: string;
}

/** What a provider has proven. */
export interface Proven {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
  readonly refreshToken: string | undefined;
}

/** Why there is no proof; `why` is for the log. */
export interface ProviderFault {
  /** `ended`: the provider says that the refresh token is good no more. */
  readonly kind: "unreachable" | "refused" | "ended";
  readonly why: string;
}

/** The provider. */
export interface Provider {
  /** Returns the address that begins a sign-in. */
  address(flow: Flow): Promise<Result<URL, ProviderFault>>;
  /** Judges what came back and redeems the code. */
  redeem(answer: URLSearchParams, flow: Flow): Promise<Result<Proven, ProviderFault>>;
  /** Proves once more who a refresh token belongs to. */
  refresh(token: string): Promise<Result<Proven, ProviderFault>>;
}

interface Parts {
  readonly http: HttpClient;
  readonly clock: Clock;
}

const SUBJECT = /^[\x20-\x7e]{1,255}$/;
const SKEW_SECONDS = 60;

/** Creates the provider; asks it for nothing yet. */
export function createProvider(settings: ProviderSettings, parts: Parts): Provider {
  const client: oauth.Client = {
    client_id: settings.clientId,
    [oauth.clockTolerance]: SKEW_SECONDS,
    [oauth.clockSkew]: 0,
  };
  const options = {
    [oauth.customFetch]: boundedFetch(parts),
    ...(settings.issuer.protocol === "http:" ? { [oauth.allowInsecureRequests]: true } : {}),
  };
  const servers = createServers(settings, options, parts.clock);
  const attempt = async <T>(work: () => Promise<T>): Promise<Result<T, ProviderFault>> => {
    try {
      return ok(await work());
    } catch (thrown) {
      return err(faultOf(thrown));
    }
  };
  const proven = async (
    server: oauth.AuthorizationServer,
    response: Response,
    tokens: oauth.TokenEndpointResponse,
  ): Promise<Proven> => {
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    if (claims === undefined) throw new ProviderError("the answer holds no ID token");
    await servers.verifySignature(response);
    checkClaims(claims, settings.clientId, parts.clock.now());
    await checkAccessHash(claims, tokens);
    const info = await userInfo({ server, client, options }, tokens.access_token, claims);
    return {
      issuer: claims.iss,
      subject: claims.sub,
      claims: joinClaims(claims, info),
      refreshToken: tokens.refresh_token,
    };
  };
  return {
    address: (flow) => attempt(async () => await addressOf(await servers.get(), settings, flow)),
    redeem: (answer, flow) =>
      attempt(async () => {
        const server = await servers.get();
        const parameters = oauth.validateAuthResponse(server, client, answer, flow.state);
        const response = await oauth.authorizationCodeGrantRequest(
          server,
          client,
          clientAuth(server, settings),
          parameters,
          settings.redirectUri,
          flow.verifier,
          options,
        );
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
          expectedNonce: flow.nonce,
          requireIdToken: true,
        });
        return await proven(server, response, tokens);
      }),
    refresh: (token) =>
      attempt(async () => {
        const server = await servers.get();
        const auth = clientAuth(server, settings);
        const response = await oauth.refreshTokenGrantRequest(server, client, auth, token, options);
        const tokens = await oauth.processRefreshTokenResponse(server, client, response);
        return await proven(server, response, tokens);
      }),
  };
}

class ProviderError extends Error {}

type Options = Parameters<typeof oauth.discoveryRequest>[1] & {
  readonly [oauth.allowInsecureRequests]?: boolean;
};

/** The provider's metadata and keys: kept, asked again after a while, and not on a stranger's wish. */
function createServers(settings: ProviderSettings, options: Options, clock: Clock) {
  let known: { readonly server: oauth.AuthorizationServer; readonly until: number } | undefined;
  let asking: Promise<oauth.AuthorizationServer> | undefined;
  let keysAskedAt = -Infinity;
  const discover = async () => {
    const response = await oauth.discoveryRequest(settings.issuer, options);
    const server = await readMetadata(settings.issuer, response);
    known = { server, until: clock.monotonic() + LOGIN_LIMITS.metadataSeconds * 1000 };
    return server;
  };
  const get = async (): Promise<oauth.AuthorizationServer> => {
    if (known !== undefined && known.until > clock.monotonic()) return known.server;
    asking ??= discover().finally(() => asking = undefined);
    return await asking;
  };
  return {
    get,
    verifySignature: async (response: Response) => {
      const server = await get();
      try {
        await oauth.validateApplicationLevelSignature(server, response, options);
      } catch (thrown) {
        const waited = clock.monotonic() - keysAskedAt;
        if (!isAboutKeys(thrown) || waited < LOGIN_LIMITS.keysAgainSeconds * 1000) throw thrown;
        keysAskedAt = clock.monotonic();
        // A copy has no keys yet, so that they are asked for; the old ones stay until it has some.
        const fresh = { ...server };
        await oauth.validateApplicationLevelSignature(fresh, response, options);
        if (known !== undefined) known = { ...known, server: fresh };
      }
    },
  };
}

function isAboutKeys(thrown: unknown): boolean {
  return thrown instanceof oauth.OperationProcessingError &&
    (thrown.code === oauth.KEY_SELECTION || /signature verification failed/i.test(thrown.message));
}

/** Judges metadata: the issuer is exactly the one that was asked, and PKCE is not ruled out. */
async function readMetadata(issuer: URL, response: Response): Promise<oauth.AuthorizationServer> {
  const server = await oauth.processDiscoveryResponse(issuer, response);
  // The library compares addresses; what is compared later is the text.
  const wanted = issuer.href.replace(/\/$/, "");
  if (server.issuer !== wanted && server.issuer !== `${wanted}/`) {
    throw new ProviderError("its metadata names another issuer");
  }
  const methods = server.code_challenge_methods_supported;
  if (methods !== undefined && !methods.includes("S256")) {
    throw new ProviderError("it does not support PKCE with S256");
  }
  return server;
}

async function addressOf(
  server: oauth.AuthorizationServer,
  settings: ProviderSettings,
  flow: Flow,
): Promise<URL> {
  const endpoint = server.authorization_endpoint;
  if (endpoint === undefined) throw new ProviderError("its metadata has no place to sign in");
  const address = new URL(endpoint);
  if (address.protocol !== "https:" && settings.issuer.protocol === "https:") {
    throw new ProviderError("its place to sign in is not https");
  }
  const scopes = ["openid", "email", "profile"];
  if (server.scopes_supported?.includes("offline_access") === true) scopes.push("offline_access");
  const fields: Readonly<Record<string, string>> = {
    client_id: settings.clientId,
    redirect_uri: settings.redirectUri,
    response_type: "code",
    scope: scopes.join(" "),
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(flow.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(fields)) address.searchParams.set(name, value);
  return address;
}

function clientAuth(
  { token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer,
  { clientSecret }: ProviderSettings,
): oauth.ClientAuth {
  if (clientSecret === undefined) return oauth.None();
  const isPost = methods !== undefined && !methods.includes("client_secret_basic") &&
    methods.includes("client_secret_post");
  return isPost ? oauth.ClientSecretPost(clientSecret) : oauth.ClientSecretBasic(clientSecret);
}

/** What the library leaves to its user. */
function checkClaims(claims: oauth.IDToken, clientId: string, nowMs: number): void {
  if (claims.azp !== undefined && claims.azp !== clientId) {
    throw new ProviderError("the ID token was issued to another application");
  }
  if (!SUBJECT.test(claims.sub)) throw new ProviderError("the ID token has no usable subject");
  // A time that no date can be is no time; the library takes any number for one.
  if (![claims.exp, claims.iat].every(Number.isSafeInteger)) {
    throw new ProviderError("the ID token has times that are none");
  }
  const now = nowMs / 1000;
  if (claims.iat > now + SKEW_SECONDS) throw new ProviderError("the ID token is of the future");
}

/** `at_hash` ties the access token to the ID token (Core 3.1.3.6); checked where it is SHA-256. */
async function checkAccessHash(
  claims: oauth.IDToken,
  { access_token, id_token }: oauth.TokenEndpointResponse,
): Promise<void> {
  const { at_hash } = claims;
  if (at_hash === undefined) return;
  const head = String(id_token).split(".")[0] ?? "";
  const { alg } = JSON.parse(
    new TextDecoder().decode(Uint8Array.fromBase64(head, { alphabet: "base64url" })),
  ) as { alg: string };
  const bits = /(?:256|384|512)$/.exec(alg)?.[0] ?? "512";
  const digest = await crypto.subtle.digest(
    `SHA-${bits}`,
    new TextEncoder().encode(access_token),
  );
  const half = new Uint8Array(digest.slice(0, digest.byteLength / 2));
  if (at_hash !== toBase64Url(half)) {
    throw new ProviderError("the access token is not the one of the ID token");
  }
}

/** Asks for more claims where the ID token has no address; its subject has to be the same. */
async function userInfo(
  of: {
    readonly server: oauth.AuthorizationServer;
    readonly client: oauth.Client;
    readonly options: Options;
  },
  accessToken: string,
  claims: oauth.IDToken,
): Promise<Claims> {
  const { server, client, options } = of;
  if (claims.email !== undefined || server.userinfo_endpoint === undefined) return {};
  const response = await oauth.userInfoRequest(server, client, accessToken, options);
  return await oauth.processUserInfoResponse(server, client, claims.sub, response);
}

/**
 * Joins the claims of the ID token and of user info. An address and the word on whether it is verified
 * come from the same source, because one source proves nothing about the other's address. A denial of
 * either source counts.
 */
export function joinClaims(token: Claims, info: Claims): Claims {
  const from = token.email === undefined ? info : token;
  const isDenied = [token, info].some(({ email_verified: word }) =>
    word !== undefined && word !== true && word !== "true"
  );
  const { email, email_verified } = isDenied ? { ...from, email_verified: false } : from;
  return { ...info, ...token, email, email_verified };
}

/** Something in front of the provider has answered, such as the error page of a proxy. */
function isNoOAuthAnswer(thrown: unknown): boolean {
  if (!(thrown instanceof oauth.OperationProcessingError)) return false;
  return thrown.code === oauth.RESPONSE_IS_NOT_JSON || thrown.code === oauth.PARSE_ERROR ||
    thrown.code === oauth.RESPONSE_IS_NOT_CONFORM;
}

function faultOf(thrown: unknown): ProviderFault {
  if (thrown instanceof oauth.ResponseBodyError) {
    // The code is of a fixed list; its description may hold anything and is not repeated.
    const code = /^[a-z_]{1,40}$/.test(thrown.error) ? thrown.error : "an unknown error";
    const kind = thrown.error === "invalid_grant" ? "ended" : "refused";
    return { kind, why: `the provider answers ${code}` };
  }
  if (thrown instanceof oauth.AuthorizationResponseError) {
    const code = /^[a-z_]{1,40}$/.test(thrown.error) ? thrown.error : "an unknown error";
    return { kind: "refused", why: `the provider answers ${code}` };
  }
  const kind = thrown instanceof ProviderAway || isNoOAuthAnswer(thrown)
    ? "unreachable"
    : "refused";
  return { kind, why: errorText(thrown).slice(0, 200) };
}
