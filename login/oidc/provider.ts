/**
 * The OpenID provider as a relying party sees it, over `oauth4webapi`: discovery, the code
 * flow with PKCE S256 and nonce, signatures, user info and refresh (RFC 9700, RFC 9207,
 * OpenID Connect Core 3.1). What is wrong with a provider's answer is only logged; users never
 * see it.
 *
 * @module
 */

import * as oauth from "oauth4webapi";
import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { err, ok, type Result } from "core/result.ts";
import { toBase64Url } from "core/crypto/signed_value.ts";
import { boundedFetch, ProviderUnavailable } from "login/oidc/fetch.ts";
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

/** An identity that the provider has verified. */
export interface VerifiedIdentity {
  readonly issuer: string;
  readonly subject: string;
  readonly claims: Claims;
  readonly refreshToken: string | undefined;
}

/** Why an identity was not verified; `why` is for the log. */
export interface ProviderFault {
  /** `ended`: the provider no longer accepts the refresh token. */
  readonly kind: "unreachable" | "refused" | "ended";
  readonly why: string;
}

/** The provider. */
export interface Provider {
  /** Returns the URL that starts a sign-in. */
  authorizationUrl(flow: Flow): Promise<Result<URL, ProviderFault>>;
  /** Validates the callback parameters and redeems the code. */
  redeem(answer: URLSearchParams, flow: Flow): Promise<Result<VerifiedIdentity, ProviderFault>>;
  /** Redeems a refresh token and verifies the identity in the answer. */
  refresh(token: string): Promise<Result<VerifiedIdentity, ProviderFault>>;
}

interface Deps {
  readonly http: HttpClient;
  readonly clock: Clock;
}

const SUBJECT = /^[\x20-\x7e]{1,255}$/;
const SKEW_SECONDS = 60;

