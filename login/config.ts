/**
 * Settings of the login proxy; the refusal lists all faults. No I/O. An incomplete driver refuses
 * to start: oidc without issuer, client or address, basic without entries or with an empty
 * password.
 *
 * @module
 */

import { type AssertionKeys, parseAssertionKeys } from "core/access/assertion.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { nameFault, parseEmail } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  duration,
  list,
  listenAddress,
  oneOf,
  type SettingType,
  text,
  url,
} from "core/settings/setting_types.ts";
import {
  defaulted,
  type Env,
  optional,
  readSettings,
  required,
  type SettingValues,
} from "core/settings/settings.ts";
import { type KeyRing, parseKeyRing } from "core/crypto/signed_value.ts";
import { DAY_MS } from "core/text/duration.ts";
import type { CookiePrefix } from "login/cookies.ts";
import {
  isAllTenantsIssuer,
  isMultiTenantIssuer,
  PRINCIPAL_CLAIMS,
  type PrincipalRules,
} from "login/oidc/principal.ts";
import type { ProviderSettings } from "login/oidc/provider.ts";
import { type BasicUser, parseBasicUsers } from "core/login/basic_users.ts";
import { coverAll, type IpNetwork, parseIp, parseNetwork } from "core/net/ip.ts";

const SESSION_DAYS_MAX = 400;
const usesOidc = {
  test: (env: Env) => (given(env.WEBVIEW_AUTH_DRIVER) ?? "oidc") !== "basic",
  words: 'when WEBVIEW_AUTH_DRIVER is "oidc"',
};
const usesBasic = { test: (env: Env) => env.WEBVIEW_AUTH_DRIVER === "basic" };

/** The table of settings; also the help of the role. */
export const LOGIN_SETTINGS = {
  root: defaulted("FLEETCTL_ROOT", text(), { fallback: "/", doc: "Prefix of every path." }),
  listen: defaulted("WEBVIEW_LOGIN_LISTEN", listenAddress(), {
    fallback: "0.0.0.0:8736",
    doc: "Where browsers and scripts connect; put an HTTPS proxy in front.",
  }),
  upstream: defaulted("WEBVIEW_UPSTREAM", url({ schemes: ["http"] }), {
    fallback: "http://127.0.0.1:8731",
    doc: "The cockpit.",
  }),
  assertionKey: optional("WEBVIEW_ASSERTION_KEY", text(), {
    isSecret: true,
    doc: "Key, or ring kid:key,kid:key, shared with the cockpit.",
  }),
  driver: defaulted("WEBVIEW_AUTH_DRIVER", oneOf(["basic", "oidc", "entra", "google"]), {
    fallback: "oidc",
    doc: "How people log in; entra and google are aliases of oidc.",
  }),
  issuer: optional("WEBVIEW_OIDC_ISSUER", url({ schemes: ["https", "http"] }), {
    wanted: "must be an issuer URL",
    doc: "The OpenID provider; its metadata are at /.well-known/openid-configuration below it.",
    requiredWhen: usesOidc,
  }),
  clientId: optional("WEBVIEW_OIDC_CLIENT_ID", text(), {
    doc: "Client id of this application at the provider.",
    requiredWhen: usesOidc,
  }),
  clientSecret: optional("WEBVIEW_OIDC_CLIENT_SECRET", text(), {
    isSecret: true,
    doc: "Client secret of this application; most providers require one.",
  }),
  claims: defaulted("WEBVIEW_OIDC_CLAIMS", list(oneOf(PRINCIPAL_CLAIMS)), {
    fallback: PRINCIPAL_CLAIMS.join(","),
    doc: "Claims that may name a user; the first one present decides.",
  }),
  tenants: defaulted("WEBVIEW_OIDC_TENANTS", list(text()), {
    fallback: "",
    doc: "For a public provider: ids or domains of the trusted tenants (tid, hd).",
  }),
  cookiePrefix: defaulted("WEBVIEW_COOKIE_PREFIX", oneOf(["", "__Host-"]), {
    fallback: "",
    doc: "__Host- makes browsers bind the cookies to this host and to https.",
  }),
  basicUsers: optional("WEBVIEW_BASIC_USERS", text(), {
    isSecret: true,
    doc: "user:password,user:password; a password may be a hash (--hash-password).",
    requiredWhen: { ...usesBasic, words: 'when WEBVIEW_AUTH_DRIVER is "basic"' },
  }),
  hmacKey: required("WEBVIEW_HMAC_KEY", text(), {
    isSecret: true,
    doc: "Key, or ring kid:key,kid:key, that signs sessions and forms.",
  }),
  ttlMs: defaulted(
    "WEBVIEW_SESSION_TTL",
    duration({ minMs: 1_000, maxMs: SESSION_DAYS_MAX * DAY_MS }),
    {
      fallback: "30d",
      doc: "How long a session lasts.",
    },
  ),
  idleMs: optional(
    "WEBVIEW_SESSION_IDLE",
    duration({ minMs: 1_000, maxMs: SESSION_DAYS_MAX * DAY_MS }),
    { doc: "How long a session lasts without a request; unset: no idle limit." },
  ),
  trustedProxies: defaulted("WEBVIEW_TRUSTED_PROXIES", list(network()), {
    fallback: "127.0.0.0/8,::1",
    doc: "Addresses and networks whose X-Forwarded-For, -Proto and -Host are trusted.",
  }),
  publicUrl: optional("WEBVIEW_URL", url(), {
    doc: "Public address of the cockpit; the provider redirects back to it.",
    requiredWhen: usesOidc,
  }),
} as const;

