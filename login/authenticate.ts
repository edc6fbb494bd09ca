/**
 * Authenticates a request by the session cookie, else by a preemptive `Authorization: Basic`
 * header. The header and the login form share one rate limit.
 *
 * @module
 */

import type { HeaderReader } from "core/http1/header_list.ts";
import { isBasicHeader, parseBasicHeader } from "login/basic/header.ts";
import { BUSY } from "login/basic/passwords.ts";
import { canonicalName } from "core/login/basic_users.ts";
import type { Caller } from "login/caller.ts";
import { COOKIES } from "login/cookies.ts";
import type { BasicDriver, LoginDeps } from "login/deps.ts";
import type { Session } from "login/session/sessions.ts";

/** The result of authentication. `reason` is for the log only. */
export type Login =
  | { readonly kind: "session"; readonly principal: string; readonly session: Session }
  | { readonly kind: "basic"; readonly principal: string }
  | { readonly kind: "limited"; readonly retryAfterSeconds: number }
  /** The queue of password checks is full; this password was not checked. */
  | { readonly kind: "busy" }
  | { readonly kind: "anonymous"; readonly reason: string };

type Needed = Pick<LoginDeps, "sessions" | "cookies" | "driver" | "log">;

/** Authenticates a request. */
export async function authenticate(
  headers: HeaderReader,
  caller: Caller,
  deps: Needed,
): Promise<Login> {
  const token = deps.cookies.read(headers.get("cookie"), COOKIES.session);
  const read = token === undefined ? undefined : await deps.sessions.read(token);
  if (read?.ok === true) {
    return { kind: "session", principal: read.value.principal, session: read.value };
  }
  const basic = headers.get("authorization");
  const { driver } = deps;
  if (driver.kind === "basic" && isBasicHeader(basic)) {
    return await authenticateBasic(basic, caller, { driver, log: deps.log });
  }
  return { kind: "anonymous", reason: read === undefined ? "no-session" : `session-${read.error}` };
}

async function authenticateBasic(
  header: string,
  caller: Caller,
  { driver, log }: { readonly driver: BasicDriver } & Pick<LoginDeps, "log">,
): Promise<Login> {
  const given = parseBasicHeader(header);
  // Before the cache: a client over its limit must not learn which guess was right.
  const attempt = driver.attempts.begin(caller.keys, canonicalName(given?.name ?? ""));
  if ("retryAfterSeconds" in attempt) {
    return { kind: "limited", retryAfterSeconds: attempt.retryAfterSeconds };
  }
  const known = await driver.headerCache.get(header);
  if (known !== undefined) {
    attempt.forgive();
    return { kind: "basic", principal: known };
  }
  const principal = given === undefined
    ? undefined
    : await driver.passwords.check(given.name, given.password);
  if (principal === BUSY) {
    attempt.withdraw();
    return { kind: "busy" };
  }
  if (principal === undefined) {
    log.warning("login failed", { way: "header", client: caller.address });
    return { kind: "anonymous", reason: given === undefined ? "basic-malformed" : "basic-wrong" };
  }
  attempt.forgive();
  await driver.headerCache.put(header, principal);
  return { kind: "basic", principal };
}
