/**
 * Mutants of the login proxy: each removes one check and names the tests that must fail. Those of
 * the provider are in `oidc_mutants.ts`, those of the listener in `http_mutants.ts`. Data only;
 * `mutants_process_test.ts` runs them.
 *
 * @module
 */

/** One removed check. */
export interface Mutant {
  /** The removed check. */
  readonly check: string;
  readonly file: string;
  /** Text that occurs exactly once in the file. */
  readonly from: string;
  readonly to: string;
  /** Test files that must fail. */
  readonly tests: readonly string[];
}

const APP = "tests/login/app_test.ts";
const FORM = "tests/login/routes/login_form_test.ts";
const LOGOUT = "tests/login/routes/logout_test.ts";
const SESSIONS = "tests/login/session/sessions_test.ts";
const IDLE = "tests/login/session/idle_test.ts";
const RACE = "tests/login/session/lease_race_test.ts";
const ENDED = "tests/login/session/ended_elsewhere_test.ts";
const COOKIES = "tests/login/cookies_test.ts";
const REFRESH = "tests/login/oidc/refresh_test.ts";
const ATTACKS = "tests/login/attacks_test.ts";
const RAW = "tests/login/raw_test.ts";
const PASSWORDS = "tests/login/basic/passwords_test.ts";
const ATTEMPTS = "tests/login/basic/attempts_test.ts";
const SIGNED = "tests/core/crypto/signed_value_test.ts";

