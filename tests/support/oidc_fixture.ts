/**
 * The oidc driver in a test: the login proxy over a fake cockpit and a provider that lies on
 * demand, and a browser that keeps cookies.
 *
 * @module
 */

import { createLoginRig, type LoginRig, NAVIGATION } from "tests/support/login_fixture.ts";
import {
  type Account,
  CLIENT,
  createHostileProvider,
  type HostileProvider,
  ISSUER,
  type Lies,
} from "tests/support/hostile_provider.ts";

/** Settings of the driver. */
export const OIDC_ENV = {
  WEBVIEW_AUTH_DRIVER: "oidc",
  WEBVIEW_BASIC_USERS: "",
  WEBVIEW_OIDC_ISSUER: ISSUER,
  WEBVIEW_OIDC_CLIENT_ID: CLIENT.id,
  WEBVIEW_OIDC_CLIENT_SECRET: CLIENT.secret,
  WEBVIEW_URL: "http://localhost:8736",
} as const;

/** A person with an account. */
export const ADA: Account = { sub: "ada-1", email: "ada@example.org", email_verified: true };

/** A browser: keeps cookies and sends them. */
export interface Browser {
  readonly cookies: Map<string, string>;
  ask(path: string, init?: RequestInit): Promise<Response>;
  /** Begins a sign-in; returns the provider's address. */
  begin(path?: string): Promise<string>;
  /** Signs in from the first page to the last. */
  signIn(account?: Account, path?: string): Promise<Response>;
}

/** The login proxy, the provider and a browser. */
export interface OidcRig extends LoginRig {
  readonly provider: HostileProvider;
  browser(): Browser;
}

/** Creates the proxy, the provider and a browser. */
export async function createOidcRig(
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly lies?: Lies;
    readonly now?: () => number;
  } = {},
): Promise<OidcRig> {
  // The library checks times against the machine's own clock.
  const provider = await createHostileProvider(options.now ?? Date.now, options.lies);
  const rig = await createLoginRig({
    env: { ...OIDC_ENV, ...options.env },
    provider: provider.http,
  });
  rig.host.clock.setNow(Date.now());
  return { ...rig, provider, browser: () => createBrowser(rig, provider) };
}

function createBrowser(rig: LoginRig, provider: HostileProvider): Browser {
  const cookies = new Map<string, string>();
  const ask: Browser["ask"] = async (path, init = {}) => {
    const headers = new Headers({ ...NAVIGATION, ...init.headers });
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    if (cookie !== "") headers.set("cookie", cookie);
    const answer = await rig.ask(path, { ...init, headers });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (/; Max-Age=0;/.test(line)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  const begin: Browser["begin"] = async (path = "/") => {
    const first = await ask(path);
    const login = first.headers.get("location") ?? "";
    const address = (await ask(login)).headers.get("location");
    if (address === null) throw new Error(`no sign-in began: ${first.status} ${login}`);
    return address;
  };
  return {
    cookies,
    ask,
    begin,
    signIn: async (account = ADA, path = "/") => {
      const back = provider.signIn(await begin(path), account);
      return await ask(back.pathname + back.search);
    },
  };
}