/** How people log in. */
export type DriverConfig =
  | { readonly kind: "basic"; readonly users: readonly BasicUser[] }
  | { readonly kind: "oidc"; readonly provider: ProviderSettings; readonly rules: PrincipalRules };

/** The parsed settings of the login proxy. */
export interface LoginConfig {
  readonly paths: Paths;
  readonly listen: ListenAddress;
  /** The cockpit. */
  readonly cockpit: ListenAddress;
  readonly assertionKeys: AssertionKeys | undefined;
  readonly driver: DriverConfig;
  readonly cookiePrefix: CookiePrefix;
  readonly hmacKeys: KeyRing;
  readonly ttlMs: number;
  /** A session ends after this time without a request; undefined for no limit. */
  readonly idleMs: number | undefined;
  readonly trustedProxies: readonly IpNetwork[];
  readonly publicUrl: URL | undefined;
  /** Unsafe but allowed settings, one sentence each; logged at start. */
  readonly warnings: readonly string[];
}

/** Key size of HMAC-SHA256 in bytes. */
const KEY_LENGTH_ADVISED = 32;
const KEY_ADVICE = "a short key can be guessed; fleetctl secret rotate creates 32 bytes";

/** Parses the settings; the details of the refusal list every fault. */
export async function readLoginConfig(env: Env): Promise<Result<LoginConfig>> {
  const read = readSettings(LOGIN_SETTINGS, env);
  const assertion = given(env.WEBVIEW_ASSERTION_KEY) ?? undefined;
  const assertionKeys = assertion === undefined ? undefined : await parseAssertionKeys(assertion);
  const hmac = given(env.WEBVIEW_HMAC_KEY);
  const hmacKeys = hmac === undefined ? undefined : parseKeyRing(hmac, "WEBVIEW_HMAC_KEY");
  const isOidc = usesOidc.test(env);
  const listed = given(env.WEBVIEW_BASIC_USERS);
  const users = isOidc || listed === undefined ? undefined : parseBasicUsers(listed);
  const faults = [
    ...(read.ok ? [] : read.error.details),
    ...ringFaults("WEBVIEW_ASSERTION_KEY", assertionKeys),
    ...ringFaults("WEBVIEW_HMAC_KEY", hmacKeys),
    ...(users === undefined || users.ok
      ? []
      : users.error.map((fault) => `WEBVIEW_BASIC_USERS: ${fault}`)),
    ...(read.ok && read.value.upstream.pathname + read.value.upstream.search !== "/"
      ? ["WEBVIEW_UPSTREAM: contains a path, must be http://host:port"]
      : []),
    ...(read.ok && coverAll(read.value.trustedProxies)
      ? ["WEBVIEW_TRUSTED_PROXIES: contains every address, which would trust every client"]
      : []),
    ...(isOidc ? [...issuerFaults(env), ...publicUrlFaults(env)] : []),
  ];
  const isWhole = read.ok && hmacKeys?.ok === true && assertionKeys?.ok !== false;
  if (!isWhole || faults.length > 0) return err(settingsRefusal(faults));
  const { root, listen, upstream, ttlMs, idleMs, trustedProxies, publicUrl } = read.value;
  const driver: DriverConfig = isOidc
    ? oidcOf(read.value)
    : { kind: "basic", users: users?.ok === true ? users.value : [] };
  return ok({
    paths: pathsUnder(root),
    listen,
    cockpit: addressOf(upstream),
    assertionKeys: assertionKeys?.value,
    driver,
    cookiePrefix: read.value.cookiePrefix,
    hmacKeys: hmacKeys.value,
    ttlMs,
    idleMs,
    trustedProxies,
    publicUrl,
    warnings: [
      ...warningsOf(listen, driver, assertionKeys !== undefined),
      ...(isOidc ? [] : publicUrlFaults(env)),
      ...shortKeys("WEBVIEW_HMAC_KEY", hmac),
      ...shortKeys("WEBVIEW_ASSERTION_KEY", assertion),
    ],
  });
}

function addressOf({ hostname, port }: URL): ListenAddress {
  return {
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port === "" ? 80 : port),
  };
}

function given(value: string | undefined): string | undefined {
  return value === "" ? undefined : value;
}

function ringFaults(name: string, ring: Result<unknown> | undefined): readonly string[] {
  return ring === undefined || ring.ok
    ? []
    : [`${name}: ${ring.error.message.replace(`Cannot read ${name}: `, "")}`];
}

/**
 * Warns of accepted keys that are shorter than recommended (RFC 7518, 3.2). They are not refused,
 * so that existing installations still start.
 */