/** All mutants. */
export const MUTANTS: readonly Mutant[] = [
  {
    check: "the number of passwords that wait for a check",
    file: "login/basic/passwords.ts",
    from: "if (waiting.length >= waitingMax) return BUSY;",
    to: "",
    tests: [PASSWORDS],
  },
  {
    check: "the number of passwords that are checked at once",
    file: "login/basic/passwords.ts",
    from: "if (running >= atOnceMax) {",
    to: "if (running >= 1_000) {",
    tests: [PASSWORDS],
  },
  {
    check: "hashes in separate threads",
    file: "login/basic/passwords.ts",
    from: "await isPasswordOf(given, isOwn ? own : hash, work);",
    to: "await isPasswordOf(given, isOwn ? own : hash);",
    tests: [PASSWORDS],
  },
  {
    check: "an unchecked password, which opens nothing",
    file: "login/app.ts",
    from: 'if (login.kind === "busy") return denyBusy(context);',
    to: "",
    tests: [PASSWORDS],
  },
  {
    check: "an unchecked password, which is not counted",
    file: "login/basic/attempts.ts",
    from: "withdraw,\n        forgive",
    to: "withdraw: () => {},\n        forgive",
    tests: [PASSWORDS],
  },
  {
    check: "the signature of a token",
    file: "core/crypto/signed_value.ts",
    from: 'if (!hits.includes(true)) return err("signature");',
    to: "",
    tests: [SIGNED, SESSIONS],
  },
  {
    check: "the purpose of a token, and a key for each",
    file: "core/crypto/signed_value.ts",
    from: "info: text.encode(`fleetctl/signed-value/1/${purpose}`),",
    to: "info: text.encode(`fleetctl/signed-value/1/`),",
    tests: [SIGNED],
  },
  {
    check: "the expiry of a token",
    file: "core/crypto/signed_value.ts",
    from: 'if (fields.expiresAt * 1000 <= nowMs) return err("expired");',
    to: "",
    tests: [SIGNED],
  },
  {
    check: "the canonical spelling of base64",
    file: "core/crypto/signed_value.ts",
    from: "return toBase64Url(bytes) === text ? bytes : undefined;",
    to: "return bytes;",
    tests: [SIGNED, SESSIONS],
  },
  {
    check: "an empty principal",
    file: "core/crypto/signed_value.ts",
    from: 'if (fields.principal.trim() === "") return err("principal");',
    to: "",
    tests: [SIGNED],
  },
  {
    check: "the row of a session",
    file: "login/session/sessions.ts",
    from: 'if (row === undefined || row.principal !== principal) return err("unknown");',
    to: "if (row === undefined) return ok({ id, principal, expires: expiresAt * 1000 });",
    tests: [ENDED],
  },
  {
    check: "the password behind a session",
    file: "login/session/sessions.ts",
    from: 'if (!await this.#isFingerprintCurrent(row)) return err("password-changed");',
    to: "",
    tests: [SESSIONS],
  },
  {
    check: "a repeated cookie",
    file: "login/cookies.ts",
    from: "return values.length === 1 ? values[0] : undefined;",
    to: "return values[0];",
    tests: [SESSIONS],
  },
  {
    check: "the proxy's cookies in requests to the cockpit",
    file: "login/cookies.ts",
    from: "filter((pair) => !isOwnCookie(pair.name));",
    to: "filter(() => true);",
    tests: [APP],
  },
  {
    check: "the proxy's cookies in answers of the cockpit",
    file: "login/proxy/headers.ts",
    from: 'if (name === "set-cookie" && !isUpstreamCookie(value)) continue;',
    to: "",
    tests: [APP],
  },
  {
    check: "cookies without a name from the cockpit",
    file: "login/cookies.ts",
    from: "return isNamed && !isOwnCookie(setCookie);",
    to: "return !isOwnCookie(setCookie);",
    tests: [COOKIES],
  },
  {
    check: "the memory of sessions that another process ends",
    file: "login/session/sessions.ts",
    from: "this.#activeCache.clear();",
    to: "",
    tests: [ENDED],
  },
  {
    check: "a session that ends before its lease is taken",
    file: "login/app.ts",
    from: "if (await sessions.isActive(login.session)) return lease;",
    to: "if (login.session !== undefined) return lease;",
    tests: [RACE],
  },
  {
    check: "a session that ends while it is looked up",
    file: "login/session/sessions.ts",
    from: 'if (this.#find(id) === undefined) return err("unknown");',
    to: "",
    tests: [ENDED],
  },
  {
    check: "a refresh that is overtaken",
    file: "core/login/store.ts",
    from: "if (use.run(digest).changes !== 1) return undefined;",
    to: "use.run(digest);",
    tests: [REFRESH],
  },
  {
    check: "an identity in an answer of the cockpit",
    file: "login/proxy/headers.ts",
    from: "if (isReserved(name)) continue;",
    to: "",
    tests: ["tests/login/fuzz_test.ts"],
  },
  {
    check: "other spellings of the identity",
    file: "login/proxy/headers.ts",
    from: 'return name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");',
    to: "return name.toLowerCase();",
    tests: [APP],
  },
  {
    check: "names in Connection",
    file: "login/proxy/headers.ts",
    from: "if (!isKept(name) || named.has(name)) continue;",
    to: "if (!isKept(name)) continue;",
    tests: [APP],
  },
  {
    check: "forwarding headers of untrusted peers",
    file: "login/caller.ts",
    from: "isTrusted: address !== undefined && isIn(trusted, address),",
    to: "isTrusted: address !== undefined,",
    tests: ["tests/login/caller_test.ts", FORM],
  },
  {
    check: "ambiguous exempt paths",
    file: "login/proxy/exempt.ts",
    from: "if (AMBIGUOUS.test(pathname)) return false;",
    to: "",
    tests: [APP],
  },
  {
    check: "the method of exempt paths",
    file: "login/proxy/exempt.ts",
    from: 'if (method !== "GET" && method !== "HEAD") return false;',
    to: "",
    tests: [APP],
  },
  {
    check: "pages of other sites",
    file: "login/app.ts",
    from: 'if (proof === "own" || (proof === "none" && login.kind === "basic")) return undefined;',
    to: "if (proof.length > 0) return undefined;",
    tests: [APP],
  },
  {
    check: "the origin of an upgrade",
    file: "login/app.ts",
    from: 'return bySite === "foreign" ? bySite : byOrigin;',
    to: 'return bySite === "foreign" ? bySite : bySite === "own" ? bySite : byOrigin;',
    tests: [APP],
  },
  {
    check: "the host of a request",
    file: "login/app.ts",
    from:
      "if (caller.host === undefined) return deny(REFUSALS.host(), { requestId, isPage: false });",
    to: "",
    tests: [APP, RAW],
  },
  {
    check: "hosts other than the proxy's own",
    file: "login/caller.ts",
    from: "name === publicUrl.hostname ||",
    to: "name.length > 0 ||",
    tests: [ATTACKS],
  },
  {
    check: "the size of a body",
    file: "login/proxy/body.ts",
    from: "if (bytes <= bytesMax) return controller.enqueue(value);",
    to: "if (bytes <= 3 * bytesMax) return controller.enqueue(value);",
    tests: [APP],
  },
  {
    check: "the form's token",
    file: "login/basic/form_token.ts",
    from: 'if (!isEqualInConstantTime(field, cookie)) return "mismatch";',
    to: "",
    tests: [FORM],
  },
  {
    check: "a form that was used",
    file: "login/basic/form_token.ts",
    from: 'if (used.has(nonce)) return "used";',
    to: "",
    tests: [FORM],
  },
  {
    check: "the page that a form is posted from",
    file: "login/routes/login_form.ts",
    from: 'if (pageProof(headers, caller, deps.publicUrl?.origin) !== "own") {',
    to: "if (pageProof(headers, caller, deps.publicUrl?.origin).length === 0) {",
    tests: [FORM],
  },
  {
    check: "the type of a form's body",
    file: "login/routes/login_form.ts",
    from: "if (type !== FORM_TYPE) return deny(REFUSALS.form(), denyOptions(context));",
    to: "",
    tests: [FORM],
  },
  {
    check: "failures of a client",
    file: "login/basic/attempts.ts",
    from: "...client.map((key, level) => clients.wait(key, CLIENT_MAX[level] ?? Infinity, now)),",
    to: "",
    tests: [ATTEMPTS, FORM],
  },
  {
    check: "failures of an account",
    file: "login/basic/attempts.ts",
    from: "isKnown ? 0 : accounts.wait(bucket, accountFailuresMax, now),",
    to: "0,",
    tests: [ATTEMPTS],
  },
  {
    check: "the networks around a client",
    file: "core/net/ip.ts",
    from: ": [own, ...WIDER_BITS_V6.map((bits) => `${masked(address, bits)}/${bits}`)];",
    to: ": [own];",
    tests: [ATTEMPTS],
  },
  {
    check: "a logout that another site requests",
    file: "login/routes/logout.ts",
    from: 'if (method === "GET" && (proof === "foreign" || isPrefetch || isPart)) {',
    to: 'if (method === "GET" && proof.length === 0) {',
    tests: [LOGOUT],
  },
  {
    check: "return paths to other hosts",
    file: "login/return_path.ts",
    from: 'if (given.startsWith("//") || RISKY.test(given) || !given.isWellFormed()) return "/";',
    to: "",
    tests: ["tests/login/return_path_test.ts"],
  },
  {
    check: "the idle time of a session",
    file: "login/session/sessions.ts",
    from: 'if (this.#expiryOfRow(row) <= now) return err("idle");',
    to: "",
    tests: [IDLE],
  },
  {
    check: "an open stream, which does not count as use",
    file: "login/session/leases.ts",
    from: "if (later !== undefined && later > clock.now()) return until(later);",
    to: "if (later !== undefined) return until(later + 3_600_000);",
    tests: [IDLE],
  },
  {
    check: "the sessions of an ended reference",
    file: "core/login/store.ts",
    from: "dropSessions.run(family);",
    to: "",
    tests: [REFRESH],
  },
  {
    check: "a reference and its session in one write",
    file: "core/login/store.ts",
    from: "return open(session);",
    to: "return [];",
    tests: [REFRESH],
  },
];
