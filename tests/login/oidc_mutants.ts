/**
 * Mutants of the sign-in with an OpenID provider, in the form of `mutants.ts`. Data only.
 *
 * @module
 */

import type { Mutant } from "tests/login/mutants.ts";

const SIGN_IN = "tests/login/oidc/sign_in_test.ts";
const LIES = "tests/login/oidc/lies_test.ts";
const PRINCIPAL = "tests/login/oidc/principal_test.ts";
const REFRESH = "tests/login/oidc/refresh_test.ts";

/** All mutants. */
export const OIDC_MUTANTS: readonly Mutant[] = [
  {
    check: "references at the end of all sessions",
    file: "login/routes/own_sessions.ts",
    from: "return await sessions.endAll(principal);",
    to: "for (const one of sessions.list(principal)) await sessions.end(one);\n" +
      "  return ok(undefined);",
    tests: [REFRESH],
  },
  {
    check: "the browser of a sign-in",
    file: "login/oidc/flows.ts",
    from: "if (found === undefined || browser === undefined || found.browser !== browser) {",
    to: "if (found === undefined) {",
    tests: [SIGN_IN],
  },
  {
    check: "a sign-in that was already used",
    file: "login/oidc/flows.ts",
    from: "kept.delete(state);\n      return found.until",
    to: "return found.until",
    tests: [SIGN_IN],
  },
  {
    check: "the age of a sign-in",
    file: "login/oidc/flows.ts",
    from: "return found.until > clock.monotonic() ? found.flow : undefined;",
    to: "return found.flow;",
    tests: [SIGN_IN],
  },
  {
    check: "repeated parameters",
    file: "login/routes/oidc.ts",
    from: 'if (isTwice) return err("parameter-twice");',
    to: "",
    tests: [SIGN_IN],
  },
  {
    check: "a callback without a navigation",
    file: "login/routes/oidc.ts",
    from: 'return err("no-navigation");',
    to: "",
    tests: [SIGN_IN],
  },
  {
    check: "the signature of an ID token",
    file: "login/oidc/provider.ts",
    from: "await servers.verifySignature(response);",
    to: "",
    tests: [LIES],
  },
  {
    check: "the nonce",
    file: "login/oidc/provider.ts",
    from: "expectedNonce: flow.nonce,",
    to: "",
    tests: [LIES],
  },
  {
    check: "another azp",
    file: "login/oidc/provider.ts",
    from: "if (claims.azp !== undefined && claims.azp !== clientId) {",
    to: "if (clientId.length === 0) {",
    tests: [LIES],
  },
  {
    check: "the form of a subject",
    file: "login/oidc/provider.ts",
    from: "if (!SUBJECT.test(claims.sub)) " +
      'throw new ProviderError("the ID token has no usable subject");',
    to: "",
    tests: [LIES],
  },
  {
    check: "an ID token from the future",
    file: "login/oidc/provider.ts",
    from:
      'if (claims.iat > now + SKEW_SECONDS) throw new ProviderError("the ID token is from the ' +
      'future");',
    to: "",
    tests: [LIES],
  },
  {
    check: "at_hash",
    file: "login/oidc/provider.ts",
    from: "await checkAccessHash(claims, tokens);",
    to: "",
    tests: [LIES],
  },
  {
    check: "PKCE of a provider",
    file: "login/oidc/provider.ts",
    from: 'if (methods !== undefined && !methods.includes("S256")) {',
    to: "if (methods === null) {",
    tests: [LIES],
  },
  {
    check: "the size of a provider's answer",
    file: "login/oidc/fetch.ts",
    from: "readBytes(body, LOGIN_LIMITS.providerBytesMax)",
    to: "readBytes(body, Infinity)",
    tests: [LIES],
  },
  {
    check: "redirects of a provider",
    file: "login/oidc/fetch.ts",
    from: 'redirect: "manual",',
    to: "",
    tests: [LIES],
  },
  {
    check: "email_verified",
    file: "login/oidc/principal.ts",
    from: 'if (isDenied) return err("email-not-verified");',
    to: "",
    tests: [PRINCIPAL],
  },
  {
    check: "unverified addresses of a public provider",
    file: "login/oidc/principal.ts",
    from: 'if (verified !== true && verified !== "true") return err("email-not-verified");',
    to: "",
    tests: [PRINCIPAL],
  },
  {
    check: "unusual addresses",
    file: "login/oidc/principal.ts",
    from: 'if (!ADDRESS.test(value) || UNUSUAL.test(value)) return err("claim-malformed");',
    to: 'if (value.length === 0) return err("claim-malformed");',
    tests: [PRINCIPAL],
  },
  {
    check: "the pin of an address",
    file: "login/routes/oidc.ts",
    from: "if (pin.value.issuer !== issuer || pin.value.subject !== subject) {",
    to: "if (pin.value.issuer.length === 0) {",
    tests: [PRINCIPAL],
  },
  {
    check: "a reused refresh reference",
    file: "login/oidc/refreshes.ts",
    from: "endFamily(row.family);\n        return undefined;",
    to: "",
    tests: [REFRESH],
  },
  {
    check: "the owner of a refresh",
    file: "login/routes/refresh.ts",
    from: "if (!principal.ok || principal.value !== kept.principal) {",
    to: "if (!principal.ok) {",
    tests: [REFRESH],
  },
  {
    check: "invalid times",
    file: "login/oidc/provider.ts",
    from: "if (![claims.exp, claims.iat].every(Number.isSafeInteger)) {",
    to: "if (claims.iat === -1) {",
    tests: [LIES],
  },
  {
    check: "an answer of a provider that never ends",
    file: "login/oidc/fetch.ts",
    from: "pipeThrough(new TransformStream(), { signal })",
    to: "pipeThrough(new TransformStream())",
    tests: [LIES],
  },
];
