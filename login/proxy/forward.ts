/**
 * Passes a request on to the cockpit and its answer back, streaming both ways: nothing is gathered,
 * a client that leaves frees the cockpit, and the end of a session cuts its answers. The identity is
 * decided before; here it only becomes headers.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import type { UpgradeTunnel } from "core/ports.ts";
import { deny, REFUSALS } from "login/deny.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { boundBody, type BoundedBody } from "login/proxy/body.ts";
import { requestHeaders, responseHeaders, type Vouched } from "login/proxy/headers.ts";
import type { Lease } from "login/session/leases.ts";

/** For whom a request is passed on: somebody, or nobody on an exempt path. */
export interface ForwardFor {
  readonly principal: string | undefined;
  /** Cut when the session ends; undefined where there is none. */
  readonly lease: Lease | undefined;
}

/** Answers of these kinds have no body (RFC 9110); `Response` takes none for them. */
const BODYLESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Passes a request on. */
export async function forward(
  asked: Asked,
  to: ForwardFor,
  parts: LoginParts,
): Promise<Response> {
  const { request, url } = asked;
  const release = () => to.lease?.release();
  const bodyBytes = lengthOf(request);
  if (bodyBytes !== undefined && bodyBytes > LOGIN_LIMITS.requestBodyBytesMax) {
    release();
    return tooLarge(asked);
  }
  const broken = new AbortController();
  const body = request.body === null
    ? undefined
    : boundBody(request.body, LOGIN_LIMITS.requestBodyBytesMax, () => broken.abort());
  const silence = new AbortController();
  const heard = parts.clock.after(LOGIN_LIMITS.answerSeconds * 1000, () => silence.abort());
  const signals = [request.signal, broken.signal, silence.signal, to.lease?.signal].filter((one) =>
    one !== undefined
  );
  try {
    const answer = await parts.upstream.send({
      method: request.method,
      target: url.pathname + url.search,
      headers: [...requestHeaders(request.headers, await vouchedFor(asked, to, parts))],
      body: body?.stream ?? null,
      bodyBytes,
      signal: AbortSignal.any(signals),
      onEnd: release,
    });
    const headers = responseHeaders(answer.headers);
    const isBodyless = BODYLESS.has(answer.status);
    if (isBodyless && answer.body instanceof ReadableStream) await answer.body.cancel();
    return new Response(isBodyless ? null : answer.body, { status: answer.status, headers });
  } catch (thrown) {
    release();
    return failed(
      asked,
      { thrown, body, lease: to.lease, isSilent: silence.signal.aborted },
      parts,
    );
  } finally {
    heard();
  }
}

/** What a sender says of the length of its body; the listener holds it to that. */
function lengthOf({ headers }: Request): number | undefined {
  const text = headers.get("content-length");
  return text === null || !/^\d{1,15}$/.test(text) ? undefined : Number(text);
}

/** Makes the tunnel of an upgrade. */
export async function tunnelFor(
  asked: Asked,
  to: ForwardFor & { readonly principal: string },
  parts: LoginParts,
): Promise<UpgradeTunnel> {
  const { url, request, requestId } = asked;
  const ended = new AbortController();
  return {
    to: parts.cockpit,
    target: url.pathname + url.search,
    headers: requestHeaders(request.headers, await vouchedFor(asked, to, parts)),
    signal: to.lease?.signal ?? ended.signal,
    timeoutMs: LOGIN_LIMITS.answerSeconds * 1000,
    unreachable: (why) => {
      parts.log.error("cockpit not reachable", { request_id: requestId, why });
      return deny(REFUSALS.unreachable(), { requestId, isPage: false });
    },
    onClose: () => to.lease?.release(),
  };
}

async function vouchedFor(
  { request, url, caller, requestId }: Asked,
  { principal }: ForwardFor,
  { assertions }: LoginParts,
): Promise<Vouched> {
  if (principal === undefined) return { caller, requestId, identity: undefined };
  const assertion = await assertions?.({
    subject: principal,
    method: request.method,
    path: url.pathname,
  });
  return { caller, requestId, identity: { principal, assertion } };
}

function failed(
  asked: Asked,
  why: {
    readonly thrown: unknown;
    readonly body: BoundedBody | undefined;
    readonly lease: Lease | undefined;
    readonly isSilent: boolean;
  },
  parts: LoginParts,
): Response {
  const { requestId, isNavigation } = asked;
  const how = { requestId, isPage: isNavigation };
  if (why.body?.isTooLarge() === true) return tooLarge(asked);
  if (why.lease?.signal.aborted === true) return deny(REFUSALS.login(), how);
  // Nobody is there to read it.
  if (asked.request.signal.aborted) return new Response(null, { status: 499 });
  const error = errorText(why.thrown);
  parts.log.error("cockpit not reachable", { request_id: requestId, why: error });
  return deny(why.isSilent ? REFUSALS.silent() : REFUSALS.unreachable(), how);
}

function tooLarge({ requestId, isNavigation }: Asked): Response {
  const fault = REFUSALS.body(LOGIN_LIMITS.requestBodyBytesMax);
  return deny(fault, { requestId, isPage: isNavigation });
}
