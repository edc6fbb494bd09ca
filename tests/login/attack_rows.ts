/**
 * The list of attacks on a login proxy that this one is held to, each with the tests that try it. Data only;
 * `attack_rows_test.ts` holds that they are there. That a refused request reached nobody is held by the rig
 * itself, for whatever a test asks through it (`tests/support/login_fixture.ts`), and by what the cockpit
 * has seen in the tests over real sockets.
 *
 * @module
 */

/** A test file, and words of the titles or rows in it. */
export type Proof = readonly [file: string, ...words: readonly string[]];

/** One attack. */
export interface AttackRow {
  readonly id: string;
  readonly attack: string;
  /** The tests; for what is no part of the login proxy, where it is instead. */
  readonly proofs: readonly Proof[];
  readonly apart?: string;
}

const LOGIN = "tests/login";
const APP = `${LOGIN}/app_test.ts`;
const ATTACKS = `${LOGIN}/attacks_test.ts`;
const ATTEMPTS = `${LOGIN}/basic/attempts_test.ts`;
const CALLER = `${LOGIN}/caller_test.ts`;
const CONFIG = `${LOGIN}/config_test.ts`;
const ENDED = `${LOGIN}/session/ended_elsewhere_test.ts`;
const FORM = `${LOGIN}/routes/login_form_test.ts`;
const FUZZ = `${LOGIN}/fuzz_test.ts`;
const IDLE = `${LOGIN}/session/idle_test.ts`;
const LIES = `${LOGIN}/oidc/lies_test.ts`;
const LOGOUT = `${LOGIN}/routes/logout_test.ts`;
const PASSWORDS = `${LOGIN}/basic/passwords_test.ts`;
const PRINCIPAL = `${LOGIN}/oidc/principal_test.ts`;
const PROXY = `${LOGIN}/proxy_test.ts`;
const RAW = `${LOGIN}/raw_test.ts`;
const REFRESH = `${LOGIN}/oidc/refresh_test.ts`;
const RETURN = `${LOGIN}/return_path_test.ts`;
const REVOKE = `${LOGIN}/revoke_process_test.ts`;
const SESSIONS = `${LOGIN}/session/sessions_test.ts`;
const SIGNED = "tests/core/signed_value_test.ts";
const SIGN_IN = `${LOGIN}/oidc/sign_in_test.ts`;
const TOKENS = `${LOGIN}/session/token_attacks_test.ts`;
const PASSKEYS = "passkeys are no part of the proxy yet";

type Row = readonly [id: string, attack: string, ...proofs: readonly Proof[]];

const SESSION_ROWS: readonly Row[] = [
  ["A1", "a session token that is cut", [SESSIONS, "a token that is cut, changed or spelled"]],
  ["A2", "a bit of fields or signature turned", [TOKENS, "with any one bit of it turned"]],
  ["A3", "the same bytes spelled otherwise", [TOKENS, "in another spelling of the same bytes"], [
    SIGNED,
    "fromBase64Url() reads what toBase64Url() writes, and no other spelling",
  ]],
  ["A4", "a signature that is empty, short, long or twice", [
    TOKENS,
    "whose signature has another length, or is not there",
  ]],
  ["A5", "a value of one purpose as another's", [ATTACKS, "A5:"], [
    FORM,
    "a session is no form token, and a form token no session",
  ], [SIGNED, "another purpose's key", "another purpose inside"]],
  ["A6", "an expiry that is past, odd or endless", [
    SIGNED,
    "the second of its expiry",
    "a signed expiry",
    "a hex expiry",
  ], [SESSIONS, "a session ends at its time, whatever the clock did before"]],
  ["A7", "a principal that could be two things", [ATTACKS, "A7:"], [
    PRINCIPAL,
    "two at signs",
    "a bar",
    "a dot behind the domain",
    "10 kB",
  ]],
  ["A8", "keys of a ring, old, new and unknown", [SIGNED, "accepts each key of a ring"], [
    SESSIONS,
    "a new key in front of the ring ends no session",
  ]],
  [
    "A9",
    "a session after logout, revocation and end of all",
    [LOGOUT, "cuts what is open"],
    [
      REVOKE,
      "Deno.test",
    ],
    [ENDED, "a session that ends"],
    [PROXY, "a logout cuts both ends"],
  ],
  ["A10", "two session cookies", [SESSIONS, "only when it is there once"], [ATTACKS, "A12:"]],
  ["A11", "names and quotes that a lenient reader takes", [ATTACKS, "A11:"], [
    FUZZ,
    "the jar reads",
  ]],
  ["A12", "cookies in several lines", [ATTACKS, "A12:"]],
  ["A13", "cookies of any number and size", [ATTACKS, "A13:"], [RAW, "a long cookie"]],
  ["A14", "an idle session with an open stream", [IDLE, "an open stream is no use of its session"]],
  ["A15", "a session of somebody who is taken out", [
    SESSIONS,
    "a session ends with its password, and with its user",
  ], ["tests/gateway/cockpit/matrix_test.ts", "Deno.test"]],
  ["A16", "a clock that is set", [SESSIONS, "whatever the clock did before"]],
  ["A17", "a session of another host", [ATTACKS, "A17:"], [
    SESSIONS,
    "a signed token without a row",
  ]],
  ["A18", "a session that was there before the login", [
    FORM,
    "a login ends the session that the browser had before",
  ], [SIGN_IN, "a login ends the session that the browser had before"]],
];

