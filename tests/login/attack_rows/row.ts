/**
 * The shape of a row in the list of attacks, and the names of the test files that rows point to.
 *
 * @module
 */

/** A test file, and substrings of the test titles or rows in it. */
export type Proof = readonly [file: string, ...words: readonly string[]];

/** One attack, and the tests that try it. */
export type Row = readonly [id: string, attack: string, ...proofs: readonly Proof[]];

/** The folder of the tests. */
export const LOGIN = "tests/login";
export const APP = `${LOGIN}/app_test.ts`;
export const ATTACKS = `${LOGIN}/attacks_test.ts`;
export const ATTEMPTS = `${LOGIN}/basic/attempts_test.ts`;
export const CALLER = `${LOGIN}/caller_test.ts`;
export const CONFIG = `${LOGIN}/config_test.ts`;
export const ENDED = `${LOGIN}/session/ended_elsewhere_test.ts`;
export const FORM = `${LOGIN}/routes/login_form_test.ts`;
export const FUZZ = `${LOGIN}/fuzz_test.ts`;
export const IDLE = `${LOGIN}/session/idle_test.ts`;
export const LIES = `${LOGIN}/oidc/lies_test.ts`;
export const LOGOUT = `${LOGIN}/routes/logout_test.ts`;
export const PASSWORDS = `${LOGIN}/basic/passwords_test.ts`;
export const PRINCIPAL = `${LOGIN}/oidc/principal_test.ts`;
export const PROXY = `${LOGIN}/proxy_test.ts`;
export const RAW = `${LOGIN}/raw_test.ts`;
export const REFRESH = `${LOGIN}/oidc/refresh_test.ts`;
export const RETURN = `${LOGIN}/return_path_test.ts`;
export const REVOKE = `${LOGIN}/revoke_process_test.ts`;
export const SESSIONS = `${LOGIN}/session/sessions_test.ts`;
export const SIGNED = "tests/core/crypto/signed_value_test.ts";
export const SIGN_IN = `${LOGIN}/oidc/sign_in_test.ts`;
export const TOKENS = `${LOGIN}/session/token_attacks_test.ts`;
