/**
 * Settings of a host's own dial unit, read in one pass with every fault named. No I/O.
 *
 * @module
 */

import { DIAL_PORT, parseRegisterUrl } from "core/dial/register_url.ts";
import { type HostName, parseHostName } from "core/names.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";
import { parsed, text } from "core/settings/setting_types.ts";
import { defaulted, type Env, readSettings, required } from "core/settings/settings.ts";

/** The settings table; also the help text of the role. */
export const HOST_DIAL_SETTINGS = {
  root: defaulted("FLEETCTL_ROOT", text(), { fallback: "/", doc: "Prefix of every path." }),
  hostname: required("FLEETCTL_HOST", parsed(parseHostName), { doc: "Name of this host." }),
  gatewayUrl: defaulted("CHANNEL_WEBVIEW_GATEWAY_URL", parsed(parseRegisterUrl), {
    fallback: `ws://127.0.0.1:${DIAL_PORT}`,
    doc: "URL where the gateway accepts dial-ins.",
  }),
  credentials: required("CREDENTIALS_DIRECTORY", text(), {
    doc: "Folder into which the service manager puts the dial key.",
  }),
} as const;

/** Configuration of a host's dial unit. */
export interface HostDialConfig {
  readonly paths: Paths;
  readonly hostname: HostName;
  readonly gatewayUrl: URL;
  readonly credentials: string;
}

/** Name of the key file in the credentials folder. */
export const HOST_KEY_CREDENTIAL = "host-dial.key";

/** Reads the settings; every fault is in the details of the refusal. */
export function readHostDialConfig(env: Env): Result<HostDialConfig> {
  const read = readSettings(HOST_DIAL_SETTINGS, env);
  if (!read.ok) return read;
  const { root, ...rest } = read.value;
  return ok({ paths: pathsUnder(root), ...rest });
}