const REDIRECT_ROWS: readonly Row[] = [
  ["D39", "return paths that lead elsewhere", [RETURN, "never leaves the origin"], [
    FUZZ,
    "never leads to another origin",
  ], [FORM, "to a path of this site only"]],
  ["D40", "return paths to what is no page", [RETURN, "/auth/logout", "/api/turns", "/terminal/x"]],
  ["D41", "a return path that changes on the way", [ATTACKS, "D41:"]],
  ["D42", "a second header in an address", [ATTACKS, "D42:"]],
  ["D43", "hosts that are not ours", [ATTACKS, "D43:"], [RAW, "two hosts"], [
    APP,
    "hosts that are none",
  ]],
  ["D44", "a logout that another site wishes", [
    LOGOUT,
    "a link of another site",
    "a frame of another site",
    "an image of another site",
    "a prefetch",
    "a HEAD",
  ]],
  ["D45", "login pages in a frame", [APP, "frame-ancestors 'none'"]],
];

const PROVIDER_ROWS: readonly Row[] = [
  ["E46", "states that are absent, cut, foreign, used or old", [
    SIGN_IN,
    "no state",
    "half a state",
    "two states",
    "a callback is good once",
    "a sign-in that failed is used up too",
    "a sign-in has ten minutes",
    "/auth/callback",
  ]],
  ["E47", "codes that are absent, doubled, foreign or beside an error", [
    LIES,
    "no code",
    "somebody else's code",
    "an error and a code",
  ], [SIGN_IN, "two codes"]],
  ["E48", "a sign-in of the attacker in another's browser", [
    SIGN_IN,
    "for the browser that began it",
    "a callback that is no navigation of a person",
    "with the prefix every cookie has it",
  ]],
  ["E49", "an issuer that is absent, other or nearly right", [
    LIES,
    "no issuer though it promises one",
    "its issuer with a slash",
    "another issuer (rp-id_token-issuer-mismatch)",
  ]],
  ["E50", "algorithms and headers of an ID token", [
    LIES,
    "alg none (rp-id_token-sig-none)",
    "alg nOnE",
    "HS256 with the client's secret",
    "an unknown critical header",
    "a payload that is not encoded (b64)",
    "a key of its own in the header",
    "five parts, as an encrypted token has",
  ]],
  ["E51", "keys that are unknown, unusable or named by a path", [
    LIES,
    "an unknown kid",
    "a kid that is a query",
    "no kid and two keys",
    "a key for another use",
    "a key for another algorithm",
    "a key off its curve",
    "an RSA key of 512 bits",
  ]],
  ["E52", "keys that rotate, flood, redirect or are none", [
    LIES,
    "new keys are fetched once when one is unknown",
    "keys of 10 MB",
    "keys by redirect",
    "keys that are no JSON",
    "keys at a plain address",
  ]],
  ["E53", "audiences and azp", [
    LIES,
    "another audience (rp-id_token-aud)",
    "a list without us",
    "a list with us and a foreign azp",
    "a foreign azp",
  ]],
  ["E54", "times of an ID token", [
    LIES,
    "an expiry in the past",
    "an expiry beyond all times",
    "an expiry that is a text",
    "no expiry",
    "no time of issue (rp-id_token-iat)",
    "a time of issue in the future",
    "a start in the future",
  ]],
  ["E55", "nonce and at_hash", [
    LIES,
    "no nonce (rp-nonce-invalid)",
    "another nonce",
    "another access token",
    "a code with another flow's verifier",
  ]],
  ["E56", "subjects, in the token and in user info", [
    LIES,
    "no subject (rp-id_token-sub)",
    "a subject of 300 bytes",
    "rp-userinfo-bad-sub-claim",
    "user info that is a list",
    "user info as an unsigned JWT",
  ]],
  ["E57", "addresses that are unverified or odd", [
    PRINCIPAL,
    "not verified, as a text",
    "two at signs",
    "a comment",
    "a dotless i",
    "a Kelvin sign",
    "punycode",
  ]],
  ["E58", "an address that was given to somebody else", [
    PRINCIPAL,
    "an address belongs to who was first seen with it",
  ]],
  ["E59", "a name that looks like a victim's address", [
    PRINCIPAL,
    "everybody's provider, a name that looks like an address",
  ]],
  // A provider that ignores the verifier cannot be found out without a login; the nonce holds there.
  ["E60", "a provider without PKCE, or one that does not look", [
    LIES,
    "no PKCE",
    "a code with another flow's verifier",
  ], [SIGN_IN, "no two sign-ins share a state, a nonce or a verifier"]],
  ["E61", "many sign-ins at once", [SIGN_IN, "two hundred parallel sign-ins never cross"]],
  ["E62", "many tabs at once", [SIGN_IN, "ten tabs sign in at once under one cookie"]],
  ["E63", "answers of the token endpoint that are none", [
    LIES,
    "tokens by redirect",
    "tokens as a page",
    "tokens of 10 MB",
    "tokens that never end",
    "an error with a script in it",
  ]],
  ["E64", "metadata that are another's, plain or redirected", [
    LIES,
    "metadata of another issuer",
    "metadata by redirect",
    "a plain place to sign in",
  ], [CONFIG, "a plain issuer"]],
  ["E66", "refresh references that come again, or after the end", [
    REFRESH,
    "a reference that comes again has been copied",
    "tabs that come at once share one refresh",
    "a refresh under way opens nothing after",
    "a provider that says no ends it",
    "a refresh that comes back with",
  ]],
];

