/**
 * Uploads a file to the URL that came from the platform with the owner's consent: to an allowed
 * host, without the gateway's token, without redirects. Uploading the same bytes twice is
 * harmless, so an unknown result is retried.
 *
 * Source: Microsoft Graph "Upload large files with an upload session": `PUT` with `Content-Range`;
 * status 200 or 201 when complete, 404 when the session has ended.
 *
 * @module
 */

import { backoffMs } from "core/concurrency/backoff.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";
import type { Clock } from "core/ports/clock.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { UploadTarget } from "teamchat/files/file_consent.ts";
import { checkFileUrl } from "core/net/file_url.ts";
import { withinTime } from "core/concurrency/time_limit.ts";
import { retryAfterMs } from "teamchat/reply/retry_after.ts";

/** Dependencies of uploads. */
export interface UploadDeps {
  readonly http: HttpClient;
  readonly origins: ReadonlySet<string>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Result of the upload; `why` is a text for the agent. */
export type Uploaded =
  | { readonly ok: true }
  | { readonly ok: false; readonly why: string }
  | "stopping";

const TRIES_MAX = 5;

/** Uploads the bytes; never rejects. */
export async function uploadFile(
  target: UploadTarget,
  bytes: Uint8Array<ArrayBuffer>,
  { http, origins, clock, signal }: UploadDeps,
): Promise<Uploaded> {
  const [to, shown] = [target.uploadUrl, target.contentUrl].map((url) =>
    checkFileUrl(url, origins)
  );
  if (to?.ok !== true || shown?.ok !== true) {
    return { ok: false, why: "the upload URL is on a host that is not in TEAMS_FILE_HOSTS" };
  }
  for (let tries = 1;; tries++) {
    if (signal.aborted) return "stopping";
    const answer = await put({ http, clock }, to.url, bytes);
    if (answer.status === 200 || answer.status === 201) return { ok: true };
    const isOpen = answer.status === undefined || answer.status === 429 || answer.status >= 500;
    if (!isOpen || tries >= TRIES_MAX) return { ok: false, why: refusalOf(answer.status) };
    const waitMs = answer.status === 429
      ? retryAfterMs(answer.retryAfter, clock.now())
      : backoffMs(TEAMCHAT_LIMITS.repeat, tries);
    await clock.sleep(waitMs, signal);
  }
}

async function put(
  { http, clock }: Pick<UploadDeps, "http" | "clock">,
  url: URL,
  bytes: Uint8Array<ArrayBuffer>,
): Promise<{ readonly status: number | undefined; readonly retryAfter: string | null }> {
  try {
    return await withinTime(clock, FILE_LIMITS.fileSeconds * 1000, async (signal) => {
      const response = await http.fetch(url, {
        method: "PUT",
        headers: {
          "content-type": "application/octet-stream",
          "content-range": `bytes 0-${bytes.length - 1}/${bytes.length}`,
        },
        body: bytes,
        redirect: "manual",
        signal,
      });
      await response.body?.cancel();
      return { status: response.status, retryAfter: response.headers.get("retry-after") };
    });
  } catch {
    // The error may quote the address, which grants access.
    return { status: undefined, retryAfter: null };
  }
}

function refusalOf(status: number | undefined): string {
  if (status === undefined) return "the file host did not answer in time";
  if (status >= 300 && status < 400) return "the upload URL redirects to another address";
  return status === 404 || status === 410
    ? "the upload URL has expired"
    : `the file host answered ${status}`;
}
