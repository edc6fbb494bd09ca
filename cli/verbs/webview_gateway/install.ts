/**
 * `fleetctl webview-gateway install [--trust assertion|header] [--hosts NAME,NAME]`: makes this
 * host run the gateway. It writes the role into `roles.yaml` and reconciles, so that `apply`
 * keeps the role. Without `--trust` an existing gateway keeps its setting; a new one requires the
 * signed assertion of the login proxy.
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
import { defined } from "core/defined.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { editHostRoles, isHostText, parseHostRoles } from "core/ledger/host_roles.ts";
import { isGatewayHost, parseMarkers } from "core/ledger/markers.ts";
import type { HostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";
import type { Invocation } from "core/verbs/invocation.ts";

/** Options of `fleetctl webview-gateway install`. */
export interface Options {
  readonly trust: "assertion" | "header" | undefined;
  /** Names under which the cockpit answers; undefined keeps the present ones. */
  readonly hosts: readonly string[] | undefined;
  readonly isDryRun: boolean;
}

/** Parses the options. The verb table has checked the choice. */
export function parseOptions({ options, switches }: Invocation): Result<Options> {
  const trust = options.trust === "header" || options.trust === "assertion"
    ? options.trust
    : undefined;
  const hosts = options.hosts?.split(",").map((name) => name.trim()).filter((name) => name !== "");
  const bad = hosts?.find((name) => !isHostText(name));
  if (bad !== undefined) return err(badHost(bad));
  return ok({ trust, hosts, isDryRun: switches.has("dry-run") });
}

function badHost(name: string): Refusal {
  return refusal(
    "hosts-invalid",
    `Cannot install the webview gateway: host ${
      JSON.stringify(name)
    } must be a name or an address ` +
      "without a port",
    { kind: "usage", hints: ["fleetctl webview-gateway install --help"] },
  );
}

/** Writes the role, then reconciles. */
export async function run(context: VerbContext, options: Options): Promise<Result<VerbReport>> {
  const { ports, paths } = context;
  return await underVerbLock(context, async () => {
    const markers = parseMarkers(await ports.files.readText(paths.hostFile), paths.hostFile);
    if (!markers.ok) return markers;
    const marker = markers.value.webviewGateway?.host;
    if (marker !== undefined && !isGatewayHost(marker, ports.hostname)) {
      return err(gatewayElsewhere(marker, ports.hostname));
    }
    const before = await ports.files.readText(paths.rolesFile);
    const current = parseHostRoles(before, paths.rolesFile);
    if (!current.ok) return current;
    const trust = options.trust ?? current.value.gateway?.trust ?? "assertion";
    const edited = editHostRoles(before, {
      gateway: { trust, ...defined({ hosts: options.hosts }) },
    }, paths.rolesFile);
    if (!edited.ok) return edited;
    if (!options.isDryRun) {
      const state = await ensureState(
        ports,
        hostInputs(context),
        authorOf(context, "webview-gateway install"),
      );
      if (!state.ok) return state;
      // Roles file first: the next `apply` then finishes an interrupted reconcile.
      if (edited.value !== before) {
        await ports.files.write(paths.rolesFile, edited.value, { mode: 0o644 });
      }
    }
    const roles = parseHostRoles(edited.value, paths.rolesFile);
    if (!roles.ok) return roles;
    const gathered = await readFacts(context, { roles: roles.value });
    if (!gathered.ok) return gathered;
    const report = await reconcileFacts(context, gathered.value, {
      dryRun: options.isDryRun,
      restartAgents: false,
    });
    if (!report.ok) return report;
    const shown = planReport(report.value, gathered.value, {
      json: { trust, state: options.isDryRun ? "planned" : "installed" },
      last: [
        `the webview gateway ${options.isDryRun ? "would be" : "is"} installed on host ` +
        `"${ports.hostname}" and trusts ${TRUST_WORDS[trust]}`,
        "see it with: fleetctl webview-gateway status",
      ],
    });
    return ok(
      trust === "header"
        ? { ...shown, warnings: [...shown.warnings ?? [], headerIsUnsigned()] }
        : shown,
    );
  });
}

const TRUST_WORDS = {
  assertion: "the login proxy's signed assertion",
  header: "the header X-User-Email alone",
} as const;

/** The sentence about `--trust header`, used here and in `webview-gateway status`. */
export function headerIsUnsigned(): Refusal {
  return refusal(
    "trust-is-header",
    "The cockpit accepts the header X-User-Email from any local process: safe only if your own " +
      "proxy signs users in and nothing else can reach the cockpit",
    { hints: ["fleetctl webview-gateway install --trust assertion"] },
  );
}

function gatewayElsewhere(marker: HostName, hostname: HostName): Refusal {
  return refusal(
    "gateway-elsewhere",
    `Cannot install the webview gateway on host "${hostname}": the marker webview_gateway names ` +
      `"${marker}", must name this host`,
    { hints: [`fleetctl host set webview_gateway ${hostname}`] },
  );
}