const PASSWORD_ROWS: readonly Row[] = [
  ["F69", "a form without its token, with another's or a used one", [
    FORM,
    "no cookie",
    "the field of another browser",
    "two cookies",
    "a form is good for one post and for an hour",
  ], [ATTACKS, "F69:"]],
  ["F70", "a form that another site posts", [
    FORM,
    "is refused before anything is looked at",
    "a post without fetch metadata needs the origin",
    "a body of another type or size is refused",
  ]],
  ["F71", "the ninth failure, by form and header", [
    FORM,
    "the ninth attempt in a minute is refused",
  ]],
  ["F72", "one account by many, many by one, and a success between", [
    ATTEMPTS,
    "an account has a limit for strangers",
    "a name that is no account is limited as one is",
  ], [FORM, "a success between failures takes nothing off the count"]],
  ["F73", "addresses of one network, in every spelling", [
    ATTEMPTS,
    "the networks around an IPv6 client have rising limits",
  ], [CALLER, "is one for all spellings of an address"]],
  ["F74", "forwarding headers that lie", [ATTACKS, "F74:"], [
    CALLER,
    "a peer that lies",
    "a client that lies to a proxy",
    "bounds the hops",
  ], [FORM, "nobody else can name another"]],
  ["F75", "names in every spelling", [ATTACKS, "F75:"]],
  ["F76", "a million bogus names", [`${LOGIN}/memory_process_test.ts`, "bogus names cost at most"]],
  ["F77", "time that tells names from one another", [ATTACKS, "F77:"], [
    FORM,
    "a wrong name and a wrong password look alike",
  ]],
  ["F78", "passwords with separators, of any length, and those that a hash would cut", [
    "tests/core/password_test.ts",
    "takes no password that bcrypt would cut",
  ], ["tests/core/basic_users_test.ts", "parseBasicUsers() reads what printBasicUsers() wrote"]],
  ["F79", "Basic headers that are not exactly one", [SESSIONS, "a Basic header opens nothing"], [
    APP,
    "a script with a password",
  ]],
  ["F80", "a password that a browser attaches by itself", [ATTACKS, "F80:"], [
    APP,
    "a password that another site made the browser send",
  ]],
  ["F81", "five hundred guesses at once", [ATTACKS, "F81:"], [
    PASSWORDS,
    "check() runs few at once",
  ]],
  ["F82", "a clock that is set during a limit", [ATTACKS, "F82:"]],
  ["F83", "settings that must not start", [
    CONFIG,
    "readLoginConfig() refuses",
    "names every fault at once",
    "every proxy",
    "a short key",
  ]],
];

