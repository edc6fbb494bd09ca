/**
 * Constants of each cloud of the chat platform, and the file that describes a private one
 * (`TEAMS_CLOUD`). Pure. Sources: Bot Connector authentication, "Bot to Bot Connector"
 * and its pages for national clouds.
 *
 * @module
 */

import { createFieldReader } from "core/text/field_reader.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { isLoopbackName } from "core/net/host_name.ts";
import { faultCount } from "core/text/fault_count.ts";
import { parseYaml } from "core/text/yaml.ts";

/** Where tokens come from, their issuer, and the hosts that answers may be sent to. */
export interface Cloud {
  readonly name: string;
  /** `iss` of the bot connector's tokens; exact match. */
  readonly issuer: string;
  readonly openidMetadata: URL;
  /** Identity provider that issues the token for answers. */
  readonly loginUrl: URL;
  /** Tenant in the token request when the bot has no separate tenant. */
  readonly defaultTenant: string;
  readonly scope: string;
  /** Allowed origins of `serviceUrl`, such as `https://smba.trafficmanager.net`; exact match. */
  readonly serviceOrigins: ReadonlySet<string>;
}

/** Names that `TEAMS_CLOUD` accepts besides a path. */
export const CLOUD_NAMES = ["public", "gcchigh", "dod", "china"] as const;
/** One of `CLOUD_NAMES`. */
export type CloudName = typeof CLOUD_NAMES[number];

const PUBLIC: Cloud = {
  name: "public",
  issuer: "https://api.botframework.com",
  openidMetadata: new URL("https://login.botframework.com/v1/.well-known/openidconfiguration"),
  loginUrl: new URL("https://login.microsoftonline.com/"),
  defaultTenant: "botframework.com",
  scope: "https://api.botframework.com/.default",
  serviceOrigins: new Set([
    "https://smba.trafficmanager.net",
    "https://smba.infra.gcc.teams.microsoft.com",
  ]),
};

const GCC_HIGH: Cloud = {
  name: "gcchigh",
  issuer: "https://api.botframework.us",
  openidMetadata: new URL("https://login.botframework.azure.us/v1/.well-known/openidconfiguration"),
  loginUrl: new URL("https://login.microsoftonline.us/"),
  defaultTenant: "MicrosoftServices.onmicrosoft.us",
  scope: "https://api.botframework.us/.default",
  serviceOrigins: new Set(["https://smba.infra.gov.teams.microsoft.us"]),
};

const CLOUDS: Readonly<Record<CloudName, Cloud>> = {
  public: PUBLIC,
  gcchigh: GCC_HIGH,
  dod: {
    ...GCC_HIGH,
    name: "dod",
    serviceOrigins: new Set(["https://smba.infra.dod.teams.microsoft.us"]),
  },
  china: {
    name: "china",
    issuer: "https://api.botframework.azure.cn",
    openidMetadata: new URL(
      "https://login.botframework.azure.cn/v1/.well-known/openidconfiguration",
    ),
    loginUrl: new URL("https://login.partner.microsoftonline.cn/"),
    defaultTenant: "microsoftservices.partner.onmschina.cn",
    scope: "https://api.botframework.azure.cn/.default",
    serviceOrigins: new Set(["https://smba.botframework.azure.cn"]),
  },
};

const KEYS = [
  "issuer",
  "openid_metadata",
  "login_url",
  "default_tenant",
  "scope",
  "service_hosts",
] as const;

/** Returns a cloud by its name; undefined when the text must be a file path. */
export function knownCloud(name: string): Cloud | undefined {
  return CLOUD_NAMES.some((known) => known === name) ? CLOUDS[name as CloudName] : undefined;
}

