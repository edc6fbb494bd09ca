/**
 * Routes of the page. They are public because they serve only the page: without a login, a person
 * gets a page without an agent, and the gates refuse each of its API calls. Links from other sites
 * may lead here, so the cross-site check does not apply.
 *
 * @module
 */

import * as z from "zod";
import { ASSERTION_HEADER } from "core/access/assertion.ts";
import { type Route, route, type RouteContext } from "gateway/cockpit/route.ts";

const HTML = { status: 200, description: "The page", mediaType: "text/html" };

function page({ deps, viewer, request }: RouteContext) {
  if (viewer.kind !== "owner") return deps.web.page(request, undefined);
  const { agent, email, isAdmin } = viewer;
  // Only the login proxy sends an assertion and serves the logout route.
  const canLogOut = request.headers.has(ASSERTION_HEADER);
  return deps.web.page(request, { agent, email, isAdmin, canLogOut });
}

function file({ deps, request }: RouteContext) {
  return Promise.resolve(deps.web.file(request, new URL(request.url).pathname));
}

/** Routes of the page and its files. */
export const WEB_ROUTES: readonly Route[] = [
  route({
    method: "GET",
    path: "/",
    summary: "The page, at the viewer's own agent",
    gate: "open",
    answers: [HTML],
    handle: (context) => page(context),
  }),
  route({
    method: "GET",
    path: "/agents/:agent",
    summary: "The page, at one agent",
    gate: "open",
    answers: [HTML],
    handle: (context) => page(context),
  }),
  route({
    method: "GET",
    path: "/hosts",
    summary: "The page, at the hosts of the fleet",
    gate: "open",
    answers: [HTML],
    handle: (context) => page(context),
  }),
  route({
    method: "GET",
    path: "/assets/:file",
    summary: "A file of the page whose name changes with what is in it",
    gate: "open",
    answers: [{ status: 200, description: "Script or style", mediaType: "text/javascript" }],
    handle: (context) => file(context),
  }),
  route({
    method: "GET",
    path: "/icon.svg",
    summary: "The sign of the page",
    gate: "open",
    answers: [{ status: 200, description: "SVG", mediaType: "image/svg+xml" }],
    handle: (context) => file(context),
  }),
  route({
    method: "GET",
    path: "/manifest.webmanifest",
    summary: "The page as an installable application",
    gate: "open",
    answers: [{
      status: 200,
      description: "Manifest",
      mediaType: "application/manifest+json",
      schema: z.object({ name: z.string(), start_url: z.string() }),
    }],
    handle: (context) => file(context),
  }),
];
