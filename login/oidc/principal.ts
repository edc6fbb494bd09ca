/**
 * Who somebody is by the claims of an OpenID provider (decision 21): the described ladder `email`,
 * `preferred_username`, `upn` for a provider of one organization; only a proven e-mail address for one
 * that serves everybody, because there the other claims are whatever a stranger typed. Pure.
 *
 * @module
 */

import { parseEmail } from "core/names.ts";
import { err, ok, type Result } from "core/result.ts";

/** Claims that may name a principal, in the described order. */
export const PRINCIPAL_CLAIMS = ["email", "preferred_username", "upn"] as const;
/** One of them. */
export type PrincipalClaim = typeof PRINCIPAL_CLAIMS[number];

/** Claims of one login: of the ID token, and of the user-info endpoint where that was asked. */
export type Claims = Readonly<Record<string, unknown>>;

/** What is believed of a provider. */
export interface PrincipalRules {
  /** Serves people of organizations that we do not know. */
  readonly isMultiTenant: boolean;
  /** The ladder, possibly shorter than the described one. */
  readonly claims: readonly PrincipalClaim[];
  /** Tenants (`tid`, `hd`) whose ladder counts even then. */
  readonly tenants: readonly string[];
}

/** Why nobody can be told from the claims; for the log. */
export type PrincipalFault =
  | "email-not-verified"
  | "no-claim"
  | "claim-malformed"
  | "tenant-unknown";

/** Only ASCII: `toLowerCase` would make a Kelvin sign a "k", and two people one. */
const ADDRESS = /^[\x21-\x7e]{3,254}$/;
/** Comments, quotes, lists and separators of headers and tokens have no place in an address. */
const UNUSUAL = /[()"'<>,:;\\|[\]]/;

/** Returns the principal. */
export function principalOf(
  claims: Claims,
  rules: PrincipalRules,
): Result<string, PrincipalFault> {
  const { email_verified: verified } = claims;
  // Said in any way, a "no" is a no; never said is another matter.
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
    // The first claim that is there decides: a bad one does not make way for the next.
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

/** A tenant's own mark counts only where the provider vouches for the domain of the address. */
function isOfTenant({ tid, hd, xms_edov }: Claims, tenants: readonly string[]): boolean {
  if (typeof tid === "string" && tenants.includes(tid.toLowerCase())) {
    return xms_edov === undefined || xms_edov === true || xms_edov === "1" || xms_edov === 1 ||
      xms_edov === "true";
  }
  return typeof hd === "string" && tenants.includes(hd.toLowerCase());
}

/** Tells whether an issuer is known to serve everybody. */
export function isMultiTenantIssuer(issuer: URL): boolean {
  return issuer.hostname === "accounts.google.com";
}

/**
 * Tells whether an issuer stands for all tenants at once: its tokens name another issuer for each, so
 * that none of them could be checked against it.
 */
export function isAllTenantsIssuer(issuer: URL): boolean {
  return /^\/(?:common|organizations|consumers)(?:\/|$)/i.test(issuer.pathname) &&
    /^login\.(?:microsoftonline\.(?:com|us)|partner\.microsoftonline\.cn)$/.test(issuer.hostname);
}
