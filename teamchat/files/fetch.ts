/**
 * Downloads one file of an owner without redirects: from a host of the settings, or an inline
 * image from the connector. Size and time are limited, and the content is checked. Only the
 * connector gets the gateway's token. An address grants access to the file, so none appears in a
 * log or a fault.
 *
 * @module
 */

import { FILE_LIMITS } from "core/limits/file.ts";
import { readBytes } from "core/net/bounded_body.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import { judgeContent } from "teamchat/files/file_type.ts";
import type { FileRef } from "core/teamchat/file_refs.ts";
import { checkFileUrl, checkInlineUrl } from "core/net/file_url.ts";
import { checkServiceUrl, type ServiceHosts } from "core/teamchat/service_url.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import type { AppTokens } from "teamchat/reply/app_token.ts";

/** Dependencies of downloads. */
export interface FetchDeps {
  readonly http: HttpClient;
  readonly clock: Pick<Clock, "after">;
  /** Allowed origins of files, from the settings. */
  readonly origins: ReadonlySet<string>;
  readonly hosts: ServiceHosts;
  /** Undefined in local mode. */
  readonly tokens: AppTokens | undefined;
}

/** A file, or why there is none, as a text for the agent. */
export type Fetched =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string }
  | { readonly ok: false; readonly why: string };

/** Downloads a file; never rejects. `base` is the address of its conversation. */
export async function fetchFile(
  file: FileRef,
  base: string,
  deps: FetchDeps,
): Promise<Fetched> {
  const checked = file.kind === "download"
    ? checkFileUrl(file.url, deps.origins)
    : checkInlineUrl(file.url, base);
  if (!checked.ok) {
    return fault(
      checked.why === "file-host-foreign"
        ? "it is stored on a host that is not in TEAMS_FILE_HOSTS"
        : "its URL is invalid",
    );
  }
  const headers = file.kind === "download" ? {} : await tokenFor(base, deps);
  if (headers === undefined) return fault("the gateway got no token for it");
  try {
    return await withinTime(
      deps.clock,
      FILE_LIMITS.fileSeconds * 1000,
      (signal) => request(file, checked.url, { headers, signal }, deps.http),
    );
  } catch {
    // The error may quote the address.
    return fault("it was not completely received in time");
  }
}

/** The connector's own images need the token; no other host gets it. */
async function tokenFor(
  base: string,
  { hosts, tokens }: FetchDeps,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (!checkServiceUrl(base, hosts).ok) return undefined;
  if (tokens === undefined) return {};
  const token = await tokens.get();
  return token.ok ? { authorization: `Bearer ${token.token}` } : undefined;
}

async function request(
  file: FileRef,
  url: URL,
  { headers, signal }: {
    readonly headers: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  },
  http: HttpClient,
): Promise<Fetched> {
  const response = await http.fetch(url, {
    headers: { ...headers, accept: "*/*" },
    redirect: "manual",
    signal,
  });
  const { status } = response;
  const stated = Number(response.headers.get("content-length") ?? 0);
  if (status !== 200 || stated > FILE_LIMITS.fileBytesMax) {
    await response.body?.cancel();
    return fault(status === 200 ? TOO_LARGE : refusalOf(status));
  }
  const read = await readBytes(response.body, FILE_LIMITS.fileBytesMax);
  if (!read.ok) return fault(TOO_LARGE);
  const bytes = read.value;
  if (bytes.length === 0) return fault("it is empty");
  const judged = judgeContent(file, response.headers.get("content-type"), bytes);
  return judged.ok ? { ok: true, bytes, type: judged.type } : judged;
}

const TOO_LARGE = `it is larger than ${FILE_LIMITS.fileBytesMax / 1024 / 1024} MiB`;

function refusalOf(status: number): string {
  if (status >= 300 && status < 400) return "its URL redirects to another address";
  return [401, 403, 404, 410].includes(status)
    ? "its URL is no longer valid"
    : `the file host answered ${status}`;
}

function fault(why: string): Fetched {
  return { ok: false, why };
}