/** Creates the provider; sends no request yet. */
export function createProvider(settings: ProviderSettings, deps: Deps): Provider {
  const client: oauth.Client = {
    client_id: settings.clientId,
    [oauth.clockTolerance]: SKEW_SECONDS,
    [oauth.clockSkew]: 0,
  };
  const options = {
    [oauth.customFetch]: boundedFetch(deps),
    ...(settings.issuer.protocol === "http:" ? { [oauth.allowInsecureRequests]: true } : {}),
  };
  const servers = createMetadataCache(settings, options, deps.clock);
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
  ): Promise<VerifiedIdentity> => {
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    if (claims === undefined) throw new ProviderError("the answer contains no ID token");
    await servers.verifySignature(response);
    checkClaims(claims, settings.clientId, deps.clock.now());
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
    authorizationUrl: (flow) =>
      attempt(async () => await authorizationUrlOf(await servers.get(), settings, flow)),
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

/**
 * Caches the provider's metadata and keys. A token with an unknown key triggers a new
 * fetch of the keys, but only a minimum time after the last one. So forged tokens cannot make the
 * proxy flood the provider.
 */
function createMetadataCache(settings: ProviderSettings, options: Options, clock: Clock) {
  let known: { readonly server: oauth.AuthorizationServer; readonly until: number } | undefined;
  let discovering: Promise<oauth.AuthorizationServer> | undefined;
  let keysFetchedAt = -Infinity;
  const discover = async () => {
    const response = await oauth.discoveryRequest(settings.issuer, options);
    const server = await readMetadata(settings.issuer, response);
    known = { server, until: clock.monotonic() + LOGIN_LIMITS.metadataSeconds * 1000 };
    return server;
  };
  const get = async (): Promise<oauth.AuthorizationServer> => {
    if (known !== undefined && known.until > clock.monotonic()) return known.server;
    discovering ??= discover().finally(() => discovering = undefined);
    return await discovering;
  };
  return {
    get,
    verifySignature: async (response: Response) => {
      const server = await get();
      try {
        await oauth.validateApplicationLevelSignature(server, response, options);
      } catch (thrown) {
        const waited = clock.monotonic() - keysFetchedAt;
        if (!isKeyFault(thrown) || waited < LOGIN_LIMITS.keysAgainSeconds * 1000) throw thrown;
        keysFetchedAt = clock.monotonic();
        // The library caches keys per server object, so a copy makes it fetch them again. The old
        // keys stay until that succeeds.
        const fresh = { ...server };
        await oauth.validateApplicationLevelSignature(fresh, response, options);
        if (known !== undefined) known = { ...known, server: fresh };
      }
    },
  };
}

function isKeyFault(thrown: unknown): boolean {
  return thrown instanceof oauth.OperationProcessingError &&
    (thrown.code === oauth.KEY_SELECTION || /signature verification failed/i.test(thrown.message));
}

/** Validates metadata: the issuer must match exactly, and PKCE must not be excluded. */
async function readMetadata(issuer: URL, response: Response): Promise<oauth.AuthorizationServer> {
  const server = await oauth.processDiscoveryResponse(issuer, response);
  // The library compares URLs; later checks compare text.
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

async function authorizationUrlOf(
  server: oauth.AuthorizationServer,
  settings: ProviderSettings,
  flow: Flow,
): Promise<URL> {
  const endpoint = server.authorization_endpoint;
  if (endpoint === undefined) {
    throw new ProviderError("its metadata has no authorization endpoint");
  }
  const address = new URL(endpoint);
  if (address.protocol !== "https:" && settings.issuer.protocol === "https:") {
    throw new ProviderError("its authorization endpoint is not https");
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

/** Claim checks that the library leaves to its caller. */
function checkClaims(claims: oauth.IDToken, clientId: string, nowMs: number): void {
  if (claims.azp !== undefined && claims.azp !== clientId) {
    throw new ProviderError("the ID token was issued to another application");
  }
  if (!SUBJECT.test(claims.sub)) throw new ProviderError("the ID token has no usable subject");
  // The library accepts any number as a time.
  if (![claims.exp, claims.iat].every(Number.isSafeInteger)) {
    throw new ProviderError("the ID token has invalid times");
  }
  const now = nowMs / 1000;
  if (claims.iat > now + SKEW_SECONDS) throw new ProviderError("the ID token is from the future");
}

/** Checks `at_hash`, which ties the access token to the ID token (Core 3.1.3.6). */
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
    throw new ProviderError("the access token does not belong to the ID token");
  }
}

/** Fetches user info if the ID token has no e-mail address; the subject must match. */
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
 * Joins the claims of the ID token and of user info. `email` and `email_verified` come from the
 * same source, because one source proves nothing about the other's address. A denial by either
 * counts.
 */
function joinClaims(token: Claims, info: Claims): Claims {
  const from = token.email === undefined ? info : token;
  const isDenied = [token, info].some(({ email_verified: word }) =>
    word !== undefined && word !== true && word !== "true"
  );
  const { email, email_verified } = isDenied ? { ...from, email_verified: false } : from;
  return { ...info, ...token, email, email_verified };
}

/**
 * Returns whether the answer is no OAuth response, such as the error page of a proxy before the
 * provider.
 */
function isNotOAuthResponse(thrown: unknown): boolean {
  if (!(thrown instanceof oauth.OperationProcessingError)) return false;
  return thrown.code === oauth.RESPONSE_IS_NOT_JSON || thrown.code === oauth.PARSE_ERROR ||
    thrown.code === oauth.RESPONSE_IS_NOT_CONFORM;
}

function faultOf(thrown: unknown): ProviderFault {
  if (thrown instanceof oauth.ResponseBodyError) {
    // An error code is one short word. The description is free text and is not logged.
    const code = /^[a-z_]{1,40}$/.test(thrown.error) ? thrown.error : "an unknown error";
    const kind = thrown.error === "invalid_grant" ? "ended" : "refused";
    return { kind, why: `the provider answers ${code}` };
  }
  if (thrown instanceof oauth.AuthorizationResponseError) {
    const code = /^[a-z_]{1,40}$/.test(thrown.error) ? thrown.error : "an unknown error";
    return { kind: "refused", why: `the provider answers ${code}` };
  }
  const kind = thrown instanceof ProviderUnavailable || isNotOAuthResponse(thrown)
    ? "unreachable"
    : "refused";
  return { kind, why: errorText(thrown).slice(0, 200) };
}
