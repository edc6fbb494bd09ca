/**
 * Wires the login proxy: keys, store, driver, listener. Receives its ports and reads no
 * environment, so `login/main.ts` and the tests start it identically. Why not an existing proxy:
 * ADR 0030.
 *
 * @module
 */

import { canonicalName } from "core/login/basic_users.ts";
import { createDeadlines, type Deadlines } from "login/deadlines.ts";
import { createDiskReserve, type DiskReserve, openWithReserve } from "login/disk_reserve.ts";
import { LOGIN_LIMITS } from "core/limits/login.ts";
import { type LoginStore, openLoginStore } from "core/login/store.ts";
import type { Host } from "core/ports/host.ts";
import type { ListenAddress } from "core/ports/sockets.ts";
import type { Proxying, Upstream } from "login/http1/proxy_port.ts";
import { openSigner } from "core/crypto/signed_value.ts";
import { createLogin, type LoginApp } from "login/app.ts";
import { createAttempts } from "login/basic/attempts.ts";
import { createFormTokens, FORM_PURPOSE } from "login/basic/form_token.ts";
import { createBasicHeaderCache } from "login/basic/header.ts";
import { createPasswords, type HashPool } from "login/basic/passwords.ts";
import type { LoginConfig } from "login/config.ts";
import { createCookieJar } from "login/cookies.ts";
import { BROWSER_PURPOSE, createFlows } from "login/oidc/flows.ts";
import { createProvider } from "login/oidc/provider.ts";
import { createRefreshes } from "login/oidc/refreshes.ts";
import { createSharedRefreshes } from "login/oidc/shared_refreshes.ts";
import type { Driver, LoginDeps } from "login/deps.ts";
import { createAssertions } from "login/proxy/assertions.ts";
import { createFingerprints, createPinFingerprints } from "login/session/fingerprint.ts";
import { createLeases } from "login/session/leases.ts";
import { createSessions, SESSION_PURPOSE } from "login/session/sessions.ts";

/** Ports of the login proxy. */
export type LoginPorts =
  & Pick<Host, "clock" | "random" | "files" | "http" | "databases" | "log">
  & { readonly proxying: Proxying; readonly hashes: HashPool & { close(): void } };

/** The running login proxy. */
export interface LoginProxy {
  readonly address: ListenAddress;
  /** Aborts open requests and closes; sessions stay in the store. */
  close(): Promise<void>;
}

/** The wired login proxy without its listener. */
export interface LoginWiring {
  readonly app: LoginApp;
  readonly deps: LoginDeps;
  /** Aborts open requests and stops every timer. */
  stop(): void;
}

/** Starts the login proxy; rejects with `FileFault` or `AddressFault`. */
export async function startLogin(config: LoginConfig, ports: LoginPorts): Promise<LoginProxy> {
  const { files, databases, proxying } = ports;
  const folder = config.paths.role("login");
  await files.ensureDir(folder, { mode: 0o700 });
  const reserve = createDiskReserve(`${folder}/reserve`, ports);
  const store = await openWithReserve(
    reserve,
    () => openLoginStore(databases, `${folder}/login.db`),
  );
  await reserve.fill();
  const upstream = proxying.open(config.cockpit);
  let { port } = config.listen;
  try {
    const over = { store, reserve, upstream, port: () => port };
    const wired = await wireLogin(config, ports, over);
    const listener = await proxying.serve(config.listen, wired.app);
    port = listener.address.port;
    return {
      address: listener.address,
      close: async () => {
        const closed = listener.close();
        wired.stop();
        await closed;
        ports.hashes.close();
        upstream.close();
        store.close();
      },
    };
  } catch (thrown) {
    upstream.close();
    store.close();
    throw thrown;
  }
}

