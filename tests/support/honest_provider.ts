/**
 * `oidc-provider`, the certified OpenID provider, on loopback: real sign-in pages, real keys, real
 * tokens. It requires PKCE and knows one application.
 *
 * @module
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Provider from "oidc-provider";

/** The registered application. */
export const HONEST_CLIENT = {
  id: "cockpit",
  secret: "an-honest-client-secret-000000000",
} as const;

/** A running provider. */
export interface HonestProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Registers the application's redirect address, which is known once the proxy listens. */
  register(redirectUri: string): void;
}

/** Starts the provider. A person who signs in as `name` has the address `name@example.org`. */
export async function startHonestProvider(): Promise<HonestProvider> {
  let handler: (request: unknown, response: unknown) => void = () => {};
  const server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  // Not `localhost`: cookies ignore ports, and the proxy is on `localhost`.
  const issuer = `http://127.0.0.1:${port}`;
  return {
    issuer,
    register: (redirectUri) => {
      const provider = new Provider(issuer, {
        clients: [{
          client_id: HONEST_CLIENT.id,
          client_secret: HONEST_CLIENT.secret,
          redirect_uris: [redirectUri],
          grant_types: ["authorization_code", "refresh_token"],
        }],
        claims: { email: ["email", "email_verified"], profile: ["name"] },
        pkce: { required: () => true },
        cookies: { keys: ["a-cookie-key-of-the-provider"] },
        findAccount: (_context: unknown, sub: string) => ({
          accountId: sub,
          claims: () => ({ sub, email: `${sub}@Example.org`, email_verified: true, name: sub }),
        }),
      });
      handler = provider.callback() as typeof handler;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
