/**
 * The login proxy in a test: as functions over a fake cockpit, or listening on loopback in front of
 * a real one. Password hashing uses few iterations, so tests are fast. A request that the proxy
 * refuses must never reach the cockpit; the rig checks this for every answer.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type AssertionKeys, parseAssertionKeys, verifyAssertion } from "core/access/assertion.ts";
import { defined } from "core/defined.ts";
import { createDiskReserve } from "login/disk_reserve.ts";
import { hashPassword } from "core/login/password.ts";
import type { Host } from "core/ports/host.ts";
import { systemHashThreads } from "login/os/slow_hashes.ts";
import { systemProxying } from "login/http1/os/proxy_server.ts";
import type {
  ProxyAnswer,
  ProxyRequest,
  Upstream,
  UpstreamAnswer,
  UpstreamRequest,
} from "login/http1/proxy_port.ts";
import { HeaderList } from "core/http1/header_list.ts";
import { UpstreamFault } from "core/http1/upstream_fault.ts";
import type { HashPool } from "login/basic/passwords.ts";
import { type LoginConfig, readLoginConfig } from "login/config.ts";
import type { LoginApp } from "login/app.ts";
import { type LoginProxy, startLogin, wireLogin } from "login/login.ts";
import type { LoginDeps } from "login/deps.ts";
import type { Leases } from "login/session/leases.ts";
import { type LoginStore, openLoginStore } from "core/login/store.ts";
import { type MemoryHost, memoryHost } from "tests/fakes/host.ts";

/** The one user of most tests. */
export const MIA = { name: "mia@example.org", password: "correct horse, battery: staple" } as const;
/** A second user, with a plain password. */
export const BOB = { name: "bob@example.org", password: "bob-password" } as const;
/** The origin at which tests open the page. */
export const ORIGIN = "http://localhost:8736";
/** Keys for tests. */
export const KEYS = {
  WEBVIEW_HMAC_KEY: "a-key-of-the-tests-0000000000000",
  WEBVIEW_ASSERTION_KEY: "an-assertion-key-of-the-tests-00",
} as const;

/** Returns the `Authorization` header of a user. */
export function basicHeader(user: { readonly name: string; readonly password: string }): string {
  const bytes = new TextEncoder().encode(`${user.name}:${user.password}`);
  return `Basic ${bytes.toBase64()}`;
}

/** Returns the settings of a test. */
export async function loginConfig(
  env: Readonly<Record<string, string>> = {},
): Promise<LoginConfig> {
  const hashed = await hashPassword(MIA.password, new Uint8Array(16).fill(7), 1_000);
  const config = await readLoginConfig({
    FLEETCTL_ROOT: "/r",
    WEBVIEW_LOGIN_LISTEN: "127.0.0.1:0",
    WEBVIEW_AUTH_DRIVER: "basic",
    WEBVIEW_BASIC_USERS: `${MIA.name}:${hashed},${BOB.name}:${BOB.password}`,
    ...KEYS,
    ...env,
  });
  if (!config.ok) throw new Error(config.error.details.join("; "));
  return config.value;
}

/** A request as the fake cockpit received it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  /** Subject of the assertion, when the assertion is valid for exactly this request. */
  readonly asserted: string | undefined;
}

/** The login proxy as functions. */
export interface LoginRig {
  readonly app: LoginApp;
  readonly host: MemoryHost;
  readonly leases: Leases;
  readonly store: LoginStore;
  readonly deps: LoginDeps;
  readonly config: LoginConfig;
  readonly seen: readonly Seen[];
  /** Sends a request from `peer`; `url` may be a path below `ORIGIN`. */
  ask(url: string, init?: RequestInit & { readonly peer?: string }): Promise<Response>;
  /** Loads the login form and posts it as a browser does. */
  logIn(
    user?: { readonly name: string; readonly password: string },
    more?: { readonly next?: string; readonly peer?: string },
  ): Promise<Response>;
  /** Logs in and returns the `Cookie` header of the session. */
  session(user?: { readonly name: string; readonly password: string }): Promise<string>;
}

/** Headers that a browser sends with a navigation. */
export const NAVIGATION = {
  accept: "text/html,application/xhtml+xml",
  "sec-fetch-site": "none",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
} as const;
/** Headers that a browser sends with a request by the page's own script. */
export const OWN_SCRIPT = {
  "sec-fetch-site": "same-origin",
  "sec-fetch-mode": "cors",
  origin: ORIGIN,
} as const;

