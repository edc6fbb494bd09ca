/**
 * Wires the login proxy: keys, store, driver, listener. Takes ports, reads no environment;
 * `login/main.ts` and the tests start it the same way.
 *
 * @module
 */

import { createDeadlines } from "core/deadlines.ts";
import type { Host, ListenAddress } from "core/ports.ts";
import { openSigner } from "core/signed_value.ts";
import type { Proxying } from "core/proxy_port.ts";
import { createLogin } from "login/app.ts";
import { createAttempts } from "login/basic/attempts.ts";
import { createFormTokens, FORM_PURPOSE } from "login/basic/form_token.ts";
import { createBasicMemory } from "login/basic/header.ts";
import { createPasswords } from "login/basic/passwords.ts";
import type { LoginConfig } from "login/config.ts";
import { createFingerprints } from "login/session/fingerprint.ts";
import { createLeases } from "login/session/leases.ts";
import { createAssertions } from "login/proxy/assertions.ts";
import { createSessions, SESSION_PURPOSE } from "login/session/sessions.ts";
import { openSessionStore } from "login/session/store.ts";

/** Ports of the login proxy. */
export type LoginPorts =
  & Pick<Host, "clock" | "random" | "files" | "databases" | "log">
  & { readonly proxying: Proxying };

/** The running login proxy. */
export interface LoginProxy {
  readonly address: ListenAddress;
  /** Cuts what is open and closes; sessions stay in the store. */
  close(): Promise<void>;
}

/** Starts the login proxy; rejects with `FileFault` or `AddressFault`. */
export async function startLogin(config: LoginConfig, ports: LoginPorts): Promise<LoginProxy> {
  const { clock, random, files, databases, proxying, log } = ports;
  const folder = config.paths.role("login");
  await files.ensureDir(folder, { mode: 0o700 });
  const store = await openSessionStore(databases, `${folder}/login.db`);
  const deadlines = createDeadlines(clock.monotonic, clock.after);
  const upstream = proxying.open(config.cockpit);
  try {
    const leases = createLeases(clock);
    const sessions = createSessions({
      store,
      leases,
      signer: await openSigner(config.hmacKeys, SESSION_PURPOSE),
      fingerprints: createFingerprints(config.users),
      ttlMs: config.ttlMs,
      ...{ clock, random },
    });
    const forms = createFormTokens(await openSigner(config.hmacKeys, FORM_PURPOSE), {
      clock,
      random,
    });
    let { port } = config.listen;
    const app = createLogin({
      cockpit: config.cockpit,
      upstream,
      assertions: config.assertionKeys === undefined
        ? undefined
        : createAssertions(config.assertionKeys, clock),
      trustedProxies: config.trustedProxies,
      publicUrl: config.publicUrl,
      listen: { hostname: config.listen.hostname, port: () => port },
      passwords: createPasswords(config.users),
      attempts: createAttempts(clock),
      memory: createBasicMemory({ clock, random }),
      ...{ sessions, leases, forms, deadlines, clock, random, log },
    });
    const listener = await proxying.serve(config.listen, app);
    port = listener.address.port;
    return {
      address: listener.address,
      close: async () => {
        const closed = listener.close();
        leases.cutAll();
        await closed;
        deadlines.close();
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
