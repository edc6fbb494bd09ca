/**
 * An OpenID provider that lies on demand: the real protocol over `Request` and `Response`, with one
 * switch for each lie. Without lies it is honest. Each provider creates new keys.
 *
 * @module
 */

import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { defined } from "core/defined.ts";
import type { HttpClient } from "core/ports/http_client.ts";

/** Its issuer address. */
export const ISSUER = "https://idp.example";
/** The registered application. */
export const CLIENT = { id: "cockpit", secret: "a-client-secret-of-the-tests" } as const;

/** Lies; each stays active until it is removed. */
export interface Lies {
  /** Changes the metadata. */
  metadata?: (metadata: Record<string, unknown>) => Record<string, unknown>;
  /** Changes the claims of the ID token. */
  claims?: (claims: JWTPayload) => JWTPayload;
  /** Changes the header of the ID token. */
  header?: (header: Record<string, unknown>) => Record<string, unknown>;
  /** Changes the ID token itself. */
  token?: (token: string) => string | Promise<string>;
  /** Changes the answer of the token endpoint. */
  tokens?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** Changes the keys that are published. */
  keys?: (keys: JWK[]) => JWK[];
  /** Answers instead of the endpoint with this path. */
  answer?: Readonly<Record<string, () => Response | Promise<Response>>>;
  /** Claims of the user-info endpoint; without them the endpoint does not exist. */
  userInfo?: Record<string, unknown>;
  /** Redeems codes without checking the verifier. */
  ignoresVerifier?: boolean;
}

/** A person's account at the provider. */
export interface Account {
  readonly sub: string;
  readonly email?: string;
  readonly [claim: string]: unknown;
}

/** The provider as a test controls it. */
export interface HostileProvider {
  readonly http: HttpClient;
  readonly lies: Lies;
  /** Requests that it received, as `METHOD /path`. */
  readonly requests: string[];
  /** Signs in with an account at the given authorization address; returns the callback address. */
  signIn(address: string, account: Account): URL;
  /** Publishes a new key and signs with it from now on. */
  rotate(): Promise<void>;
  /** Invalidates every refresh token. */
  endRefreshTokens(): void;
}

interface Pair {
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];
  readonly jwk: JWK;
}

interface Grant {
  readonly account: Account;
  readonly nonce: string;
  readonly challenge: string;
}

const encoder = new TextEncoder();

async function makePair(kid: string): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return {
    privateKey,
    jwk: { ...await exportJWK(publicKey), kid, alg: "ES256", use: "sig" },
  };
}

/** Creates a provider. */
export async function createHostileProvider(
  now: () => number,
  lies: Lies = {},
  issuer: string = ISSUER,
): Promise<HostileProvider> {
  return new LyingProvider({ now, lies, issuer }, await makePair("first"));
}

class LyingProvider implements HostileProvider {
  readonly lies: Lies;
  readonly requests: string[] = [];
  readonly http: HttpClient;
  readonly #now: () => number;
  readonly #issuer: string;
  readonly #grants = new Map<string, Grant>();
  readonly #refreshTokens = new Map<string, Account>();
  #pair: Pair;
  #published: JWK[];
  #count = 0;

  constructor(
    of: { readonly now: () => number; readonly lies: Lies; readonly issuer: string },
    pair: Pair,
  ) {
    this.lies = of.lies;
    this.http = { fetch: (input, init) => this.#fetch(new Request(input, init)) };
    this.#now = of.now;
    this.#issuer = of.issuer;
    this.#pair = pair;
    this.#published = [pair.jwk];
  }

  signIn(address: string, account: Account): URL {
    const { searchParams } = new URL(address);
    const code = `code-${++this.#count}`;
    this.#grants.set(code, {
      account,
      nonce: searchParams.get("nonce") ?? "",
      challenge: searchParams.get("code_challenge") ?? "",
    });
    const back = new URL(searchParams.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", searchParams.get("state") ?? "");
    back.searchParams.set("iss", this.#issuer);
    return back;
  }

  async rotate(): Promise<void> {
    this.#pair = await makePair(`key-${++this.#count}`);
    this.#published = [this.#pair.jwk];
  }

  endRefreshTokens(): void {
    this.#refreshTokens.clear();
  }

  /** Follows a redirect as the platform's `fetch` does, unless `redirect` is `manual`. */
  async #fetch(request: Request): Promise<Response> {
    const given = await this.#handle(request);
    const location = given.headers.get("location");
    return location === null || request.redirect === "manual"
      ? given
      : await this.#handle(new Request(location));
  }

