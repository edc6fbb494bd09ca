/**
 * Checks the URLs that files are downloaded from and uploaded to. Pure. The chat platform stores
 * files in the tenant's own storage, and anyone can register a look-alike of its name. So the
 * settings list each host. URLs are compared by whole origin, only https is allowed (http for
 * loopback), and no token is sent there.
 *
 * @module
 */

import { isLoopbackName } from "core/net/host_name.ts";

/** Longest accepted URL. A pre-authenticated URL carries its permissions in its query. */
const LENGTH_MAX = 8_192;

/** Why a URL is refused. For the log, which never contains the URL itself. */
export type FileUrlFault = "file-url-unreadable" | "file-host-foreign";

/** A URL, or the reason for its refusal. */
export type FileUrl =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly why: FileUrlFault };

/**
 * Returns the origin that a setting names, or undefined when the setting is invalid. A setting is a
 * host name (https), or `http://<loopback>:port` for trials.
 */
export function fileOrigin(host: string): string | undefined {
  if (/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i.test(host)) {
    return /^[\d.]+$/.test(host) ? undefined : `https://${host.toLowerCase()}`;
  }
  if (!/^http:\/\/[a-z0-9.[\]:]+$/i.test(host) || !URL.canParse(host)) return undefined;
  const url = new URL(host);
  return isLoopbackName(url.hostname) ? url.origin : undefined;
}

/** Checks the URL of a file against the allowed origins. */
export function checkFileUrl(text: string, origins: ReadonlySet<string>): FileUrl {
  const unreadable: FileUrl = { ok: false, why: "file-url-unreadable" };
  // Refuse every text that the URL parser would repair or normalize.
  if (text.length > LENGTH_MAX || !/^https?:\/\/[\x21-\x5b\x5d-\x7e]+$/.test(text)) {
    return unreadable;
  }
  if (!URL.canParse(text)) return unreadable;
  const url = new URL(text);
  const authority = /^https?:\/\/([^/?#]*)/.exec(text)?.[1]?.toLowerCase() ?? "";
  const port = url.port || (url.protocol === "http:" ? "80" : "443");
  if (authority !== url.host && authority !== `${url.hostname}:${port}`) return unreadable;
  return origins.has(url.origin) ? { ok: true, url } : { ok: false, why: "file-host-foreign" };
}

/**
 * Checks the URL of an inline image in a message. The connector serves it and requires the token.
 * So it must have the origin of the conversation and a path below its attachments.
 */
export function checkInlineUrl(text: string, base: string): FileUrl {
  const checked = checkFileUrl(text, new Set([new URL(base).origin]));
  if (!checked.ok) return checked;
  const { pathname, search, hash } = checked.url;
  const below = `${new URL(base).pathname.replace(/\/$/, "")}/v3/attachments/`;
  const isBelow = pathname.startsWith(below) && search === "" && hash === "" &&
    !/%2e|%2f|%5c/i.test(pathname);
  return isBelow ? checked : { ok: false, why: "file-host-foreign" };
}
