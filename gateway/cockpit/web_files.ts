/**
 * The page's files, as `gateway/web_build` writes them. They are read once at start and kept in
 * memory with their compressed forms. Responses have the right type, cache lifetime and policy.
 * Why: ADR 0031.
 *
 * The policy lets the page run its own script and connect to its own origin only, so content of a
 * transcript can neither run nor load anything.
 *
 * @module
 */

import * as z from "zod";
import { refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";

/** Policy of every response that a browser may render. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'self'",
  "require-trusted-types-for 'script'",
].join("; ");

const SECURITY_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "x-frame-options": "DENY",
} as const;

const listing = z.object({
  files: z.array(z.object({
    path: z.string().startsWith("/"),
    file: z.string().regex(/^[\w][\w.-]*$/),
    type: z.string(),
    isHashed: z.boolean(),
  })),
});

type Encoding = "br" | "gzip" | "identity";

interface WebFile {
  readonly type: string;
  readonly isHashed: boolean;
  readonly etag: string;
  readonly forms: ReadonlyMap<Encoding, Uint8Array<ArrayBuffer>>;
}

/** What the page knows of its viewer. Each of its API calls is authorized separately. */
export interface PageViewer {
  /** The viewer's own agent. */
  readonly agent: string;
  readonly email: string;
  /** Shows links to pages for admins. */
  readonly isAdmin: boolean;
  /** The login proxy is in front and serves `/auth/logout`. */
  readonly canLogOut: boolean;
}

/** The page and its files. */
export interface WebFiles {
  /** The page for this viewer, or without one when undefined. */
  page(request: Request, viewer: PageViewer | undefined): Promise<Result<Response>>;
  /** The page for an address that does not exist. */
  lost(): Response | undefined;
  /** A file of the page. */
  file(request: Request, path: string): Result<Response>;
}

/** Reads the files below `dir`. If any is missing, each answer reports that. */
export async function openWebFiles(files: Files, dir: string): Promise<WebFiles> {
  const page = await files.readText(`${dir}/page.html`);
  const listed = parseListing(await files.readText(`${dir}/web.json`));
  if (page === undefined || listed === undefined) return missing(dir);
  const known = new Map<string, WebFile>();
  for (const one of listed.files) {
    const forms = new Map<Encoding, Uint8Array<ArrayBuffer>>();
    for (const [encoding, end] of [["br", ".br"], ["gzip", ".gz"], ["identity", ""]] as const) {
      const bytes = await files.readBytes(`${dir}/${one.file}${end}`);
      if (bytes !== undefined) forms.set(encoding, bytes);
    }
    const bytes = forms.get("identity");
    if (bytes === undefined) return missing(dir);
    const { type, isHashed } = one;
    known.set(one.path, { type, isHashed, etag: await tagOf(bytes), forms });
  }
  return {
    page: async (request, viewer) => ok(await pageAnswer(request, page, viewer)),
    lost: () => {
      const headers = { ...SECURITY_HEADERS, "content-type": "text/html; charset=utf-8" };
      return new Response(lostPage(page), { status: 404, headers });
    },
    file: (request, path) => {
      const found = known.get(path);
      return found === undefined ? err(fileUnknown(path)) : ok(fileAnswer(request, found));
    },
  };
}

function parseListing(text: string | undefined): z.infer<typeof listing> | undefined {
  try {
    return listing.parse(JSON.parse(text ?? ""));
  } catch {
    // An unreadable listing means that the page was not built; the answer names the command to
    // run.
    return undefined;
  }
}

function missing(dir: string): WebFiles {
  const fault = err(refusal(
    "page-missing",
    `Cannot show the page: its files are not under "${dir}", must be put there by the build`,
    { kind: "settings", hints: ["./dev up", "./dev build"] },
  ));
  return { page: () => Promise.resolve(fault), file: () => fault, lost: () => undefined };
}

/** The page names its viewer's agent, so its first request can load that agent's transcript. */
async function pageAnswer(
  request: Request,
  page: string,
  viewer: PageViewer | undefined,
): Promise<Response> {
  const fill = (name: string, value: string) => (text: string) =>
    text.replace(`data-${name}=""`, () => `data-${name}="${escapeAttribute(value)}"`);
  const filled = viewer === undefined ? page : [
    fill("agent", viewer.agent),
    fill("viewer", viewer.email),
    fill("fleet", viewer.isAdmin ? "yes" : ""),
    fill("logout", viewer.canLogOut ? "yes" : ""),
  ].reduce((text, step) => step(text), page);
  const bytes = new TextEncoder().encode(filled);
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-cache, private",
    etag: await tagOf(bytes),
  };
  return answer(request, bytes, headers);
}