function shortKeys(name: string, text: string | undefined): readonly string[] {
  const ring = text === undefined ? undefined : parseKeyRing(text, name);
  return ring?.ok === true && ring.value.some(({ key }) => key.length < KEY_LENGTH_ADVISED)
    ? [`${name} contains a key of fewer than ${KEY_LENGTH_ADVISED} characters: ${KEY_ADVICE}`]
    : [];
}

function issuerFaults(env: Env): readonly string[] {
  const faults: string[] = [];
  const issuer = parsedUrl(env.WEBVIEW_OIDC_ISSUER);
  if (issuer !== undefined) {
    if (issuer.protocol === "http:" && !isLoopbackName(issuer.hostname)) {
      faults.push("WEBVIEW_OIDC_ISSUER: is not https, must be https:// (http only on loopback)");
    }
    if (issuer.search !== "" || issuer.hash !== "" || issuer.username !== "") {
      faults.push("WEBVIEW_OIDC_ISSUER: contains more than a path, must be an issuer URL");
    }
    if (isAllTenantsIssuer(issuer)) {
      faults.push("WEBVIEW_OIDC_ISSUER: means all tenants, must name one tenant by its id");
    }
  }
  return faults;
}

/** Why browsers cannot use `WEBVIEW_URL`; only a warning with the driver basic. */
function publicUrlFaults(env: Env): readonly string[] {
  const faults: string[] = [];
  const publicUrl = parsedUrl(env.WEBVIEW_URL);
  if (publicUrl !== undefined) {
    const { protocol, hostname, pathname, search, hash } = publicUrl;
    const isLocal = hostname === "localhost" || hostname.endsWith(".localhost");
    if (protocol === "http:" && !isLocal) {
      faults.push("WEBVIEW_URL: is not https, must be https:// (http only on localhost)");
    }
    if (pathname !== "/" || search !== "" || hash !== "") {
      faults.push("WEBVIEW_URL: contains a path, must be https://host[:port]");
    }
  }
  return faults;
}

function parsedUrl(text: string | undefined): URL | undefined {
  return text === undefined || !URL.canParse(text) ? undefined : new URL(text);
}

function isLoopbackName(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\./.test(hostname);
}

/** Builds the oidc driver. Missing settings are reported as faults before. */
function oidcOf(values: SettingValues<typeof LOGIN_SETTINGS>): DriverConfig {
  const { issuer, clientId, clientSecret, publicUrl, claims, tenants } = values;
  if (issuer === undefined || clientId === undefined || publicUrl === undefined) {
    throw new TypeError("the settings of oidc were not checked");
  }
  return {
    kind: "oidc",
    provider: {
      issuer,
      clientId,
      clientSecret,
      redirectUri: `${publicUrl.origin}/auth/callback`,
    },
    rules: {
      isMultiTenant: isMultiTenantIssuer(issuer) || tenants.length > 0,
      claims,
      tenants: tenants.map((tenant) => tenant.toLowerCase()),
    },
  };
}

function settingsRefusal(faults: readonly string[]): Refusal {
  const count = faults.length === 1 ? "1 setting is" : `${faults.length} settings are`;
  return refusal("settings-invalid", `Cannot start: ${count} unusable`, {
    kind: "settings",
    details: faults,
  });
}

function warningsOf(
  listen: ListenAddress,
  driver: DriverConfig,
  isAsserted: boolean,
): readonly string[] {
  const users = driver.kind === "basic" ? driver.users : [];
  const plain = users.filter(({ credential }) => credential.kind === "plain").length;
  const nameless = users.filter(({ name }) => nameFault(parseEmail, name) !== undefined);
  const address = parseIp(listen.hostname);
  const isLocal = listen.hostname === "localhost" ||
    (address !== undefined && (address.length === 4 ? address[0] === 127 : address.at(-1) === 1));
  return [
    ...(isAsserted ? [] : [
      "WEBVIEW_ASSERTION_KEY is not set: the cockpit gets X-User-Email without a proof, " +
      "so any local program can forge it",
    ]),
    ...(plain === 0 ? [] : [
      `WEBVIEW_BASIC_USERS contains ${plain} plain passwords: ` +
      "fleetctl webview-login users set <user>",
    ]),
    ...nameless.map(({ name }) =>
      `user ${JSON.stringify(name)} is not an e-mail address, so it cannot own an agent`
    ),
    ...(driver.kind === "oidc" && driver.provider.clientSecret === undefined
      ? ["WEBVIEW_OIDC_CLIENT_SECRET is not set: works only with a provider that requires none"]
      : []),
    ...(isLocal || driver.kind === "oidc" ? [] : [
      `listens on ${listen.hostname} without TLS: passwords can be read in transit unless an ` +
      "HTTPS proxy is in front",
    ]),
  ];
}

/** A network of trusted proxies; refuses the network of all addresses. */
function network(): SettingType<IpNetwork> {
  return {
    wanted: "must be an address or a network such as 10.0.0.0/8",
    parse: (text) => {
      const parsed = parseNetwork(text);
      if (parsed === undefined) return err("");
      return parsed.bits === 0
        ? err("contains every address, which would trust every client")
        : ok(parsed);
    },
  };
}
