/**
 * Forwards a request to the cockpit and streams the answer back without buffering. A client that
 * disconnects, or a session that ends, aborts the request. The identity is decided before; here it
 * only becomes headers.
 *
 * @module
 */

import { AbortHandle } from "login/abort_handle.ts";
import { errorText } from "core/errors.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import type { UpgradeTunnel } from "core/ports/sockets.ts";
import type { ProxyAnswer, ProxyRequest } from "login/http1/proxy_port.ts";
import { deny, REFUSALS } from "login/deny.ts";
import type { LoginDeps, RequestContext } from "login/deps.ts";
import { boundBody } from "login/proxy/body.ts";
import { type ForwardContext, requestHeaders, responseHeaders } from "login/proxy/headers.ts";
import { type Lease, SESSION_ENDED } from "login/session/leases.ts";

/** The authenticated user of a request; none on an exempt path. */
export interface ForwardFor {
  readonly principal: string | undefined;
  /** Aborted when the session ends; undefined without a session. */
  readonly lease: Lease | undefined;
}

/** Forwards a request. */
export async function forward(
  context: RequestContext,
  user: ForwardFor,
  deps: LoginDeps,
): Promise<Response | ProxyAnswer> {
  const { request, url } = context;
  const release = () => user.lease?.release();
  const bodyBytes = lengthOf(request);
  if (bodyBytes !== undefined && bodyBytes > LOGIN_LIMITS.requestBodyBytesMax) {
    release();
    return tooLarge(context);
  }
  const abortHandle = user.lease?.abortHandle ?? new AbortHandle();
  request.onDisconnect(() => abortHandle.abort("gone"));
  const body = request.body === null
    ? null
    : boundBody(request.body, LOGIN_LIMITS.requestBodyBytesMax, (why) => abortHandle.abort(why));
  const { clock, deadlines } = deps;
  const cancelDeadline = deadlines.add(
    clock.monotonic() + LOGIN_LIMITS.answerSeconds * 1000,
    () => abortHandle.abort("silent"),
  );
  try {
    const answer = await deps.upstream.send({
      method: request.method,
      target: url.pathname + url.search,
      headers: requestHeaders(request.headers, await forwardContextOf(context, user, deps)),
      body,
      bodyBytes,
      abortHandle,
      onEnd: release,
    });
    const headers = responseHeaders(answer.headers);
    return { status: answer.status, headers, body: answer.body };
  } catch (thrown) {
    release();
    return failed(context, { thrown, abortHandle }, deps);
  } finally {
    cancelDeadline();
  }
}

/** The declared length of the body, which the listener enforces. */
function lengthOf({ headers }: ProxyRequest): number | undefined {
  const text = headers.get("content-length");
  return text === null || !/^\d{1,15}$/.test(text) ? undefined : Number(text);
}

/** Returns the tunnel for an upgrade. */
export async function tunnelFor(
  context: RequestContext,
  user: ForwardFor & { readonly principal: string },
  deps: LoginDeps,
): Promise<UpgradeTunnel> {
  const { url, request, requestId } = context;
  const ended = new AbortController();
  user.lease?.abortHandle.onAbort(() => ended.abort());
  return {
    to: deps.cockpit,
    target: url.pathname + url.search,
    headers: new Headers([
      ...requestHeaders(request.headers, await forwardContextOf(context, user, deps)),
    ]),
    signal: ended.signal,
    timeoutMs: LOGIN_LIMITS.answerSeconds * 1000,
    unreachable: (why) => {
      deps.log.error("cockpit not reachable", { request_id: requestId, why });
      return deny(REFUSALS.unreachable(), { requestId, isPage: false });
    },
    onClose: () => user.lease?.release(),
  };
}

async function forwardContextOf(
  { request, url, caller, requestId }: RequestContext,
  { principal }: ForwardFor,
  { assertions }: LoginDeps,
): Promise<ForwardContext> {
  if (principal === undefined) return { caller, requestId, identity: undefined };
  const assertion = await assertions?.({
    subject: principal,
    method: request.method,
    path: url.pathname,
  });
  return { caller, requestId, identity: { principal, assertion } };
}

function failed(
  context: RequestContext,
  why: { readonly thrown: unknown; readonly abortHandle: AbortHandle },
  deps: LoginDeps,
): Response {
  const { requestId, isNavigation } = context;
  const how = { requestId, isPage: isNavigation };
  switch (why.abortHandle.reason) {
    case "too-large":
      return tooLarge(context);
    case "malformed":
      return deny(REFUSALS.bodyMalformed(), how);
    case SESSION_ENDED:
      return deny(REFUSALS.login(), how);
    case "gone":
    case "broken":
      // The client has disconnected and reads no answer.
      return new Response(null, { status: 499 });
    default: {
      const error = errorText(why.thrown);
      deps.log.error("cockpit not reachable", { request_id: requestId, why: error });
      const isSilent = why.abortHandle.reason === "silent";
      return deny(isSilent ? REFUSALS.silent() : REFUSALS.unreachable(), how);
    }
  }
}

function tooLarge({ requestId, isNavigation }: RequestContext): Response {
  const fault = REFUSALS.body(LOGIN_LIMITS.requestBodyBytesMax);
  return deny(fault, { requestId, isPage: isNavigation });
}
