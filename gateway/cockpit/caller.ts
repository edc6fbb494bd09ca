/**
 * Identifies the sender of a request. Finds the viewer by header and assertion, whether it is a
 * program of this host, and whether a page of another site sent it. Decisions are in
 * `core/access/`.
 *
 * @module
 */

import {
  ASSERTION_HEADER,
  type AssertionKeys,
  verifyAssertion,
  verifyHostAssertion,
} from "core/access/assertion.ts";
import { decideViewer, type Viewer, type ViewerClaim } from "core/access/viewer.ts";
import { isLoopbackName } from "core/net/host_name.ts";
import type { CockpitDeps } from "gateway/cockpit/deps.ts";

/** Header with the identity of the viewer. */
const IDENTITY_HEADER = "X-User-Email";

/**
 * Header with the viewer that a page was rendered for, percent-encoded. It proves nothing. It lets
 * a page notice that another person has signed in since.
 */
const PAGE_VIEWER_HEADER = "Fleetctl-Page-Viewer";

/** Headers that reveal a proxy between the caller and the cockpit. */
const PROXY_HEADERS = [
  IDENTITY_HEADER,
  ASSERTION_HEADER,
  "Forwarded",
  "Via",
  "X-Forwarded-For",
  "X-Forwarded-Host",
  "X-Forwarded-Proto",
  "X-Real-IP",
] as const;

/**
 * Determines the viewer of a request. An unknown identity may have just been added, so the roster
 * is read again before it is denied.
 */
export async function viewerOf(
  request: Request,
  deps: Pick<CockpitDeps, "roster" | "trust" | "assertionKeys" | "clock">,
): Promise<Viewer> {
  const claim: ViewerClaim = {
    headerEmail: request.headers.get(IDENTITY_HEADER),
    assertion: await readAssertion(request, deps.assertionKeys, deps.clock.now()),
  };
  const { roster, trust } = deps;
  const viewer = decideViewer(claim, trust, roster.current());
  if (viewer.kind !== "denied" || viewer.reason !== "identity-unknown") return viewer;
  await roster.refresh();
  return decideViewer(claim, trust, roster.current());
}

async function readAssertion(
  request: Request,
  keys: AssertionKeys | undefined,
  nowMs: number,
): Promise<ViewerClaim["assertion"]> {
  const token = request.headers.get(ASSERTION_HEADER);
  if (token === null || token === "") return { kind: "absent" };
  if (keys === undefined) return { kind: "invalid" };
  const { pathname } = new URL(request.url);
  const signed = { method: request.method, path: pathname, nowMs };
  const subject = await verifyAssertion(keys, token, signed);
  if (subject.ok) return { kind: "verified", subject: subject.value };
  return await verifyHostAssertion(keys, token, signed) ? { kind: "host" } : { kind: "invalid" };
}

/** Reports whether the page that sent the request was rendered for another viewer. */
export function isOfOtherViewer(request: Request, viewer: Viewer): boolean {
  const named = request.headers.get(PAGE_VIEWER_HEADER);
  return named !== null && viewer.kind === "owner" && named !== encodeURIComponent(viewer.email);
}

/** Reports whether a request comes directly from a program of this host. */
export function isLocalProgram(request: Request, peer: string): boolean {
  return isLoopbackName(peerHost(peer)) && !isFromPage(request) &&
    PROXY_HEADERS.every((name) => !request.headers.has(name));
}

/** Reports whether a browser sent the request for a page of another site. */
export function isCrossSite(request: Request): boolean {
  const site = request.headers.get("sec-fetch-site");
  return site === "cross-site" || site === "same-site";
}

function isFromPage(request: Request): boolean {
  return [...request.headers.keys()].some((name) => name.toLowerCase().startsWith("sec-fetch-"));
}

/** Removes the port from `host:port` or `[v6]:port`; returns a bare address unchanged. */
function peerHost(peer: string): string {
  const bracketed = /^\[([^\]]+)\](?::\d+)?$/.exec(peer);
  if (bracketed !== null) return bracketed[1] ?? "";
  return /^[^:]+:\d+$/.test(peer) ? peer.slice(0, peer.lastIndexOf(":")) : peer;
}
