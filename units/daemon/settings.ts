/**
 * Settings that the daemon reads from its environment.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { defaulted } from "core/settings/settings.ts";
import { parsed } from "core/settings/setting_types.ts";

/** Settings of `fleetctld`. */
export const DAEMON_SETTINGS = {
  root: defaulted("FLEETCTL_ROOT", parsed(parseRoot), {
    doc: "Root folder of the host.",
    fallback: "/",
    wanted: "must be an absolute path",
  }),
} as const;

function parseRoot(text: string): Result<string> {
  return text.startsWith("/") && !text.split("/").includes("..")
    ? ok(text)
    : err(refusal("settings-invalid", "Cannot use this root folder: must be an absolute path"));
}
