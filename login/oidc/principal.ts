/**
 * Derives the principal from OpenID claims. For a provider of one organization the first of
 * `email`, `preferred_username` and `upn` decides. For a public provider only a verified e-mail
 * address counts, because strangers choose the other claims. Pure.
 *
 * @module
 */

import { parseEmail } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** Claims that may name a principal, in order of precedence. */
export const PRINCIPAL_CLAIMS = ["email", "preferred_username", "upn"] as const;
/** One of them. */
export type PrincipalClaim = typeof PRINCIPAL_CLAIMS[number];

/** Claims of one login: of the ID token, and of the user-info endpoint if it was called. */
export type Claims = Readonly<Record<string, unknown>>;

/** Which claims of a provider are trusted. */
export interface PrincipalRules {
  /** Serves users of unknown organizations. */
  readonly isMultiTenant: boolean;
  /** Accepted claims, in order of precedence. */
  readonly claims: readonly PrincipalClaim[];
  /** Trusted tenants (`tid`, `hd`) of a multi-tenant provider. */
  readonly tenants: readonly string[];
}

/** Why the claims name no principal; for the log. */
export type PrincipalFault =
  | "email-not-verified"
  | "no-claim"
  | "claim-malformed"
  | "tenant-unknown";

/** ASCII only: `toLowerCase` maps the Kelvin sign to "k" and would merge two users. */
const ADDRESS = /^[\x21-\x7e]{3,254}$/;
/** Comments, quotes, lists, and separators of headers and tokens are refused in an address. */
const UNUSUAL = /[()"'<>,:;\\|[\]]/;

/** Returns the principal. */
export function principalOf(
  claims: Claims,
  rules: PrincipalRules,
): Result<string, PrincipalFault> {
  const { email_verified: verified } = claims;
  // An absent claim does not deny; any value other than true does.
  const isDenied = verified !== undefined && verified !== true && verified !== "true";
  if (isDenied) return err("email-not-verified");
  if (!rules.isMultiTenant) return fromLadder(claims, rules.claims);
  if (isOfTenant(claims, rules.tenants)) return fromLadder(claims, rules.claims);
  if (rules.tenants.length > 0 && !rules.claims.includes("email")) return err("tenant-unknown");
  if (verified !== true && verified !== "true") return err("email-not-verified");
  return fromLadder(claims, ["email"]);
}

function fromLadder(
  claims: Claims,
  ladder: readonly PrincipalClaim[],
): Result<string, PrincipalFault> {
  for (const name of ladder) {
    const value = claims[name];
    if (value === undefined || value === null || value === "") continue;
    // The first present claim decides, even if it is malformed.
    if (typeof value !== "string") return err("claim-malformed");
    return addressOf(value);
  }
  return err("no-claim");
}

function addressOf(value: string): Result<string, PrincipalFault> {
  if (!ADDRESS.test(value) || UNUSUAL.test(value)) return err("claim-malformed");
  const email = parseEmail(value);
  return email.ok && !email.value.endsWith(".") ? ok(email.value) : err("claim-malformed");
}

/**
 * Returns whether the claims name a trusted tenant. A tenant id does not count if `xms_edov` says
 * that the provider has not verified the domain of the address.
 */
function isOfTenant({ tid, hd, xms_edov }: Claims, tenants: readonly string[]): boolean {
  if (typeof tid === "string" && tenants.includes(tid.toLowerCase())) {
    return xms_edov === undefined || xms_edov === true || xms_edov === "1" || xms_edov === 1 ||
      xms_edov === "true";
  }
  return typeof hd === "string" && tenants.includes(hd.toLowerCase());
}

/** Returns whether an issuer is a known public provider. */
export function isMultiTenantIssuer(issuer: URL): boolean {
  return issuer.hostname === "accounts.google.com";
}

/**
 * Returns whether an issuer means all tenants. Its tokens name a different issuer per tenant, so
 * none could be verified against it.
 */
export function isAllTenantsIssuer(issuer: URL): boolean {
  return /^\/(?:common|organizations|consumers)(?:\/|$)/i.test(issuer.pathname) &&
    /^login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn)$/.test(issuer.hostname);
}
