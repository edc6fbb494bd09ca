/**
 * Settings of the webview gateway. Reads all of them at once and reports every fault. No I/O. The
 * cockpit trusts a header or an assertion, so it must listen on loopback only. The host part of
 * its address is rewritten to loopback, with a warning.
 *
 * @module
 */

import { type AssertionKeys, parseAssertionKeys } from "core/access/assertion.ts";
import { ADMINS_TYPE, LEDGER_TYPE } from "core/access/roster_file.ts";
import { type Roster, rosterOf, type Trust } from "core/access/viewer.ts";
import { EVENT_LIMITS } from "core/limits/event.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { flag, integer, list, listenAddress, oneOf, text } from "core/settings/setting_types.ts";
import { defaulted, type Env, optional, readSettings, required } from "core/settings/settings.ts";

/** The declared table; also the help of the role. */
export const GATEWAY_SETTINGS = {
  root: defaulted("FLEETCTL_ROOT", text(), { fallback: "/", doc: "Prefix of every path." }),
  cockpit: defaulted("WEBVIEW_COCKPIT_LISTEN", listenAddress(), {
    fallback: "127.0.0.1:8731",
    doc: "Where the cockpit listens; its host part is always 127.0.0.1.",
  }),
  dial: defaulted("WEBVIEW_DIAL_LISTEN", listenAddress(), {
    fallback: "0.0.0.0:8735",
    doc: "Where agents dial in.",
  }),
  dialNames: defaulted("WEBVIEW_DIAL_NAMES", list(text()), {
    fallback: "",
    doc: "Further host names under which agents reach the dial-in listener.",
  }),
  requireKey: defaulted("WEBVIEW_DIAL_REQUIRE_KEY", flag(), {
    fallback: "false",
    doc: "Whether each agent must prove a dial key (marker host.dial_require_key).",
  }),
  agentStorage: defaulted(
    "WEBVIEW_AGENT_STORAGE_MIB",
    integer(EVENT_LIMITS.agentMibMin, EVENT_LIMITS.agentMibMax),
    {
      fallback: String(EVENT_LIMITS.agentMibDefault),
      doc: "Most MiB of events stored for one agent.",
    },
  ),
  eventsDays: optional(
    "WEBVIEW_EVENTS_DAYS",
    integer(EVENT_LIMITS.daysMin, EVENT_LIMITS.daysMax),
    { doc: "Days until events and turns are deleted; if unset, only gc deletes them." },
  ),
  ledger: required("WEBVIEW_LEDGER", LEDGER_TYPE, {
    doc: "JSON object, login identity to agent; or the path of the file to follow.",
  }),
  admins: required("WEBVIEW_ADMINS", ADMINS_TYPE, {
    doc: "JSON list of the agents with the admin marker; ignored if that file lists them.",
  }),
  assertionKey: optional("WEBVIEW_ASSERTION_KEY", text(), {
    isSecret: true,
    doc: "Key, or ring kid:key,kid:key, shared with the login proxy.",
    requiredWhen: {
      test: (env) => env.WEBVIEW_TRUST === "assertion",
      words: 'when WEBVIEW_TRUST is "assertion"',
    },
  }),
  trust: optional("WEBVIEW_TRUST", oneOf(["assertion", "header"]), {
    doc: "assertion when a key is set, else header; use header with another login proxy.",
  }),
  hosts: optional("WEBVIEW_HOSTS", list(text()), {
    doc:
      "Host names under which the cockpit answers besides loopback names; if unset, all, unless " +
      "WEBVIEW_TRUST is header.",
  }),
} as const;