  async #handle(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    this.requests.push(`${request.method} ${pathname}`);
    const lie = this.lies.answer?.[pathname];
    if (lie !== undefined) return await lie();
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return this.#metadata();
      case "/token":
        return await this.#redeem(request);
      case "/keys":
        return Response.json({ keys: this.lies.keys?.(this.#published) ?? this.#published });
      case "/userinfo":
        return Response.json(this.lies.userInfo ?? {});
      default:
        return new Response(null, { status: 404 });
    }
  }

  #metadata(): Response {
    const issuer = this.#issuer;
    const honest = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      jwks_uri: `${issuer}/keys`,
      response_types_supported: ["code"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      ...(this.lies.userInfo === undefined ? {} : { userinfo_endpoint: `${issuer}/userinfo` }),
    };
    return Response.json(this.lies.metadata?.(honest) ?? honest);
  }

  /** Redeems a code or a refresh token. */
  async #redeem(request: Request): Promise<Response> {
    const fields = new URLSearchParams(await request.text());
    if (!isClient(request.headers.get("authorization"))) return fault("invalid_client");
    if (fields.get("grant_type") === "refresh_token") {
      const account = this.#refreshTokens.get(fields.get("refresh_token") ?? "");
      if (account === undefined) return fault("invalid_grant");
      return await this.#tokens(account, undefined);
    }
    const code = fields.get("code") ?? "";
    const grant = this.#grants.get(code);
    this.#grants.delete(code);
    const challenge = await challengeOf(fields.get("code_verifier") ?? "");
    const isProven = challenge === grant?.challenge || this.lies.ignoresVerifier === true;
    if (grant === undefined || !isProven) return fault("invalid_grant");
    return await this.#tokens(grant.account, grant.nonce);
  }

  async #tokens(account: Account, nonce: string | undefined): Promise<Response> {
    const refresh = `refresh-${++this.#count}`;
    this.#refreshTokens.set(refresh, account);
    const body: Record<string, unknown> = {
      access_token: `access-${this.#count}`,
      token_type: "Bearer",
      expires_in: 300,
      refresh_token: refresh,
      id_token: await this.#idToken(account, nonce),
    };
    return Response.json(this.lies.tokens?.(body) ?? body);
  }

  async #idToken(account: Account, nonce: string | undefined): Promise<string> {
    const seconds = Math.floor(this.#now() / 1000);
    const base: JWTPayload = {
      ...account,
      iss: this.#issuer,
      aud: CLIENT.id,
      iat: seconds,
      exp: seconds + 300,
      ...defined({ nonce }),
    };
    const { lies } = this;
    const header = { alg: "ES256", kid: this.#pair.jwk.kid ?? "", typ: "JWT" };
    const signed = await new SignJWT(lies.claims?.(base) ?? base)
      .setProtectedHeader({ ...header, ...lies.header?.(header), alg: "ES256" })
      .sign(this.#pair.privateKey, { crit: { x: true } });
    return await (lies.token?.(signed) ?? signed);
  }
}

function fault(error: string): Response {
  const body = { error, error_description: "<script>alert(1)</script>" };
  return Response.json(body, { status: 400 });
}

function isClient(header: string | null): boolean {
  return header === `Basic ${encoder.encode(`${CLIENT.id}:${CLIENT.secret}`).toBase64()}` ||
    header ===
      `Basic ${
        encoder.encode(`${encodeURIComponent(CLIENT.id)}:${escaped(CLIENT.secret)}`).toBase64()
      }`;
}

/** Form encoding of RFC 6749, 2.3.1, as the library does it: hyphens are escaped too. */
function escaped(text: string): string {
  return encodeURIComponent(text).replace(
    /[-_.!~*'()]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

async function challengeOf(verifier: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(verifier)));
  return digest.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Reassembles a token with another header and an invalid signature. */
export function reheaded(token: string, header: Record<string, unknown>): string {
  const [, payload = "", signature = ""] = token.split(".");
  const head = encoder.encode(JSON.stringify(header))
    .toBase64({ alphabet: "base64url", omitPadding: true });
  return `${head}.${payload}.${header.alg === "none" ? "" : signature}`;
}
