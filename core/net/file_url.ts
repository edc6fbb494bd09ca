/**
 * From where files are fetched and to where they are brought. Pure. The platform keeps files in the
 * tenant's own storage, whose names anybody can have look-alikes of: so hosts are named one by one
 * in the settings and compared as whole origins, https only, and no token ever goes there.
 *
 * @module
 */

import { isLoopbackName } from "core/net/host_name.ts";

/** Longest address that is looked at: a pre-authenticated one carries its rights in its query. */
const LENGTH_MAX = 8_192;

/** Why an address is refused; for the log, which never gets the address. */
export type FileUrlFault = "file-url-unreadable" | "file-host-foreign";

/** An address, or why it is refused. */
export type FileUrl =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly why: FileUrlFault };

/**
 * Returns the origin that a setting names: a host name, or `http://<loopback>:port`
 * for trying things.
 */
export function fileOrigin(host: string): string | undefined {
  if (/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)+$/i.test(host)) {
    return /^[\d.]+$/.test(host) ? undefined : `https://${host.toLowerCase()}`;
  }
  if (!/^http:\/\/[a-z0-9.[\]:]+$/i.test(host) || !URL.canParse(host)) return undefined;
  const url = new URL(host);
  return isLoopbackName(url.hostname) ? url.origin : undefined;
}

/** Judges an address of a file. */
export function checkFileUrl(text: string, origins: ReadonlySet<string>): FileUrl {
  const unreadable: FileUrl = { ok: false, why: "file-url-unreadable" };
  // What the parser would mend or fold is refused as it is.
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
 * Judges the address of an image in a message, which is behind the connector and needs the token:
 * on the very origin of the conversation, below its attachments, and nowhere else.
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