/** Wires the login proxy over a store and an upstream. */
export async function wireLogin(
  config: LoginConfig,
  ports: Omit<LoginPorts, "proxying" | "files" | "databases" | "hashes"> & {
    readonly hashes: HashPool;
  },
  over: {
    readonly store: LoginStore;
    readonly reserve: DiskReserve;
    readonly upstream: Upstream;
    readonly port: () => number;
  },
): Promise<LoginWiring> {
  const { clock, random, log } = ports;
  const { store, reserve, upstream } = over;
  const deadlines = createDeadlines(clock.monotonic, clock.after);
  const { sessions, leases } = await wireSessions(config, ports, { store, reserve, deadlines });
  const onEnded = (ids: readonly string[]) => sessions.ended(ids);
  const deps: LoginDeps = {
    cockpit: config.cockpit,
    upstream,
    assertions: config.assertionKeys === undefined
      ? undefined
      : createAssertions(config.assertionKeys, clock),
    trustedProxies: config.trustedProxies,
    publicUrl: config.publicUrl,
    listen: { hostname: config.listen.hostname, port: over.port },
    cookies: createCookieJar(config.cookiePrefix),
    driver: await driverOf(config, ports, { store, onEnded }),
    sessions,
    leases,
    reserve,
    deadlines,
    clock,
    random,
    log,
  };
  return {
    app: createLogin(deps),
    deps,
    stop: () => {
      leases.abortAll();
      deadlines.close();
    },
  };
}

/**
 * Wires sessions and leases. An open stream sends no request, yet the CLI may end its session. So
 * the store is polled while a lease is open, and while an end is not stored.
 */
async function wireSessions(
  config: LoginConfig,
  { clock, random }: Pick<LoginPorts, "clock" | "random">,
  over: {
    readonly store: LoginStore;
    readonly reserve: DiskReserve;
    readonly deadlines: Deadlines;
  },
): Promise<Pick<LoginDeps, "sessions" | "leases">> {
  const { store, reserve, deadlines } = over;
  let isWatching = false;
  const watch = () => {
    if (isWatching) return;
    isWatching = true;
    deadlines.add(clock.monotonic() + LOGIN_LIMITS.storePollMs, () => {
      isWatching = false;
      const unstored = sessions.storePendingEnds();
      if (leases.count() > 0) sessions.syncWithStore();
      else if (unstored === 0) return;
      watch();
    });
  };
  const leases = createLeases(clock, watch, (id) => sessions.expiryOf(id));
  const sessions = createSessions({
    store,
    leases,
    reserve,
    onUnstored: watch,
    signer: await openSigner(config.hmacKeys, SESSION_PURPOSE),
    fingerprints: config.driver.kind === "basic"
      ? createFingerprints(config.driver.users)
      : createPinFingerprints(store.pins),
    ttlMs: config.ttlMs,
    idleMs: config.idleMs,
    clock,
    random,
  });
  return { sessions, leases };
}

async function driverOf(
  { driver, hmacKeys }: LoginConfig,
  { clock, random, http, hashes }: Pick<LoginPorts, "clock" | "random" | "http"> & {
    readonly hashes: HashPool;
  },
  over: { readonly store: LoginStore; readonly onEnded: (ids: readonly string[]) => void },
): Promise<Driver> {
  const { store, onEnded } = over;
  if (driver.kind === "oidc") {
    return {
      kind: "oidc",
      provider: createProvider(driver.provider, { http, clock }),
      flows: createFlows(await openSigner(hmacKeys, BROWSER_PURPOSE), { clock, random }),
      refreshes: await createRefreshes(hmacKeys, {
        store: store.refreshes,
        clock,
        random,
        onEnded,
      }),
      sharedRefreshes: createSharedRefreshes(clock),
      pins: store.pins,
      rules: driver.rules,
    };
  }
  const names = new Set(driver.users.map(({ name }) => name));
  return {
    kind: "basic",
    passwords: createPasswords(driver.users, hashes),
    attempts: createAttempts(clock, (name) => names.has(canonicalName(name))),
    headerCache: createBasicHeaderCache({ clock, random }),
    forms: createFormTokens(await openSigner(hmacKeys, FORM_PURPOSE), { clock, random }),
  };
}
