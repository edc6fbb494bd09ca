/**
 * Env file of the login proxy: its settings, and the keys that it shares with the cockpit. No I/O.
 * A file with missing keys is not rendered, so that the old one stays.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { RenderedFile } from "core/files/rendered_file.ts";
import type { Paths } from "core/paths.ts";
import { err, ok, type Result } from "core/result.ts";
import { printEnvFile } from "core/text/env_file.ts";

/** User and group of the login proxy. */
export const LOGIN_USER = "fleetctl-login";
/** Name of its env file. */
export const LOGIN_ENV = "webview-login";
const HEADER = "# Rendered by fleetctl; changes are overwritten.\n";

/** Input of the env file. */
export interface LoginSettings {
  readonly listen: string;
  readonly driver: "basic" | "oidc";
  readonly hmacKey: string;
  readonly assertionKey?: string;
  readonly basicUsers?: string;
  readonly clientSecret?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** Renders `webview-login.env`, 0640 for the login proxy's group. */
export function renderLoginEnv(
  login: LoginSettings,
  context: {
    readonly paths: Paths;
    /** `host:port` of the cockpit; undefined when it is not on this host. */
    readonly cockpit: string | undefined;
  },
): Result<RenderedFile> {
  const path = context.paths.env(LOGIN_ENV);
  const { driver, basicUsers = "", assertionKey = "", hmacKey } = login;
  const missing = hmacKey === ""
    ? "WEBVIEW_HMAC_KEY"
    : driver === "basic" && basicUsers === ""
    ? "WEBVIEW_BASIC_USERS"
    : undefined;
  if (missing !== undefined) {
    return err(refusal(
      "login-key-missing",
      `Cannot write ${JSON.stringify(path)}: ${missing} has no value, must be set`,
      {
        hints: [
          missing === "WEBVIEW_BASIC_USERS"
            ? "fleetctl webview-login users set you@example.org --generate"
            : `fleetctl secret set ${missing}`,
        ],
      },
    ));
  }
  const text = printEnvFile(Object.entries({
    WEBVIEW_LOGIN_LISTEN: login.listen,
    ...(context.cockpit === undefined ? {} : { WEBVIEW_UPSTREAM: `http://${context.cockpit}` }),
    WEBVIEW_AUTH_DRIVER: driver,
    ...(basicUsers === "" ? {} : { WEBVIEW_BASIC_USERS: basicUsers }),
    WEBVIEW_HMAC_KEY: hmacKey,
    ...(assertionKey === "" ? {} : { WEBVIEW_ASSERTION_KEY: assertionKey }),
    ...(driver === "basic" || login.clientSecret === undefined
      ? {}
      : { WEBVIEW_OIDC_CLIENT_SECRET: login.clientSecret }),
    ...login.settings,
  }));
  if (!text.ok) return text;
  return ok({
    path,
    content: HEADER + text.value,
    mode: 0o640,
    owner: { user: "root", group: LOGIN_USER },
    secret: true,
  });
}
