/**
 * The registration token of an agent at the team-chat gateway. It states the agent, its owner, the
 * gateway and the expiry time, and is signed with the agent's dial key. Pure apart from WebCrypto.
 *
 * Form: `fleetctl.register.1.<base64url of JSON>.<base64url signature>`. The signature covers
 * everything before its dot. A token is valid once: the gateway remembers its nonce until it
 * expires.
 *
 * @module
 */

import * as z from "zod";
import {
  type DialKey,
  fromBase64Url,
  isPublicKey,
  signProof,
  verifyProof,
} from "core/dial/proof.ts";
import { toBase64Url } from "core/dial/proof.ts";
import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";

const PREFIX = "fleetctl.register.1";

const statement = z.object({
  agent: z.string().min(1).max(64),
  /** Object id of the owner. */
  owner: z.string().min(1).max(64),
  /** `host:port` of the gateway, as the agent dials it. */
  gateway: z.string().min(1).max(300),
  /** Seconds since the epoch. */
  iat: z.number().int(),
  exp: z.number().int(),
  nonce: z.string().min(16).max(64),
  key: z.string().max(64),
});
/** The claims of a token. */
export type Registration = z.infer<typeof statement>;

/** Why a token is refused; for the log. */
export type RegistrationFault =
  | "token-malformed"
  | "token-expired"
  | "token-from-the-future"
  | "token-too-long-lived"
  | "token-signature-invalid";

/** Creates a token that is valid for one minute. */
export async function signRegistration(
  of: Pick<Registration, "agent" | "owner" | "gateway" | "nonce">,
  key: DialKey,
  nowMs: number,
): Promise<string> {
  const iat = Math.floor(nowMs / 1000);
  const stated: Registration = {
    ...of,
    iat,
    exp: iat + TEAMCHAT_LIMITS.registrationSeconds,
    key: key.publicKey,
  };
  const body = `${PREFIX}.${toBase64Url(new TextEncoder().encode(JSON.stringify(stated)))}`;
  return `${body}.${await signProof(key, body)}`;
}

/** Checks form, times and signature. The caller decides whether to trust the key. */
export async function readRegistration(
  token: string,
  nowMs: number,
): Promise<
  | { readonly ok: true; readonly value: Registration }
  | { readonly ok: false; readonly why: RegistrationFault }
> {
  const bad = (why: RegistrationFault) => ({ ok: false as const, why });
  if (token.length > TEAMCHAT_LIMITS.registrationLengthMax) return bad("token-malformed");
  const stated = readStatement(token);
  if (stated === undefined || !isPublicKey(stated.key)) return bad("token-malformed");
  const now = nowMs / 1000;
  const { registrationSeconds, clockSkewSeconds } = TEAMCHAT_LIMITS;
  if (stated.exp - stated.iat > registrationSeconds) return bad("token-too-long-lived");
  if (stated.exp + clockSkewSeconds < now) return bad("token-expired");
  if (stated.iat - clockSkewSeconds > now) return bad("token-from-the-future");
  const cut = token.lastIndexOf(".");
  const isSigned = await verifyProof(stated.key, token.slice(0, cut), token.slice(cut + 1));
  return isSigned ? { ok: true, value: stated } : bad("token-signature-invalid");
}

function readStatement(token: string): Registration | undefined {
  const rest = token.startsWith(`${PREFIX}.`) ? token.slice(PREFIX.length + 1).split(".") : [];
  const [encoded = "", signature = ""] = rest;
  const bytes = rest.length === 2 && signature !== "" ? fromBase64Url(encoded) : undefined;
  if (bytes === undefined) return undefined;
  try {
    const parsed = statement.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}