/** What closes each hole of the described design. */
const RULE_ROWS: readonly Row[] = [
  ["L1", "an identity without a proof", [
    APP,
    "drops every spelling",
    "with identity and assertion",
  ], [
    "tests/core/access/access_test.ts",
    "verifyAssertion",
  ]],
  ["L2", "sessions that a logout cannot end", [LOGOUT, "cuts what is open"], [IDLE, "has ended"], [
    REVOKE,
    "Deno.test",
  ]],
  ["L3", "a rotation that ends all sessions", [SESSIONS, "a new key in front of the ring"]],
  ["L4", "a token with two readings", [SIGNED, "sign() refuses", "padding"], [TOKENS, "spelling"]],
  ["L5", "exempt paths with two readings", [APP, "in exactly one spelling"], [
    FUZZ,
    "isExempt() lets nothing pass",
  ], [RAW, "a path out of an exempt one"]],
  ["L6", "identity headers that fold to ours", [APP, "drops every spelling"], [
    FUZZ,
    "passes no name on that folds to one of ours",
  ], [RAW, "identity headers in three spellings"]],
  ["L7", "a principal by claims that may change", [PRINCIPAL, "first seen with it"]],
  ["L8", "one state for all tabs", [SIGN_IN, "ten tabs sign in at once", "are bounded"]],
  ["L9", "guesses counted in one way only", [ATTEMPTS, "networks around", "a bounded number"]],
  ["L10", "forwarding headers of anybody", [CALLER, "callerOf()"], [CONFIG, "every IPv6 proxy"]],
  ["L11", "streams that outlive their session", [PROXY, "a logout cuts"], [LOGOUT, "an expired"]],
  ["L12", "sockets of other sites", [APP, "upgrade() tunnels a socket of our own page"], [
    ATTACKS,
    "D43:",
  ]],
  ["L14", "a logout by another site", [LOGOUT, "a post of another site"]],
  ["L16", "passwords over a plain port", [FORM, "at an insecure address there is no form"], [
    CONFIG,
    "warns of what is soft",
  ]],
  ["L17", "cookies that another name may set", [SIGN_IN, "with the prefix every cookie has it"]],
];

/** The connection itself: what the field has been caught with since. */
const WIRE_ROWS: readonly Row[] = [
  ["W1", "two framings of one request", [RAW, "a length and chunks", "two lengths"]],
  ["W2", "chunks that are none", [RAW, "a body that is no chunks is a 400"]],
  ["W3", "heads that are not all ASCII", [RAW, "bytes that are no ASCII"]],
  ["W4", "connections without number", [`${LOGIN}/connections_test.ts`, "closes its own oldest"], [
    "tests/core/os/http1_crowd_test.ts",
    "a client whose every connection is at work is turned away",
  ], [`${LOGIN}/descriptors_process_test.ts`, "who waits makes room for who asks"]],
  ["W5", "a refusal that a reset takes away", [
    "tests/core/os/http1_attacks_test.ts",
    "a refused upgrade is read by a client",
  ]],
];

const APART: Readonly<Record<string, string>> = {
  E65: "the issuer ends no sessions here: there is no such route, and /auth/… answers 404",
  E67: "connections of agents are the cockpit's, and the proxy passes them on as any request",
  E68: "the broker is a program of its own",
  G84: PASSKEYS,
  G85: PASSKEYS,
  G86: PASSKEYS,
  G87: PASSKEYS,
  G88: PASSKEYS,
  G89: PASSKEYS,
  G90: "X-WebAuthn-State passes untouched: tests/login/attacks_test.ts",
  G91: "there are no one-time codes",
  J104: "routes of the cockpit: tests/gateway/cockpit/matrix_test.ts",
  J105: "routes of the cockpit: tests/gateway/cockpit/matrix_test.ts",
  J106: "bodies of the cockpit: tests/gateway/cockpit/app_test.ts",
  J107: "scopes of the cockpit: tests/gateway/cockpit/matrix_test.ts",
  L13: "connections and broker, as E67 and E68",
  L15: PASSKEYS,
};

/** All of them. */
export const ATTACK_ROWS: readonly AttackRow[] = [
  ...[
    ...SESSION_ROWS,
    ...REDIRECT_ROWS,
    ...PROVIDER_ROWS,
    ...PASSWORD_ROWS,
    ...RULE_ROWS,
    ...WIRE_ROWS,
  ]
    .map(([id, attack, ...proofs]): AttackRow => ({ id, attack, proofs })),
  ...Object.entries(APART).map(([id, apart]): AttackRow => ({
    id,
    attack: apart,
    proofs: [],
    apart,
  })),
];
