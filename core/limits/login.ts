/**
 * Bounds of the login proxy, each with its unit in its name and its reason beside it.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The login proxy. */
export const LOGIN_LIMITS = {
  /** Failed attempts of one client in the window; one bucket for the form and the Basic header. */
  failedAttemptsMax: 8,
  failedWindowSeconds: 60,
  /** Clients whose failures are remembered; the one seen longest ago makes room. */
  clientsKept: 10_000,
  /** Passwords checked at once, of all clients. Each keeps a core busy: one core of two is left. */
  checksAtOnceMax: 4,
  /** Checks that wait for their turn; who comes then is asked to come again. */
  checksWaitingMax: 32,
  retrySeconds: 5,
  /** Believed Basic headers, so that a script does not pay for the hash at each request. */
  basicKept: 256,
  basicKeptSeconds: 300,
  /** A login form that is older than this has to be loaded again. */
  formSeconds: 3_600,
  /** Form tokens that are remembered as used. */
  usedFormsKept: 10_000,
  formBytesMax: 16 * KIB,
  /** Longest name and password that are looked at. */
  nameLengthMax: 254,
  passwordLengthMax: 1_024,
  returnPathLengthMax: 2_048,
  /** Hops of `X-Forwarded-For` that are walked, from the nearest. */
  forwardedHopsMax: 32,
  /** Body of a request on its way to the cockpit, whose own bound is lower for most routes. */
  requestBodyBytesMax: 16 * MIB,
  /** Time for the cockpit to begin its answer. */
  answerSeconds: 60,
  /** Tokens and assertions that are remembered, because their signatures cost most of a request. */
  signaturesKept: 1_024,
  /** An assertion is handed out again for the same request within this time; it lives longer. */
  assertionKeptSeconds: 10,
  /** A sign-in at the provider has to come back within this time. */
  flowSeconds: 600,
  flowsKept: 10_000,
  /** Tabs of one browser that sign in at once. */
  flowsPerBrowserMax: 8,
  /** The same of one client; its own oldest make room, never another's. */
  flowsPerClientMax: 256,
  /** The provider's metadata are asked for again after this long. */
  metadataSeconds: 3_600,
  /** An unknown key makes us ask for keys once in this time, so that strangers cannot drive it. */
  keysAgainSeconds: 30,
  /** Time and size of one answer of the provider. */
  providerSeconds: 10,
  providerBytesMax: MIB,
  /** How often the store is looked at for what another program has ended. */
  storeLookMs: 250,
  /** Accounts that somebody failed at: wrong passwords of strangers within the window. */
  accountFailuresMax: 50,
  accountWindowSeconds: 300,
  /** Buckets that names which are no account share. */
  unknownBuckets: 4_096,
  /** Clients that an account knows, because they were right before: they are never locked out. */
  knownClientsKept: 10_000,
  /** Sessions of one principal; the oldest ends when there are more. */
  sessionsPerPrincipalMax: 100,
} as const;
