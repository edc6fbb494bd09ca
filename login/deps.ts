/**
 * The dependencies of the login proxy, passed to each route, and the context of a request. Types
 * only.
 *
 * @module
 */

import type { Clock } from "core/ports/clock.ts";
import type { Log } from "core/ports/log.ts";
import type { Random } from "core/ports/random.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import type { Attempts } from "login/basic/attempts.ts";
import type { FormTokens } from "login/basic/form_token.ts";
import type { BasicHeaderCache } from "login/basic/header.ts";
import type { Passwords } from "login/basic/passwords.ts";
import type { PinStore } from "core/login/store.ts";
import type { Caller } from "login/caller.ts";
import type { CookieJar } from "login/cookies.ts";
import type { Flows } from "login/oidc/flows.ts";
import type { PrincipalRules } from "login/oidc/principal.ts";
import type { Provider } from "login/oidc/provider.ts";
import type { Refreshes } from "login/oidc/refreshes.ts";
import type { SharedRefreshes } from "login/oidc/shared_refreshes.ts";
import type { IpNetwork } from "core/net/ip.ts";
import type { Assertions } from "login/proxy/assertions.ts";
import type { DiskReserve } from "login/disk_reserve.ts";
import type { Leases } from "login/session/leases.ts";
import type { Sessions } from "login/session/sessions.ts";
import type { Deadlines } from "login/deadlines.ts";
import type { ProxyRequest, Upstream } from "login/http1/proxy_port.ts";

/** Users log in with a password. */
export interface BasicDriver {
  readonly kind: "basic";
  readonly passwords: Passwords;
  readonly attempts: Attempts;
  readonly headerCache: BasicHeaderCache;
  readonly forms: FormTokens;
}

/** Users sign in at an OpenID provider. */
export interface OidcDriver {
  readonly kind: "oidc";
  readonly provider: Provider;
  readonly flows: Flows;
  readonly refreshes: Refreshes;
  readonly pins: PinStore;
  readonly rules: PrincipalRules;
  readonly sharedRefreshes: SharedRefreshes;
}

/** How users log in. */
export type Driver = BasicDriver | OidcDriver;

/** Dependencies of the request handlers. */
export interface LoginDeps {
  /** Address of the cockpit. */
  readonly cockpit: ListenAddress;
  readonly upstream: Upstream;
  /** Undefined without an assertion key: the cockpit then gets identities without a proof. */
  readonly assertions: Assertions | undefined;
  readonly trustedProxies: readonly IpNetwork[];
  readonly publicUrl: URL | undefined;
  /** Where this program listens; the page for an insecure origin shows it in an SSH command. */
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

/** One request and its derived facts. */
export interface RequestContext {
  readonly request: ProxyRequest;
  readonly url: URL;
  readonly caller: Caller;
  readonly requestId: string;
  /** A browser navigates to a page. */
  readonly isNavigation: boolean;
}
