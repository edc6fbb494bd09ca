/**
 * Passes a request on to the cockpit and its answer back, streaming both ways: nothing is gathered,
 * a client that leaves frees the cockpit, and the end of a session cuts its answers. The identity is
 * decided before; here it only becomes headers.
 *
 * @module
 */

import { Cut } from "core/cut.ts";
import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits.ts";
import type { UpgradeTunnel } from "core/ports.ts";
import type { ProxyAnswer, ProxyRequest } from "core/proxy_port.ts";
import { deny, REFUSALS } from "login/deny.ts";
import type { Asked, LoginParts } from "login/parts.ts";
import { boundBody } from "login/proxy/body.ts";
import { requestHeaders, responseHeaders, type Vouched } from "login/proxy/headers.ts";
import { type Lease, SESSION_ENDED } from "login/session/leases.ts";

/** For whom a request is passed on: somebody, or nobody on an exempt path. */
export interface ForwardFor {
  readonly principal: string | undefined;
  /** Cut when the session ends; undefined where there is none. */
  readonly lease: Lease | undefined;
}

/** Passes a request on. */
export async function forward(
  asked: Asked,
  to: ForwardFor,
  parts: LoginParts,
): Promise<Response | ProxyAnswer> {
  const { request, url } = asked;
  const release = () => to.lease?.release();
  const bodyBytes = lengthOf(request);
  if (bodyBytes !== undefined && bodyBytes > LOGIN_LIMITS.requestBodyBytesMax) {
    release();
    return tooLarge(asked);
  }
  const cut = to.lease?.cut ?? new Cut();
  request.onGone(() => cut.cut("gone"));
  const body = request.body === null
    ? null
    : boundBody(request.body, LOGIN_LIMITS.requestBodyBytesMax, (why) => cut.cut(why));
  const { clock, deadlines } = parts;
  const heard = deadlines.add(
    clock.monotonic() + LOGIN_LIMITS.answerSeconds * 1000,
    () => cut.cut("silent"),
  );
  try {
    const answer = await parts.upstream.send({
      method: request.method,
      target: url.pathname + url.search,
      headers: requestHeaders(request.headers, await vouchedFor(asked, to, parts)),
      ...{ body, bodyBytes, cut, onEnd: release },
    });
    const headers = responseHeaders(answer.headers);
    return { status: answer.status, headers, body: answer.body };
  } catch (thrown) {
    release();
    return failed(asked, { thrown, cut }, parts);
  } finally {
    heard();
  }
}

/** What a sender says of the length of its body; the listener holds it to that. */
function lengthOf({ headers }: ProxyRequest): number | undefined {
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
  to.lease?.cut.on(() => ended.abort());
  return {
    to: parts.cockpit,
    target: url.pathname + url.search,
    headers: new Headers([
      ...requestHeaders(request.headers, await vouchedFor(asked, to, parts)),
    ]),
    signal: ended.signal,
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
  why: { readonly thrown: unknown; readonly cut: Cut },
  parts: LoginParts,
): Response {
  const { requestId, isNavigation } = asked;
  const how = { requestId, isPage: isNavigation };
  switch (why.cut.reason) {
    case "too-large":
      return tooLarge(asked);
    case "malformed":
      return deny(REFUSALS.bodyMalformed(), how);
    case SESSION_ENDED:
      return deny(REFUSALS.login(), how);
    case "gone":
    case "broken":
      // Nobody is there to read it.
      return new Response(null, { status: 499 });
    default: {
      const error = errorText(why.thrown);
      parts.log.error("cockpit not reachable", { request_id: requestId, why: error });
      const isSilent = why.cut.reason === "silent";
      return deny(isSilent ? REFUSALS.silent() : REFUSALS.unreachable(), how);
    }
  }
}

function tooLarge({ requestId, isNavigation }: Asked): Response {
  const fault = REFUSALS.body(LOGIN_LIMITS.requestBodyBytesMax);
  return deny(fault, { requestId, isPage: isNavigation });
}
