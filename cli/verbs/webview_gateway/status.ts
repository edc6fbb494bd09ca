/**
 * `fleetctl webview-gateway status`: the unit, its listen addresses, what it trusts, and the agents
 * in its rendered settings, compared with the ledger of this host. Changes nothing.
 *
 * `WEBVIEW_ADMINS` is always rendered. If it is missing, an older version rendered the file.
 *
 * @module
 */

import { type HostMarkers, printGatewayMarker } from "core/ledger/markers.ts";
import type { VerbContext } from "cli/context.ts";
import { readFacts } from "cli/planner.ts";
import type { Cell, VerbReport } from "cli/output.ts";
import { headerIsUnsigned } from "cli/verbs/webview_gateway/install.ts";
import { parseEnvFile } from "core/text/env_file.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { renderWebviewAdmins, renderWebviewLedger } from "core/ledger/maps.ts";
import { withRosterFile } from "core/access/roster_file.ts";
import { logHint } from "core/hints/log_hint.ts";
import type { Paths } from "core/paths.ts";
import { ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import { GATEWAY_ENV } from "units/render/roles/role_env.ts";
import { GATEWAY_UNIT } from "units/render/unit_name.ts";
import type { UnitStatus } from "core/ports/unit.ts";

/** `fleetctl webview-gateway status` has no options. */
export type Options = Readonly<Record<never, never>>;

/** Returns no options: there are none. */
export function parseOptions(_invocation: Invocation): Result<Options> {
  return ok({});
}

/** Reads the rendered settings, the ledger and the unit. */
export async function run(context: VerbContext, _options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  const gathered = await readFacts(context);
  if (!gathered.ok) return gathered;
  const { roles, markers } = gathered.value;
  const agents = [...gathered.value.ledger.agents.values()];
  const wanted = renderWebviewLedger(agents);
  const services = ports.services(paths);
  const [unit] = await services.isRunning() ? await services.status([GATEWAY_UNIT]) : [];
  const rendered = await readRendered(context);
  const ledger = mapOf(rendered?.get("WEBVIEW_LEDGER"));
  const admins = listOf(rendered?.get("WEBVIEW_ADMINS"));
  const problems = [
    ...(roles.gateway === undefined ? [notInstalled(shownMarker(markers))] : []),
    ...(roles.gateway !== undefined ? unitProblems(unit, paths) : []),
    ...(rendered === undefined || roles.gateway === undefined ? [] : [
      ...(rendered.has("WEBVIEW_ADMINS") ? [] : [renderedByOlder()]),
      ...(rendered.get("WEBVIEW_LEDGER") === wanted.text &&
          (rendered.get("WEBVIEW_ADMINS") ?? "[]") === renderWebviewAdmins(agents)
        ? []
        : [ledgerDiffers()]),
    ]),
    ...(roles.gateway?.trust === "header" ? [headerIsUnsigned()] : []),
    ...wanted.faults,
  ];
  const state = roles.gateway === undefined ? "not installed" : unit?.active ?? "unknown";
  return ok({
    json: {
      unit: GATEWAY_UNIT,
      state,
      marker: shownMarker(markers) ?? null,
      cockpit_listen: roles.gateway?.cockpitListen ?? null,
      dial_listen: roles.gateway?.dialListen ?? null,
      trust: roles.gateway?.trust ?? null,
      ledger: Object.fromEntries(ledger),
      admins,
      problems: problems.map(({ code, message, hints }) => ({ code, message, hints })),
    },
    blocks: [
      { kind: "lines", lines: headLines({ state, unit, gathered: gathered.value }) },
      {
        kind: "table",
        columns: ["email", "agent", "admin"],
        rows: ledger.map(([email, agent]) => [email, agent, admins?.includes(agent) ? "yes" : ""]),
        empty: "The gateway has no agents: fleetctl agents set <agent> --user-email EMAIL",
      },
    ],
    warnings: problems.filter(({ code }) => code === "trust-is-header"),
    faults: problems.filter(({ code }) => code !== "trust-is-header"),
  });
}

function headLines(
  { state, unit, gathered: { roles, markers } }: {
    readonly state: string;
    readonly unit: UnitStatus | undefined;
    readonly gathered: {
      readonly roles: {
        readonly gateway?: {
          readonly cockpitListen: string;
          readonly dialListen: string;
          readonly trust: string;
        };
      };
      readonly markers: HostMarkers;
    };
  },
): readonly Cell[] {
  const reason = unit?.reason === undefined ? "" : ` (${unit.reason})`;
  return [
    { text: `unit      ${GATEWAY_UNIT} ${state}${reason}`, tone: tone(state) },
    ...(roles.gateway === undefined ? [] : [
      `cockpit   ${roles.gateway.cockpitListen}, trusts ${roles.gateway.trust}`,
      `dial-in   ${roles.gateway.dialListen}`,
    ]),
    `marker    ${shownMarker(markers) ?? noMarker(roles)}`,
  ];
}

function noMarker({ gateway }: { readonly gateway?: unknown }): string {
  return gateway === undefined ? "none" : "none: this host is its own gateway";
}

function tone(state: string): "good" | "bad" {
  return state === "active" ? "good" : "bad";
}

/** Returns the gateway's rendered settings; undefined when there are none or they are damaged. */
async function readRendered(
  { ports, paths }: VerbContext,
): Promise<ReadonlyMap<string, string> | undefined> {
  const text = await ports.files.readText(paths.env(GATEWAY_ENV));
  const parsed = text === undefined ? undefined : parseEnvFile(text);
  if (parsed?.ok !== true) return undefined;
  const env = await withRosterFile(Object.fromEntries(parsed.value), ports.files);
  return new Map(Object.entries(env).flatMap(([k, v]) => v === undefined ? [] : [[k, v]]));
}

function mapOf(text: string | undefined): readonly (readonly [string, string])[] {
  const value = jsonOf(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([email, agent]) =>
    typeof agent === "string" ? [[email, agent] as const] : []
  );
}

/** Null when the key is missing, because older versions did not render it. */
function listOf(text: string | undefined): readonly string[] | null {
  const value = jsonOf(text);
  return Array.isArray(value) ? value.map(String) : null;
}

function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

function unitProblems(unit: UnitStatus | undefined, paths: Paths): readonly Refusal[] {
  if (unit?.active === "active") return [];
  const state = unit === undefined
    ? "unknown (no service manager runs on this root)"
    : unit.load === "loaded"
    ? unit.active
    : "not installed";
  return [refusal("role-down", `The gateway is ${state}, must be active`, {
    hints: unit?.load === "loaded" ? [logHint(paths, GATEWAY_UNIT)] : ["fleetctl apply"],
  })];
}

function notInstalled(marker: string | undefined): Refusal {
  return refusal(
    "gateway-not-installed",
    "The webview gateway is not installed on this host" +
      (marker === undefined ? "" : `: the marker names "${marker}"`),
    { hints: ["fleetctl webview-gateway install"] },
  );
}

function renderedByOlder(): Refusal {
  return refusal(
    "rendered-by-older-version",
    "The gateway's settings lack WEBVIEW_ADMINS: they were rendered by an older version of " +
      "fleetctl",
    { hints: ["fleetctl apply"] },
  );
}

function ledgerDiffers(): Refusal {
  return refusal(
    "gateway-ledger-differs",
    "The gateway's list of agents differs from the ledger of this host",
    { hints: ["fleetctl apply"] },
  );
}

function shownMarker({ webviewGateway }: HostMarkers): string | undefined {
  return webviewGateway === undefined ? undefined : printGatewayMarker(webviewGateway);
}
