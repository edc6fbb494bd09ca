/**
 * `fleetctl webview-login install`: records that this host runs the login proxy, with its settings,
 * and reconciles the host. Settings that are not given stay unchanged. Secrets must be set before
 * with `secret set`.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { ensureState } from "cli/facts.ts";
import type { VerbReport } from "cli/output.ts";
import {
  authorOf,
  hostInputs,
  planReport,
  readFacts,
  reconcileFacts,
  underVerbLock,
} from "cli/planner.ts";
import { refusal } from "core/errors.ts";
import {
  type FrontKind,
  frontUpstream,
  isFrontKind,
  printFront,
} from "cli/webview_login/login_front.ts";
import { editHostRoles, type HostRoles, parseHostRoles } from "core/ledger/host_roles.ts";
import { isGatewayHost, parseMarkers } from "core/ledger/markers.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";
import type { Report } from "units/reconcile/report.ts";

/** The given options; the others are undefined. */
export interface Options {
  readonly driver: "basic" | "oidc" | undefined;
  readonly listen: string | undefined;
  readonly url: string | undefined;
  readonly issuer: string | undefined;
  readonly clientId: string | undefined;
  readonly front: FrontKind | undefined;
  readonly isDryRun: boolean;
}

type Login = NonNullable<HostRoles["login"]>;

/** Parses the options. */
export function parseOptions({ options, switches }: Invocation): Result<Options> {
  const { driver, listen, url, issuer } = options;
  const faults: string[] = [];
  if (listen !== undefined && !/^(?:\[[0-9a-fA-F:]+\]|[0-9A-Za-z.-]+):\d{1,5}$/.test(listen)) {
    faults.push(`--listen is ${JSON.stringify(listen)}, must be host:port`);
  }
  for (const [name, text] of [["url", url], ["issuer", issuer]] as const) {
    if (text !== undefined && !/^https?:\/\/[^/\s]+/.test(text)) {
      faults.push(`--${name} is ${JSON.stringify(text)}, must be https://…`);
    }
  }
  if (faults.length > 0) {
    return err(refusal(
      "login-options-invalid",
      `Cannot install the login proxy: ${faults.join("; ")}`,
      { kind: "usage", hints: ["fleetctl webview-login install --help"] },
    ));
  }
  return ok({
    driver: driver === "basic" || driver === "oidc" ? driver : undefined,
    listen,
    url,
    issuer,
    clientId: options["client-id"],
    front: isFrontKind(options.front) ? options.front : undefined,
    isDryRun: switches.has("dry-run"),
  });
}

/** Writes the role, then reconciles. A role whose keys are missing is not written. */
export async function run(
  context: VerbContext,
  options: Options,
): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const before = await ports.files.readText(paths.rolesFile);
    const current = parseHostRoles(before, paths.rolesFile);
    if (!current.ok) return current;
    const login = loginOf(current.value.login, options);
    if (!login.ok) return login;
    const front = options.front === undefined ? ok(undefined) : frontOf(login.value, options.front);
    if (!front.ok) return front;
    const needsGateway = await lacksGateway(context, current.value, login.value);
    if (!needsGateway.ok) return needsGateway;
    const edited = editHostRoles(before, {
      login: login.value,
      ...(needsGateway.value ? { gateway: { trust: "assertion" } } : {}),
    }, paths.rolesFile);
    if (!edited.ok) return edited;
    const roles = parseHostRoles(edited.value, paths.rolesFile);
    if (!roles.ok) return roles;
    const author = authorOf(context, "webview-login install");
    if (!options.isDryRun) {
      const state = await ensureState(ports, hostInputs(context), author);
      if (!state.ok) return state;
    }
    const gathered = await readFacts(context, { roles: roles.value });
    if (!gathered.ok) return gathered;
    const how = { restartAgents: false } as const;
    const planned = await reconcileFacts(context, gathered.value, { ...how, dryRun: true });
    if (!planned.ok) return planned;
    // A role that cannot run here must not be recorded, because each `apply` would try it again.
    const missing = planned.value.faults.find(({ code }) => code === "login-key-missing");
    if (missing !== undefined) return err(missing);
    if (options.isDryRun) return reportOf(planned.value);
    if (edited.value !== before) {
      await ports.files.write(paths.rolesFile, edited.value, { mode: 0o644 });
    }
    const report = await reconcileFacts(context, gathered.value, { ...how, dryRun: false });
    return report.ok ? reportOf(report.value) : report;

    function reportOf(done: Report): Result<VerbReport> {
      if (!gathered.ok || !login.ok || !front.ok) throw new TypeError("nothing was planned");
      const { driver, listen } = login.value;
      const verb = options.isDryRun ? "would be" : "is";
      return ok(planReport(done, gathered.value, {
        json: {
          driver,
          listen,
          state: options.isDryRun ? "planned" : "installed",
          front: front.value ?? null,
        },
        last: [
          ...(needsGateway.ok && needsGateway.value
            ? [`the webview gateway ${verb} installed with it, on this host`]
            : []),
          `the login proxy ${verb} installed with the driver ${driver}, on ${listen}`,
          "see it with: fleetctl webview-login status",
          ...urlLines(login.value, options),
          ...frontLines(front.value, options.front),
        ],
      }));
    }
  });
}

