/**
 * Fixed, non-secret variables of a server, as `--set-env NAME=VALUE` accepts them. A name that
 * looks like a key is refused: its value would show in the catalog and in a process list. No I/O.
 *
 * @module
 */

import { KEY_NAME } from "core/catalog/dry_start.ts";
import { checkArgument, checkVariableName } from "core/catalog/manifest_rules.ts";
import { refusal } from "core/errors.ts";
import { PROXY_VARIABLES } from "core/net/proxy_env.ts";
import { err, ok, type Result } from "core/result.ts";

const VALUE_LENGTH_MAX = 4_096;
/** Variables that decide how the server is started, not what it does. */
const START_VARIABLES =
  /^(?:FLEETCTL_|DENO_|LD_|HOME$|PATH$|NODE_OPTIONS$|NODE_PATH$|BASH_ENV$|GCONV_PATH$)/;

/** Tells whether a variable decides how the server is started, such as a library to preload. */
export function changesStart(name: string): boolean {
  return START_VARIABLES.test(name);
}

/**
 * Variables that decide how a server's requests are routed and which certificates it trusts. A
 * proxy can read everything sent to the hosts that the server may reach. An operator may set them;
 * an imported document may not.
 */
const ROUTING_VARIABLES =
  /^(?:(?:FTP|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS|NODE_TLS_\w+|(?:REQUESTS|CURL)_CA_BUNDLE)$/i;
const PROXIES: ReadonlySet<string> = new Set(PROXY_VARIABLES.map((name) => name.toUpperCase()));
const LINK = /[a-z][a-z0-9+.-]*:\/\/([^\s/?#]*)@/gi;

/** Tells whether a variable decides how requests are routed or which certificates are trusted. */
export function changesRouting(name: string): boolean {
  return ROUTING_VARIABLES.test(name) || PROXIES.has(name.toUpperCase());
}

/**
 * Tells whether a text contains a URL with a password, or an http(s) URL with a user name, because
 * that may be a token (`https://ghp_…@host`). A user name alone in another scheme
 * (`ssh://git@host`) does not count.
 */
export function holdsPassword(text: string): boolean {
  return [...text.matchAll(LINK)].some(([link, user = ""]) =>
    user.includes(":") || (/^https?:/i.test(link) && user !== "")
  );
}

/** Parses the settings; a value may contain the placeholders of a manifest. */
export function parseSettings(texts: readonly string[]): Result<Readonly<Record<string, string>>> {
  const settings: Record<string, string> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    const name = text.slice(0, Math.max(at, 0));
    const value = text.slice(at + 1);
    const fault = settingFault(name, value) ??
      (Object.hasOwn(settings, name) ? "is given twice" : undefined);
    if (fault !== undefined) return err(bad(at === -1 ? text : name, fault));
    settings[name] = value;
  }
  return ok(settings);
}

/** Returns what is wrong with a fixed variable, or undefined. Never shows its value. */
export function settingFault(name: string, value: string): string | undefined {
  if (checkVariableName(name) !== undefined) {
    return "is not a valid variable name, must have the form NAME=VALUE";
  }
  if (KEY_NAME.test(name)) return "looks like a key, and its value would be visible in the catalog";
  if (changesStart(name)) return "is set by fleetctl itself";
  if (value === "" || value.length > VALUE_LENGTH_MAX) {
    return `has no value, must have one of at most ${VALUE_LENGTH_MAX} characters`;
  }
  const wanted = checkArgument(value);
  if (wanted !== undefined) return `has a value that ${wanted}`;
  return holdsPassword(value)
    ? "contains a URL with a password, and its value would be visible in the catalog"
    : undefined;
}

function bad(name: string, state: string) {
  const shown = name.slice(0, 120);
  return refusal("setting-invalid", `Cannot set variable ${JSON.stringify(shown)}: it ${state}`, {
    kind: "usage",
    ...(KEY_NAME.test(name) || state.includes("password")
      ? { details: ["name a secret with --env, and store its value with `secret set`"] }
      : {}),
    hints: ["fleetctl mcp catalog add --help"],
  });
}
