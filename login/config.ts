/**
 * Settings of the login proxy (spec "Login proxy configuration keys", decision 34), read in one go
 * with every fault named. No I/O. A driver that cannot be built refuses to start; only `basic` is
 * built so far, and the default of the design, `oidc`, says so.
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
import { defaulted, type Env, optional, readSettings, required } from "core/settings.ts";
import { type KeyRing, parseKeyRing } from "core/signed_value.ts";
import { type BasicUser, parseBasicUsers } from "core/basic_users.ts";
import { type IpNetwork, parseIp, parseNetwork } from "core/ip.ts";

const SESSION_DAYS_MAX = 400;
const DAY_MS = 86_400_000;
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
  trustedProxies: defaulted("WEBVIEW_TRUSTED_PROXIES", list(network()), {
    fallback: "127.0.0.0/8,::1",
    doc: "Addresses and networks whose X-Forwarded-For, -Proto and -Host are believed.",
  }),
  publicUrl: optional("WEBVIEW_URL", url(), {
    doc: "Address of the cockpit as browsers have it, where a proxy changes it.",
  }),
} as const;

/** What the login proxy runs with. */
export interface LoginConfig {
  readonly paths: Paths;
  readonly listen: ListenAddress;
  /** The cockpit. */
  readonly cockpit: ListenAddress;
  readonly assertionKeys: AssertionKeys | undefined;
  readonly users: readonly BasicUser[];
  readonly hmacKeys: KeyRing;
  readonly ttlMs: number;
  readonly trustedProxies: readonly IpNetwork[];
  readonly publicUrl: URL | undefined;
  /** Soft settings, one sentence each; logged at start (decision 37). */
  readonly warnings: readonly string[];
}

/** Reads the settings; every fault is in the details of the refusal. */
export async function readLoginConfig(env: Env): Promise<Result<LoginConfig>> {
  const read = readSettings(LOGIN_SETTINGS, env);
  const assertion = given(env.WEBVIEW_ASSERTION_KEY) ?? undefined;
  const assertionKeys = assertion === undefined ? undefined : await parseAssertionKeys(assertion);
  const hmac = given(env.WEBVIEW_HMAC_KEY);
  const hmacKeys = hmac === undefined ? undefined : parseKeyRing(hmac, "WEBVIEW_HMAC_KEY");
  const listed = given(env.WEBVIEW_BASIC_USERS);
  const users = listed === undefined ? undefined : parseBasicUsers(listed);
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
    ...driverFaults(env),
  ];
  const isWhole = read.ok && hmacKeys?.ok === true && users?.ok === true &&
    assertionKeys?.ok !== false;
  if (!isWhole || faults.length > 0) return err(settingsRefusal(faults));
  const { root, listen, upstream, ttlMs, trustedProxies, publicUrl } = read.value;
  return ok({
    paths: pathsUnder(root),
    listen,
    cockpit: addressOf(upstream),
    assertionKeys: assertionKeys?.value,
    users: users.value,
    hmacKeys: hmacKeys.value,
    ttlMs,
    trustedProxies,
    publicUrl,
    warnings: warningsOf(listen, users.value, assertionKeys !== undefined),
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

function driverFaults(env: Env): readonly string[] {
  const driver = given(env.WEBVIEW_AUTH_DRIVER) ?? "oidc";
  if (!["oidc", "entra", "google"].includes(driver)) return [];
  const found = given(env.WEBVIEW_AUTH_DRIVER) === undefined
    ? 'not set, which means "oidc"'
    : `value is "${driver}"`;
  return [
    `WEBVIEW_AUTH_DRIVER: ${found}: this version has the driver "basic" only, must be "basic"`,
  ];
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
  users: readonly BasicUser[],
  isAsserted: boolean,
): readonly string[] {
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
      `WEBVIEW_BASIC_USERS holds ${plain} plain passwords: fleetctl-login --hash-password <user>`,
    ]),
    ...nameless.map(({ name }) =>
      `user ${JSON.stringify(name)} is no e-mail address, so no agent can be theirs`
    ),
    ...(isLocal ? [] : [
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