/**
 * Whether to install a gateway with the proxy, which needs a cockpit behind it. False if one is
 * known: on this host, by the upstream setting, or by a marker for another host.
 */
async function lacksGateway(
  { ports, paths }: VerbContext,
  roles: HostRoles,
  login: Login,
): Promise<Result<boolean>> {
  if (roles.gateway !== undefined || login.settings?.WEBVIEW_UPSTREAM !== undefined) {
    return ok(false);
  }
  const markers = parseMarkers(await ports.files.readText(paths.hostFile), paths.hostFile);
  if (!markers.ok) return markers;
  const marker = markers.value.webviewGateway?.host;
  return ok(marker === undefined || isGatewayHost(marker, ports.hostname));
}

/** Returns the lines about the address that people open and the front that serves it. */
function urlLines(login: Login, { front, url }: Options): readonly string[] {
  const address = login.settings?.WEBVIEW_URL;
  if (address === undefined || front !== undefined) return [];
  return [
    `people open ${address}`,
    ...(url === undefined
      ? []
      : ["its HTTPS front, for caddy or nginx: fleetctl webview-login front caddy"]),
  ];
}

/** Returns the front for a server. Refuses unless browsers reach the proxy by https. */
export function frontOf(login: Login, kind: FrontKind): Result<string> {
  const url = URL.parse(login.settings?.WEBVIEW_URL ?? "");
  if (url?.protocol === "https:") {
    return ok(printFront(kind, { url, upstream: frontUpstream(login.listen) }));
  }
  return err(refusal(
    "login-options-invalid",
    "Cannot print an HTTPS front: WEBVIEW_URL is not https://…, must be set",
    {
      kind: "usage",
      hints: [`fleetctl webview-login install --front ${kind} --url https://cockpit.example`],
    },
  ));
}

function frontLines(front: string | undefined, kind: FrontKind | undefined): readonly string[] {
  if (front === undefined) return [];
  return [
    `the HTTPS front for ${kind}; put it where ${kind} reads its sites, and reload it:`,
    ...front.trimEnd().split("\n").map((line) => `    ${line}`),
    "check it with: fleetctl webview-login doctor",
  ];
}

/** Merges the given options into the present settings. */
function loginOf(now: Login | undefined, options: Options): Result<Login> {
  const settings: Record<string, string> = { ...now?.settings };
  const given = {
    WEBVIEW_URL: options.url,
    WEBVIEW_OIDC_ISSUER: options.issuer,
    WEBVIEW_OIDC_CLIENT_ID: options.clientId,
  };
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) settings[name] = value;
  }
  // With an https address at install, cookies are bound to that host and to https.
  if (options.url?.startsWith("https://") === true) settings.WEBVIEW_COOKIE_PREFIX ??= "__Host-";
  const driver = options.driver ?? now?.driver ?? "oidc";
  const missing = driver === "basic"
    ? []
    : Object.keys(given).filter((name) => settings[name] === undefined);
  if (missing.length > 0) {
    return err(refusal(
      "login-options-invalid",
      `Cannot install the login proxy with the driver "oidc": ${missing.join(", ")} not set`,
      {
        kind: "usage",
        hints: [
          "fleetctl webview-login install --driver oidc --issuer https://idp.example " +
          "--client-id cockpit --url https://cockpit.example",
        ],
      },
    ));
  }
  return ok({
    listen: options.listen ?? now?.listen ?? "0.0.0.0:8736",
    driver,
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
  });
}