function responseOf({ status, headers, body }: ProxyAnswer): Response {
  const hasBody = ![204, 205, 304].includes(status);
  return new Response(hasBody ? body : null, { status, headers: [...headers] });
}

/** Returns `name=value` from the `Set-Cookie` headers of an answer. */
export function cookieOf(answer: Response, name: string): string | undefined {
  const line = answer.headers.getSetCookie().find((one) => one.startsWith(`${name}=`));
  return line?.split(";")[0];
}

/** Converts a request to the form that the listener passes on. */
export function proxyRequestOf(request: Request): ProxyRequest {
  return {
    method: request.method,
    url: new URL(request.url),
    headers: new HeaderList(request.headers),
    body: request.body,
    onDisconnect: (run) => request.signal.addEventListener("abort", run, { once: true }),
  };
}

/** The body of a fake answer. Fails when the request is aborted; reports its end once. */
function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { abortHandle, onEnd }: UpstreamRequest,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => {});
  const ignore = abortHandle.onAbort(() => gone.reject(new UpstreamFault("aborted", "given up")));
  const reader = body.getReader();
  const end = () => {
    ignore();
    onEnd();
  };
  return new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await Promise.race([reader.read(), gone.promise]);
        if (!done) return controller.enqueue(value);
        end();
        controller.close();
      } catch (thrown) {
        end();
        await reader.cancel(thrown);
        controller.error(thrown);
      }
    },
    cancel: async (reason) => {
      end();
      await reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** Refusals that precede forwarding. 413 may also occur while a body is being forwarded. */
const REFUSED: ReadonlySet<number> = new Set([400, 401, 403, 404, 405, 415, 421, 429, 503]);

/** The answer of a fake cockpit to a request. */
type CockpitAnswer = (request: Request) => Response | Promise<Response>;

/** A cockpit behind the proxy, which records the requests that reach it. */
class FakeCockpit implements Upstream {
  readonly seen: Seen[] = [];
  readonly #answer: CockpitAnswer;
  readonly #keys: AssertionKeys;
  readonly #now: () => number;
  /** Ids of the requests that reached the cockpit, with the status that it answered. */
  readonly #reached = new Map<string, number | undefined>();

  constructor(answer: CockpitAnswer, keys: AssertionKeys, now: () => number) {
    this.#answer = answer;
    this.#keys = keys;
    this.#now = now;
  }

  async send(sent: UpstreamRequest): Promise<UpstreamAnswer> {
    const { method, target, headers, body, abortHandle } = sent;
    if (abortHandle.reason !== undefined) throw new UpstreamFault("aborted", "given up");
    const gone = new AbortController();
    abortHandle.onAbort(() => gone.abort());
    const request = new Request(`http://127.0.0.1:8731${target}`, {
      method,
      headers: [...headers].map(([name, value]): [string, string] => [name, value]),
      signal: gone.signal,
      body: body as ReadableStream<Uint8Array<ArrayBuffer>> | null,
    });
    const id = request.headers.get("x-request-id") ?? "";
    this.#reached.set(id, undefined);
    const asserted = await this.#assertedBy(request);
    const answered = this.#answer(request.clone());
    this.seen.push({
      method: request.method,
      path: new URL(request.url).pathname,
      headers: request.headers,
      body: await request.text(),
      asserted,
    });
    const answer = await answered;
    const { status } = answer;
    this.#reached.set(id, status);
    const pairs = [...answer.headers];
    if (answer.body !== null) return { status, headers: pairs, body: watched(answer.body, sent) };
    sent.onEnd();
    return { status, headers: pairs, body: null };
  }

  close(): void {}

  /** Fails when a refused request reached the cockpit, unless the cockpit itself refused it. */
  assertUnseen(answer: Response): void {
    const id = answer.headers.get("x-request-id") ?? "";
    const isLed = (answer.headers.get("location") ?? "").startsWith("/auth/");
    if (!isLed && !REFUSED.has(answer.status)) return;
    if (!this.#reached.has(id) || this.#reached.get(id) === answer.status) return;
    assert.fail(`refused with ${answer.status}, and the cockpit saw it`);
  }

  /** Returns the subject of the assertion, when it is valid for exactly this request. */
  async #assertedBy({ method, url, headers }: Request): Promise<string | undefined> {
    const token = headers.get("x-fleetctl-assertion") ?? "";
    const path = new URL(url).pathname;
    const verified = await verifyAssertion(this.#keys, token, { method, path, nowMs: this.#now() });
    return verified.ok ? verified.value : undefined;
  }
}

/** Creates the login proxy over a fake cockpit, which answers `ok` unless the options change it. */
export async function createLoginRig(
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly cockpit?: CockpitAnswer;
    readonly host?: MemoryHost;
    /** The HTTP client for the identity provider. */
    readonly provider?: Host["http"];
    readonly hashes?: HashPool;
  } = {},
): Promise<LoginRig> {
  const { host = memoryHost(), hashes = systemHashThreads() } = options;
  const keys = await parseAssertionKeys(KEYS.WEBVIEW_ASSERTION_KEY);
  if (!keys.ok) throw new Error(keys.error.message);
  const cockpit = new FakeCockpit(
    options.cockpit ?? (() => new Response("ok")),
    keys.value,
    () => host.clock.now(),
  );
  const config = await loginConfig(options.env);
  const store = await openLoginStore(host.databases, "/r/login.db");
  const http = options.provider ?? host.http;
  const reserve = createDiskReserve("/r/reserve", host);
  const { app, deps } = await wireLogin(config, { ...host, http, hashes }, {
    store,
    reserve,
    upstream: cockpit,
    port: () => 8736,
  });
  const ask: LoginRig["ask"] = async (url, { peer = "127.0.0.1:40000", ...init } = {}) => {
    const target = url.startsWith("/") ? ORIGIN + url : url;
    const headers = new Headers(init.headers);
    if (!headers.has("host")) headers.set("host", new URL(target).host);
    const answer = await app.handle(
      proxyRequestOf(new Request(target, { ...init, headers })),
      peer,
    );
    const response = answer instanceof Response ? answer : responseOf(answer);
    cockpit.assertUnseen(response);
    return response;
  };
  const logIn: LoginRig["logIn"] = (user = MIA, more = {}) => logInWith(ask, user, more);
  return {
    app,
    host,
    leases: deps.leases,
    store,
    deps,
    config,
    seen: cockpit.seen,
    ask,
    logIn,
    session: async (user) => {
      const answer = await logIn(user);
      const cookie = cookieOf(answer, "wv_session");
      if (cookie === undefined) throw new Error(`not logged in: ${answer.status}`);
      return cookie;
    },
  };
}

/** Loads the login form and posts it as a browser does. */
async function logInWith(
  ask: LoginRig["ask"],
  user: { readonly name: string; readonly password: string },
  more: { readonly next?: string; readonly peer?: string },
): Promise<Response> {
  const peer = defined({ peer: more.peer });
  const form = await ask("/auth/login", { headers: NAVIGATION, ...peer });
  const cookie = cookieOf(form, "wv_login_csrf") ?? "";
  const csrf = /name="csrf" value="([^"]*)"/.exec(await form.text())?.[1] ?? "";
  return await ask("/auth/login", {
    method: "POST",
    headers: { ...NAVIGATION, "sec-fetch-site": "same-origin", origin: ORIGIN, cookie },
    body: new URLSearchParams({
      csrf,
      user: user.name,
      password: user.password,
      next: more.next ?? "/",
    }),
    ...peer,
  });
}

/** Starts the login proxy on loopback in front of a cockpit; the host may provide real ports. */
export async function startTestLogin(
  host: Host,
  upstream: string,
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly proxy: LoginProxy; readonly url: string }> {
  const config = await loginConfig({ WEBVIEW_UPSTREAM: upstream, ...env });
  const proxy = await startLogin(config, {
    ...host,
    proxying: systemProxying(host),
    hashes: systemHashThreads(),
  });
  return { proxy, url: `http://localhost:${proxy.address.port}` };
}

/** Logs mia in through the form with only what a browser sends. Returns the session cookie. */
export async function logInByForm(url: string): Promise<string> {
  const form = await fetch(`${url}/auth/login`, { headers: { accept: "text/html" } });
  const csrf = /name="csrf" value="([^"]*)"/.exec(await form.text())?.[1] ?? "";
  const done = await fetch(`${url}/auth/login`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: url, cookie: cookieOf(form, "wv_login_csrf") ?? "" },
    body: new URLSearchParams({ csrf, user: MIA.name, password: MIA.password }),
  });
  await done.body?.cancel();
  if (done.status !== 303) throw new Error(`the login answered ${done.status}`);
  return cookieOf(done, "wv_session") ?? "";
}