/** What the gateway runs with. */
export interface GatewayConfig {
  readonly paths: Paths;
  readonly cockpit: ListenAddress;
  readonly dial: ListenAddress;
  readonly dialNames: readonly string[];
  readonly requireKey: boolean;
  /** Bytes of transcript stored for one agent. */
  readonly agentBytesMax: number;
  /** Days after which events are deleted; undefined: never. */
  readonly eventsDays: number | undefined;
  /** The roster at start. */
  readonly roster: Roster;
  /** The file of the roster, to follow; undefined where the settings contain the roster. */
  readonly rosterFile: string | undefined;
  readonly trust: Trust;
  /** Values of `Host` allowed besides loopback names; undefined: any. */
  readonly hosts: readonly string[] | undefined;
  /** Present whenever `trust` is "assertion". */
  readonly assertionKeys: AssertionKeys | undefined;
  /** Warnings about settings, one sentence each; logged at start. */
  readonly warnings: readonly string[];
}

const COCKPIT_HOST = "127.0.0.1";
/** The only cause of a missing `WEBVIEW_ADMINS`: an older version rendered the environment. */
const ADMINS_ABSENT =
  "WEBVIEW_ADMINS: not set, so the environment was rendered by an older version; run fleetctl " +
  "apply";

/**
 * Reads the settings; `rosterFile` is the file that `WEBVIEW_LEDGER` named. The details of the
 * refusal list every fault.
 */
export async function readGatewayConfig(
  env: Env,
  rosterFile?: string,
): Promise<Result<GatewayConfig>> {
  const read = readSettings(GATEWAY_SETTINGS, env);
  const keys = await readKeys(env);
  const faults = [...(read.ok ? [] : read.error.details.map(explainAdmins)), ...keys.faults];
  if (!read.ok || faults.length > 0) {
    const count = faults.length === 1 ? "1 setting is" : `${faults.length} settings are`;
    return err(
      refusal("settings-invalid", `Cannot start: ${count} unusable`, {
        kind: "settings",
        details: faults,
      }),
    );
  }
  const values = read.value;
  const trust = values.trust ?? (keys.keys === undefined ? "header" : "assertion");
  const warnings: string[] = [];
  if (values.cockpit.hostname !== COCKPIT_HOST) {
    warnings.push(
      `WEBVIEW_COCKPIT_LISTEN names the host "${values.cockpit.hostname}": the cockpit listens ` +
        `on ${COCKPIT_HOST} only`,
    );
  }
  if (trust === "header") {
    warnings.push(
      "X-User-Email is believed without an assertion: any local program can name any identity",
    );
  }
  // With trust in the header set explicitly, the names must be set too: none are allowed by
  // default. Older settings, without an explicit trust, allow any name.
  const hosts = values.hosts ?? (values.trust === "header" ? [] : undefined);
  if (trust === "header" && hosts === undefined) {
    warnings.push(
      "the cockpit answers under any host name, so a page elsewhere can reach it by DNS " +
        "rebinding: " +
        "set WEBVIEW_TRUST=header and WEBVIEW_HOSTS to the names that your proxy passes on",
    );
  }
  return ok({
    paths: pathsUnder(values.root),
    cockpit: { hostname: COCKPIT_HOST, port: values.cockpit.port },
    dial: values.dial,
    dialNames: values.dialNames.map((name) => name.toLowerCase()),
    requireKey: values.requireKey,
    agentBytesMax: values.agentStorage * 1024 * 1024,
    eventsDays: values.eventsDays,
    roster: rosterOf(values.ledger, values.admins),
    rosterFile,
    trust,
    hosts,
    assertionKeys: keys.keys,
    warnings,
  });
}

function explainAdmins(fault: string): string {
  return fault.startsWith("WEBVIEW_ADMINS: not set") ? ADMINS_ABSENT : fault;
}

async function readKeys(
  env: Env,
): Promise<{ readonly keys: AssertionKeys | undefined; readonly faults: readonly string[] }> {
  const given = env.WEBVIEW_ASSERTION_KEY;
  if (given === undefined || given === "") return { keys: undefined, faults: [] };
  const keys = await parseAssertionKeys(given);
  if (keys.ok) return { keys: keys.value, faults: [] };
  const why = keys.error.message.replace(/^Cannot read WEBVIEW_ASSERTION_KEY: /, "");
  return { keys: undefined, faults: [`WEBVIEW_ASSERTION_KEY: ${why}`] };
}
