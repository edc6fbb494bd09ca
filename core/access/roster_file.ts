/**
 * The file with the ledger's identities and admins, `webview-ledger.json`. `apply` renders it, and
 * the gateway follows it while it runs. Its content is `{"ledger": {email: agent}, "admins":
 * [agent]}`. Files of older versions contain the ledger alone.
 *
 * @module
 */

import { type Roster, rosterOf } from "core/access/viewer.ts";
import { parseAgentName, parseEmail } from "core/names.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { isSettingFile } from "core/settings/setting_files.ts";
import { jsonList, jsonMap, parsed } from "core/settings/setting_types.ts";
import type { Env } from "core/settings/settings.ts";
import { isRecord } from "core/text/json_object.ts";

/** Type of the setting `WEBVIEW_LEDGER`. */
export const LEDGER_TYPE = jsonMap(parsed(parseEmail), parsed(parseAgentName));
/** Type of the setting `WEBVIEW_ADMINS`. */
export const ADMINS_TYPE = jsonList(parsed(parseAgentName));

/** Longest file; that of 50,000 agents is shorter. */
const TEXT_LENGTH_MAX = 8 * 1024 * 1024;

/** Parses the file. The error is a sentence without a subject, such as "must be …". */
export function parseRosterFile(text: string): Result<Roster, string> {
  if (text.length > TEXT_LENGTH_MAX) return err("must be at most 8 MiB");
  const parts = partsOf(text);
  if (parts === undefined) return err('must be a JSON object with "ledger" and "admins"');
  const ledger = LEDGER_TYPE.parse(parts.ledger);
  if (!ledger.ok) return err(`ledger: ${ledger.error || LEDGER_TYPE.wanted}`);
  const admins = ADMINS_TYPE.parse(parts.admins);
  if (!admins.ok) return err(`admins: ${admins.error || ADMINS_TYPE.wanted}`);
  return ok(rosterOf(ledger.value, admins.value));
}

/**
 * Returns the settings with the content of the file that `WEBVIEW_LEDGER` names, if it names one.
 * An unreadable file leaves the path in place.
 */
export async function withRosterFile(env: Env, files: Pick<Files, "readText">): Promise<Env> {
  const path = env.WEBVIEW_LEDGER;
  const text = isSettingFile(path) ? await files.readText(path).catch(() => undefined) : undefined;
  if (text === undefined) return env;
  const parts = partsOf(text);
  return parts === undefined
    ? { ...env, WEBVIEW_LEDGER: text.trim() }
    : { ...env, WEBVIEW_LEDGER: parts.ledger, WEBVIEW_ADMINS: parts.admins };
}

/** Splits the file into the texts of the two settings. */
function partsOf(text: string): { readonly ledger: string; readonly admins: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value) || !isRecord(value.ledger) || !Array.isArray(value.admins)) return undefined;
  return { ledger: JSON.stringify(value.ledger), admins: JSON.stringify(value.admins) };
}
