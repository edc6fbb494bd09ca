/**
 * The URL at which an agent reaches its gateway. A marker is a hostname; `wss://<hostname>[:port]`
 * names a gateway behind TLS. An IP address is refused, because the gateway host is recognized by
 * its name. No I/O.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import type { GatewayMarker } from "core/ledger/markers.ts";
import type { HostName } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** Port of the dial-in listener. */
export const DIAL_PORT = 8735;

/** Listen addresses that mean every address, loopback included. */
const WILDCARDS: ReadonlySet<string> = new Set(["0.0.0.0", "[::]", ""]);

/**
 * Returns the register URL of a host. If this host is the gateway or there is no marker, it is the
 * local listener (loopback if that listens on every address). Otherwise it is the marker's host.
 * `listen` is the dial-in listener of this installation, `host:port`.
 */
export function registerUrl(of: {
  readonly marker: GatewayMarker | undefined;
  readonly hostname: HostName;
  readonly listen?: string;
}): string {
  const listen = /^(.*):(\d+)$/.exec(of.listen ?? "");
  const port = listen === null ? DIAL_PORT : Number(listen[2]);
  if (of.marker === undefined || of.marker.host === of.hostname) {
    const host = listen?.[1] ?? "";
    return `ws://${WILDCARDS.has(host) ? "127.0.0.1" : host}:${port}`;
  }
  if (!of.marker.isTls) return `ws://${of.marker.host}:${of.marker.port ?? port}`;
  return `wss://${of.marker.host}${of.marker.port === undefined ? "" : `:${of.marker.port}`}`;
}

/**
 * Parses `CHANNEL_WEBVIEW_GATEWAY_URL`: only `ws:` and `wss:`, without credentials, query or
 * fragment.
 */
export function parseRegisterUrl(text: string): Result<URL> {
  const bad = (why: string) =>
    err(
      refusal("register-url-invalid", `Cannot dial the gateway: the register URL ${why}`, {
        kind: "settings",
      }),
    );
  if (!URL.canParse(text)) return bad("is not a URL, must be ws://<host>:<port>");
  const url = new URL(text);
  if (url.protocol !== "ws:" && url.protocol !== "wss:") {
    return bad(`has the scheme "${url.protocol}", must be ws: or wss:`);
  }
  if (url.username !== "" || url.password !== "") return bad("contains credentials, must not");
  if (url.search !== "" || url.hash !== "") return bad("has a query, must have none");
  return ok(url);
}
