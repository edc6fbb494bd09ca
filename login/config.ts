/**
 * Settings of the login proxy (spec "Login proxy configuration keys", decision 34), read in one go
 * with every fault named. No I/O. A driver that cannot be built refuses to start: oidc without
 * issuer, client or address, basic without entries or with an empty password.
 *
 * @module
 */

import { type AssertionKeys, parseAssertionKeys } from "core/access/assertion.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { nameFault, parseEmail } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ListenAddress } from "core/ports.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  duration,
  list,
  listenAddress,
  oneOf,
  type SettingType,
  text,
  url,
} from "core/setting_types.ts";
import {
  defaulted,
  type Env,
  optional,
  readSettings,
  required,
  type SettingValues,
} from "core/settings.ts";
import { type KeyRing, parseKeyRing } from "core/signed_value.ts";
import type { CookiePrefix } from "login/cookies.ts";
import {
  isAllTenantsIssuer,
  isMultiTenantIssuer,
  PRINCIPAL_CLAIMS,
  type PrincipalRules,
} from "login/oidc/principal.ts";
import type { ProviderSettings } from "login/oidc/provider.ts";
import { type BasicUser, parseBasicUsers } from "core/basic_users.ts";
import { holdEverything, type IpNetwork, parseIp, parseNetwork } from "core/ip.ts";

const SESSION_DAYS_MAX = 400;
const DAY_MS = 86_400_000;
const usesOidc = {
  test: (env: Env) => (given(env.WEBVIEW_AUTH_DRIVER) ?? "oidc") !== "basic",
  words: 'when WEBVIEW_AUTH_DRIVER is "oidc"',
};
const usesBasic = { test: (env: Env) => env.WEBVIEW_AUTH_DRIVER === "basic" };

/** The declared table; also the help of the role. */
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
    doc: "How people log in; entra and google are other spellings of oidc.",
  }),
  issuer: optional("WEBVIEW_OIDC_ISSUER", url({ schemes: ["https", "http"] }), {
    wanted: "must be an issuer URL",
    doc: "The OpenID provider; its metadata are at /.well-known/openid-configuration below it.",
    requiredWhen: usesOidc,
  }),
  clientId: optional("WEBVIEW_OIDC_CLIENT_ID", text(), {
    doc: "Id of this application at the provider.",
    requiredWhen: usesOidc,
  }),
  clientSecret: optional("WEBVIEW_OIDC_CLIENT_SECRET", text(), {
    isSecret: true,
    doc: "Its secret; most providers want one.",
  }),
  claims: defaulted("WEBVIEW_OIDC_CLAIMS", list(oneOf(PRINCIPAL_CLAIMS)), {
    fallback: PRINCIPAL_CLAIMS.join(","),
    doc: "Claims that may name a person, the first that is there decides.",
  }),
  tenants: defaulted("WEBVIEW_OIDC_TENANTS", list(text()), {
    fallback: "",
    doc: "Where a provider serves everybody: tenant ids or domains (tid, hd) that are ours.",
  }),
  cookiePrefix: defaulted("WEBVIEW_COOKIE_PREFIX", oneOf(["", "__Host-"]), {
    fallback: "",
    doc: "__Host- makes browsers hold the cookies to this host and to https.",
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
    { doc: "How long a session lasts without a request; without it as long as any." },
  ),
  trustedProxies: defaulted("WEBVIEW_TRUSTED_PROXIES", list(network()), {
    fallback: "127.0.0.0/8,::1",
    doc: "Addresses and networks whose X-Forwarded-For, -Proto and -Host are believed.",
  }),
  publicUrl: optional("WEBVIEW_URL", url(), {
    doc: "Address of the cockpit as browsers have it; the provider leads back to it.",
    requiredWhen: usesOidc,
  }),
} as const;

/** How people log in. */
export type DriverConfig =
  | { readonly kind: "basic"; readonly users: readonly BasicUser[] }
  | { readonly kind: "oidc"; readonly provider: ProviderSettings; readonly rules: PrincipalRules };

/** What the login proxy runs with. */
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
  /** A session without a request for so long has ended; undefined where none is asked for. */
  readonly idleMs: number | undefined;
  readonly trustedProxies: readonly IpNetwork[];
  readonly publicUrl: URL | undefined;
  /** Soft settings, one sentence each; logged at start (decision 37). */
  readonly warnings: readonly string[];
}

/** Bytes of what HMAC-SHA256 signs with. */
const KEY_LENGTH_ADVISED = 32;
const KEY_ADVICE = "one that is not random can be guessed; fleetctl secret rotate makes 32 bytes";

/** Reads the settings; every fault is in the details of the refusal. */
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
      ? ["WEBVIEW_UPSTREAM: holds a path, must be http://host:port"]
      : []),
    ...(read.ok && holdEverything(read.value.trustedProxies)
      ? ["WEBVIEW_TRUSTED_PROXIES: holds every address, which would trust everybody"]
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
 * Keys that are taken and yet shorter than what they sign with (RFC 7518, 3.2): nobody who has one is
 * locked out, everybody who has one is told (decision 37).
 */
function shortKeys(name: string, text: string | undefined): readonly string[] {
  const ring = text === undefined ? undefined : parseKeyRing(text, name);
  return ring?.ok === true && ring.value.some(({ key }) => key.length < KEY_LENGTH_ADVISED)
    ? [`${name} holds a key of fewer than ${KEY_LENGTH_ADVISED} characters: ${KEY_ADVICE}`]
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
      faults.push("WEBVIEW_OIDC_ISSUER: holds more than a path, must be an issuer URL");
    }
    if (isAllTenantsIssuer(issuer)) {
      faults.push("WEBVIEW_OIDC_ISSUER: stands for every tenant, must name one tenant by its id");
    }
  }
  return faults;
}

/** Why browsers could not use `WEBVIEW_URL`; with the driver basic only a warning. */
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
      faults.push("WEBVIEW_URL: holds a path, must be https://host[:port]");
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

/** The required settings are there: each one that was absent is a fault already. */
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
      "WEBVIEW_ASSERTION_KEY is not set: the cockpit is told X-User-Email without a proof, " +
      "which any local program can do as well",
    ]),
    ...(plain === 0 ? [] : [
      `WEBVIEW_BASIC_USERS holds ${plain} plain passwords: fleetctl webview-login users set <user>`,
    ]),
    ...nameless.map(({ name }) =>
      `user ${JSON.stringify(name)} is no e-mail address, so no agent can be theirs`
    ),
    ...(driver.kind === "oidc" && driver.provider.clientSecret === undefined
      ? ["WEBVIEW_OIDC_CLIENT_SECRET is not set: works only with a provider that wants none"]
      : []),
    ...(isLocal || driver.kind === "oidc" ? [] : [
      `listens on ${listen.hostname} without TLS: passwords are readable on the way unless an ` +
      "HTTPS proxy is in front",
    ]),
  ];
}

/** A network that may say who its clients are; all addresses at once would be everybody. */
function network(): SettingType<IpNetwork> {
  return {
    wanted: "must be an address or a network such as 10.0.0.0/8",
    parse: (text) => {
      const parsed = parseNetwork(text);
      if (parsed === undefined) return err("");
      return parsed.bits === 0
        ? err("holds every address, which would trust everybody")
        : ok(parsed);
    },
  };
}