/** An address in the ledger may contain characters that end an attribute. */
function escapeAttribute(value: string): string {
  return value.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** The page's head and style without its script, which has nothing to run here. */
function lostPage(page: string): string {
  const body = '<main class="lost"><h1>Not found</h1>' +
    "<p>The cockpit has no page at this address.</p>" +
    '<p><a class="button" href="/">Go to the cockpit</a></p></main>';
  return page.replace(/<script[^>]*><\/script>/, "").replace(
    /<body>[^]*<\/body>/,
    () => `<body>${body}</body>`,
  );
}

function fileAnswer(request: Request, file: WebFile): Response {
  const accepted = request.headers.get("accept-encoding") ?? "";
  const encoding = chooseEncoding(accepted, [...file.forms.keys()]);
  const bytes = file.forms.get(encoding) as Uint8Array<ArrayBuffer>;
  const headers = {
    ...SECURITY_HEADERS,
    "content-type": file.type,
    "cache-control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    // Each encoding needs its own tag in caches.
    etag: encoding === "identity" ? file.etag : file.etag.replace(/"$/, `-${encoding}"`),
    vary: "accept-encoding",
    ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
  };
  return answer(request, bytes, headers);
}

function answer(
  request: Request,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> & { readonly etag: string },
): Response {
  const wanted = request.headers.get("if-none-match");
  const isSame = wanted !== null &&
    wanted.split(",").some((tag) => tag.trim().replace(/^W\//, "") === headers.etag);
  if (!isSame) return new Response(bytes, { headers });
  // Send only the required headers. A browser updates its cache with the headers of a 304. If the
  // connection breaks in the middle of them, it could store part of the policy.
  const kept = ["etag", "cache-control", "vary"].flatMap((name) => {
    const value = (headers as Readonly<Record<string, string>>)[name];
    return value === undefined ? [] : [[name, value] as [string, string]];
  });
  return new Response(null, { status: 304, headers: kept });
}

/** Chooses the smallest encoding that the browser accepts (RFC 9110, 12.5.3). */
export function chooseEncoding(accepted: string, have: readonly Encoding[]): Encoding {
  const weights = new Map<string, number>();
  for (const part of accepted.toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((word) => word.trim());
    const weight = parameters.find((word) => word.startsWith("q="));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  const takes = (name: string) => (weights.get(name) ?? weights.get("*") ?? 0) > 0;
  if (takes("br") && have.includes("br")) return "br";
  return takes("gzip") && have.includes("gzip") ? "gzip" : "identity";
}

/** The tag includes the policy, so a 304 never keeps an old policy in use. */
async function tagOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const policy = new TextEncoder().encode(JSON.stringify(SECURITY_HEADERS));
  const tagged = new Uint8Array(bytes.length + policy.length);
  tagged.set(bytes);
  tagged.set(policy, bytes.length);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", tagged));
  return `"${digest.toHex().slice(0, 32)}"`;
}

function fileUnknown(path: string) {
  return refusal(
    "route-unknown",
    `Cannot answer: there is no file ${JSON.stringify(path.slice(0, 200))}`,
  );
}
