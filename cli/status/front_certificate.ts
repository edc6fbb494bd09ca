/**
 * Whether the certificate of the HTTPS front has expired or soon will. The front is the operator's
 * own server, on this host or where its name resolves to. An unreachable front is not reported
 * here; `fleetctl webview-login doctor` checks it.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import type { Gathered } from "cli/facts.ts";
import { portHolder } from "cli/status/port_holder.ts";
import { type Refusal, refusal } from "core/errors.ts";
import { printGatewayMarker } from "core/ledger/markers.ts";
import { HOUR_MS } from "core/text/duration.ts";
import { quoteShell } from "core/text/quote.ts";
import type { ServedCertificate } from "cli/verb_ports.ts";

/** The address of a front. */
interface Front {
  readonly host: string;
  readonly port: number;
}

/** The presented certificate, and whether the front is on this host. */
interface Presented {
  readonly certificate: ServedCertificate;
  readonly isHere: boolean;
}

const ANSWER_MS_MAX = 3_000;
const HTTPS_PORT = 443;
const LOOPBACK = "127.0.0.1";
/**
 * Automatic renewal happens with a third of the lifetime left. Below this share it has probably
 * failed.
 */
const PART_LEFT_MIN = 0.1;

/** Checks each front of this host. */
export async function frontProblems(
  context: VerbContext,
  gathered: Gathered,
): Promise<readonly Refusal[]> {
  const found = await Promise.all(
    frontsOf(gathered).map(async (front) => {
      const presented = await present(context, front);
      return presented === undefined ? [] : await problemsOf(context, front, presented);
    }),
  );
  return found.flat();
}

/** Returns the public address of the login proxy, and the gateway if it is behind TLS. */
function frontsOf({ roles, markers }: Gathered): readonly Front[] {
  const marker = markers.webviewGateway;
  const urls = [
    roles.login?.settings?.WEBVIEW_URL,
    marker?.isTls === true ? printGatewayMarker(marker).replace(/^wss:/, "https:") : undefined,
  ];
  const fronts = urls.flatMap((text) => {
    const url = URL.parse(text ?? "");
    if (url?.protocol !== "https:") return [];
    return [{ host: url.hostname, port: url.port === "" ? HTTPS_PORT : Number(url.port) }];
  });
  return [...new Map(fronts.map((front) => [`${front.host}:${front.port}`, front])).values()];
}

/**
 * Reads the certificate. A front on this host is queried over loopback, because its public name may
 * not be reachable from here.
 */
async function present(
  { ports }: VerbContext,
  { host, port }: Front,
): Promise<Presented | undefined> {
  for (const address of [LOOPBACK, host]) {
    try {
      const certificate = await ports.readCertificate?.(
        { address, port, name: host },
        ANSWER_MS_MAX,
      );
      const coversHost = certificate?.names.some((name) => isNameOf(name, host)) ?? false;
      if (certificate !== undefined && (coversHost || address !== LOOPBACK)) {
        return { certificate, isHere: address === LOOPBACK };
      }
    } catch {
      // An unreachable front is reported by `webview-login doctor`.
    }
  }
  return undefined;
}

/** Returns whether a name of a certificate covers a host. */
export function isNameOf(name: string, host: string): boolean {
  const covered = name.toLowerCase();
  const wanted = host.toLowerCase();
  if (!covered.startsWith("*.")) return covered === wanted;
  return wanted.slice(wanted.indexOf(".") + 1) === covered.slice(2);
}

async function problemsOf(
  context: VerbContext,
  front: Front,
  { certificate, isHere }: Presented,
): Promise<readonly Refusal[]> {
  const { fromMs, toMs } = certificate;
  const leftMs = toMs - context.ports.clock.now();
  if (leftMs >= (toMs - fromMs) * PART_LEFT_MIN && leftMs > 0) return [];
  const at = `https://${front.host}${front.port === HTTPS_PORT ? "" : `:${front.port}`}`;
  const ends = new Date(toMs).toISOString().slice(0, 16).replace("T", " ");
  const more = await renewal(context, front, isHere);
  return leftMs <= 0
    ? [refusal(
      "certificate-expired",
      `The certificate of ${at} expired at ${ends} UTC, must be renewed: browsers refuse it`,
      more,
    )]
    : [refusal(
      "certificate-ends-soon",
      `The certificate of ${at} expires at ${ends} UTC, in ${Math.ceil(leftMs / HOUR_MS)} hours, ` +
        "must be renewed",
      more,
    )];
}

/** Returns the renewal hint. Often the file is new and the server still uses the old one. */
async function renewal({ ports, paths }: VerbContext, { host, port }: Front, isHere: boolean) {
  const command = `curl -sSvo /dev/null https://${host}:${port}/ 2>&1 | grep 'expire date'`;
  if (!isHere) {
    return {
      details: ["The server in front is not on this host: renew it there."],
      hints: [command],
    };
  }
  const holder = await portHolder(ports, port);
  const unit = holder?.process?.unit;
  const name = holder?.process?.name ?? "a program";
  const isCertbots = await ports.files.stat(paths.at("/etc/letsencrypt/renewal")) !== undefined;
  return {
    details: [
      `It is served by ${name}${unit === undefined ? "" : ` of ${unit}`} on this host, ` +
      "which may still use an older file than the one on disk",
    ],
    hints: [
      ...(isCertbots ? ["certbot renew"] : []),
      ...(unit === undefined ? [] : [`systemctl reload-or-restart ${quoteShell(unit)}`]),
      ...(unit === undefined && !isCertbots ? [command] : []),
    ],
  };
}