/** Parses the file of a private cloud; accepts plain http for loopback only. */
export function parseCloud(text: string, file: string): Result<Cloud> {
  const yaml = parseYaml(text, file);
  if (!yaml.ok) return err(cloudRefusal(file, yaml.error.details));
  const read = createFieldReader(yaml.value);
  read.onlyKeys([], [...KEYS]);
  const must = (key: typeof KEYS[number], rule?: (given: string) => string | undefined) => {
    if (!read.has([key])) read.fault([key], "must be set");
    return read.string([key], rule) ?? "";
  };
  const issuer = must("issuer");
  const metadata = must("openid_metadata", urlRule);
  const login = must("login_url", urlRule);
  const defaultTenant = must("default_tenant", tenantRule);
  const scope = must("scope");
  const hosts = read.strings(["service_hosts"]);
  if (hosts.length === 0) read.fault(["service_hosts"], "must name at least one host");
  const origins = hosts.map((host) => serviceOrigin(host));
  origins.forEach((origin, index) => {
    if (origin === undefined) {
      read.fault(["service_hosts", index], "must be a host, host:port or http://<loopback>:port");
    }
  });
  if (read.faults.length > 0) return err(cloudRefusal(file, read.faults));
  return ok({
    name: file,
    issuer,
    openidMetadata: new URL(metadata),
    loginUrl: new URL(login.endsWith("/") ? login : `${login}/`),
    defaultTenant,
    scope,
    serviceOrigins: new Set(origins.filter((origin) => origin !== undefined)),
  });
}

/**
 * Hosts that the gateway may reach, as `host:port`: for incoming tokens, and for outgoing answers.
 */
export interface CloudHosts {
  /** Hosts of the connector's keys. */
  readonly keys: readonly string[];
  /** The identity provider, and the hosts of conversations. */
  readonly answers: readonly string[];
}

/** Hosts of the vendor's test client in local mode: any port of this machine. */
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Returns the hosts that a gateway in one of the clouds may reach. Under a separate root, which is
 * for trials, the result includes the hosts of both modes: a key in the secret store decides the
 * mode there, and the renderer may not have permission to read it.
 */
export function reachableHosts(
  clouds: readonly Cloud[],
  mode: "cloud" | "local" | "either",
): CloudHosts {
  const known = mode === "local" ? [] : clouds;
  const keys = known.map(({ openidMetadata }) => hostPortOf(openidMetadata));
  const answers = known.flatMap(({ loginUrl, serviceOrigins }) =>
    [loginUrl, ...[...serviceOrigins].map((origin) => new URL(origin))].map(hostPortOf)
  );
  return {
    keys: [...new Set(keys)],
    answers: [...new Set([...answers, ...(mode === "cloud" ? [] : LOOPBACK)])],
  };
}

/** Returns all named clouds. */
export function knownClouds(): readonly Cloud[] {
  return CLOUD_NAMES.map((name) => CLOUDS[name]);
}

/** Prints the host and port of a URL, with the default port of its scheme. */
export function hostPortOf(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === "http:" ? "80" : "443")}`;
}

/** Path segment of a tenant: a GUID or a domain name. */
const TENANT = /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/;

function tenantRule(text: string): string | undefined {
  return TENANT.test(text) ? undefined : "must be a tenant id or domain";
}

function urlRule(text: string): string | undefined {
  if (!URL.canParse(text)) return "must be a URL";
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return "must not contain credentials";
  if (url.protocol === "https:") return undefined;
  return url.protocol === "http:" && isLoopbackName(url.hostname)
    ? undefined
    : "must be an https URL, or http to loopback";
}

function serviceOrigin(host: string): string | undefined {
  const text = host.includes("://") ? host : `https://${host}`;
  if (urlRule(text) !== undefined) return undefined;
  const url = new URL(text);
  return url.pathname === "/" && url.search === "" && url.hash === "" ? url.origin : undefined;
}

function cloudRefusal(file: string, details: readonly string[]) {
  return refusal(
    "cloud-file-invalid",
    `Cannot read the cloud file "${file}": ${faultCount(details)}`,
    {
      kind: "settings",
      details,
    },
  );
}
