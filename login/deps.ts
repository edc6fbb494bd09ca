/**
 * What the login proxy is made of; each route gets it. Types only.
 *
 * @module
 */

import type { Clock, ListenAddress, Log, Random } from "core/ports.ts";
import type { Attempts } from "login/basic/attempts.ts";
import type { FormTokens } from "login/basic/form_token.ts";
import type { BasicMemory } from "login/basic/header.ts";
import type { Passwords } from "login/basic/passwords.ts";
import type { PinStore } from "core/login_store.ts";
import type { Caller } from "login/caller.ts";
import type { CookieJar } from "login/cookies.ts";
import type { Flows } from "login/oidc/flows.ts";
import type { PrincipalRules } from "login/oidc/principal.ts";
import type { Provider } from "login/oidc/provider.ts";
import type { Refreshes } from "login/oidc/refreshes.ts";
import type { Refreshing } from "login/oidc/refreshing.ts";
import type { IpNetwork } from "core/ip.ts";
import type { Assertions } from "login/proxy/assertions.ts";
import type { DiskReserve } from "core/disk_reserve.ts";
import type { Leases } from "login/session/leases.ts";
import type { Sessions } from "login/session/sessions.ts";
import type { Deadlines } from "core/deadlines.ts";
import type { ProxyRequest, Upstream } from "core/proxy_port.ts";

/** People have passwords here. */
export interface BasicDriver {
  readonly kind: "basic";
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly memory: BasicMemory;
  readonly forms: FormTokens;
}

/** An OpenID provider says who people are. */
export interface OidcDriver {
  readonly kind: "oidc";
  readonly provider: Provider;
  readonly flows: Flows;
  readonly refreshes: Refreshes;
  readonly pins: PinStore;
  readonly rules: PrincipalRules;
  readonly refreshing: Refreshing;
}

/** How people log in. */
export type Driver = BasicDriver | OidcDriver;

/** Everything a request may need. */
export interface LoginParts {
  /** The cockpit: where it is, and the way to it. */
  readonly cockpit: ListenAddress;
  readonly upstream: Upstream;
  /** Undefined where the cockpit is told an identity without a proof. */
  readonly assertions: Assertions | undefined;
  readonly trustedProxies: readonly IpNetwork[];
  readonly publicUrl: URL | undefined;
  /** Where this program listens, for the page that explains the tunnel. */
  readonly listen: { readonly hostname: string; readonly port: () => number };
  readonly sessions: Sessions;
  readonly leases: Leases;
  readonly reserve: DiskReserve;
  readonly cookies: CookieJar;
  readonly driver: Driver;
  /** Over the monotonic clock. */
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** One request, with what was found out about it. */
export interface Asked {
  readonly request: ProxyRequest;
  readonly url: URL;
  readonly caller: Caller;
  readonly requestId: string;
  /** A person waits for a page. */
  readonly isNavigation: boolean;
}
