/**
 * Finds out who is logged in: by the session cookie, else by the preemptive `Authorization: Basic`
 * header, which shares its rate limit with the form (spec "Login drivers").
 *
 * @module
 */

import type { HeaderReader } from "core/header_list.ts";
import { isBasicHeader, parseBasicHeader } from "login/basic/header.ts";
import { BUSY } from "login/basic/passwords.ts";
import { canonicalName } from "core/basic_users.ts";
import type { Caller } from "login/caller.ts";
import { COOKIES } from "login/cookies.ts";
import type { BasicDriver, LoginParts } from "login/parts.ts";
import type { Session } from "login/session/sessions.ts";

/** Who sends a request. `reason` is for the log only. */
export type Login =
  | { readonly kind: "session"; readonly principal: string; readonly session: Session }
  | { readonly kind: "basic"; readonly principal: string }
  | { readonly kind: "limited"; readonly retryAfterSeconds: number }
  /** So many passwords are being checked that this one was not looked at. */
  | { readonly kind: "busy" }
  | { readonly kind: "nobody"; readonly reason: string };

type Needed = Pick<LoginParts, "sessions" | "cookies" | "driver" | "log">;

/** Decides who sends a request. */
export async function authenticate(
  headers: HeaderReader,
  caller: Caller,
  parts: Needed,
): Promise<Login> {
  const token = parts.cookies.read(headers.get("cookie"), COOKIES.session);
  const read = token === undefined ? undefined : await parts.sessions.read(token);
  if (read?.ok === true) {
    return { kind: "session", principal: read.value.principal, session: read.value };
  }
  const basic = headers.get("authorization");
  const { driver } = parts;
  if (driver.kind === "basic" && isBasicHeader(basic)) {
    return await authenticateBasic(basic, caller, { driver, log: parts.log });
  }
  return { kind: "nobody", reason: read === undefined ? "no-session" : `session-${read.error}` };
}

async function authenticateBasic(
  header: string,
  caller: Caller,
  { driver, log }: { readonly driver: BasicDriver } & Pick<LoginParts, "log">,
): Promise<Login> {
  const said = parseBasicHeader(header);
  // Asked before the memory: a client past its limit must not learn which guess was right.
  const attempt = driver.attempts.begin(caller.keys, canonicalName(said?.name ?? ""));
  if ("retryAfterSeconds" in attempt) {
    return { kind: "limited", retryAfterSeconds: attempt.retryAfterSeconds };
  }
  const known = await driver.memory.recall(header);
  if (known !== undefined) {
    attempt.forgive();
    return { kind: "basic", principal: known };
  }
  const principal = said === undefined
    ? undefined
    : await driver.passwords.check(said.name, said.password);
  if (principal === BUSY) {
    attempt.withdraw();
    return { kind: "busy" };
  }
  if (principal === undefined) {
    log.warning("login failed", { way: "header", client: caller.address });
    return { kind: "nobody", reason: said === undefined ? "basic-malformed" : "basic-wrong" };
  }
  attempt.forgive();
  await driver.memory.keep(header, principal);
  return { kind: "basic", principal };
}
