/**
 * Finds out who is logged in: by the session cookie, else by the preemptive `Authorization: Basic`
 * header, which shares its rate limit with the form (spec "Login drivers").
 *
 * @module
 */

import type { HeaderReader } from "core/header_list.ts";
import { isBasicHeader, parseBasicHeader } from "login/basic/header.ts";
import type { Caller } from "login/caller.ts";
import { readCookie, SESSION_COOKIE } from "login/cookies.ts";
import type { LoginParts } from "login/parts.ts";
import type { Session } from "login/session/sessions.ts";

/** Who sends a request. `reason` is for the log only. */
export type Login =
  | { readonly kind: "session"; readonly principal: string; readonly session: Session }
  | { readonly kind: "basic"; readonly principal: string }
  | { readonly kind: "limited"; readonly retryAfterSeconds: number }
  | { readonly kind: "nobody"; readonly reason: string };

type Needed = Pick<LoginParts, "sessions" | "attempts" | "memory" | "passwords" | "log">;

/** Decides who sends a request. */
export async function authenticate(
  headers: HeaderReader,
  caller: Caller,
  parts: Needed,
): Promise<Login> {
  const token = readCookie(headers.get("cookie"), SESSION_COOKIE);
  const read = token === undefined ? undefined : await parts.sessions.read(token);
  if (read?.ok === true) {
    return { kind: "session", principal: read.value.principal, session: read.value };
  }
  const basic = headers.get("authorization");
  if (isBasicHeader(basic)) return await authenticateBasic(basic, caller, parts);
  return { kind: "nobody", reason: read === undefined ? "no-session" : `session-${read.error}` };
}

async function authenticateBasic(header: string, caller: Caller, parts: Needed): Promise<Login> {
  // Asked before the memory: a client past its limit must not learn which guess was right.
  const attempt = parts.attempts.begin(caller.key);
  if ("retryAfterSeconds" in attempt) {
    return { kind: "limited", retryAfterSeconds: attempt.retryAfterSeconds };
  }
  const known = await parts.memory.recall(header);
  if (known !== undefined) {
    attempt.forgive();
    return { kind: "basic", principal: known };
  }
  const said = parseBasicHeader(header);
  const principal = said === undefined
    ? undefined
    : await parts.passwords.check(said.name, said.password);
  if (principal === undefined) {
    parts.log.warning("login failed", { way: "header", client: caller.address });
    return { kind: "nobody", reason: said === undefined ? "basic-malformed" : "basic-wrong" };
  }
  attempt.forgive();
  await parts.memory.keep(header, principal);
  return { kind: "basic", principal };
}
