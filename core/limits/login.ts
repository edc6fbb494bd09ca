/**
 * Limits of the login proxy. Each name has its unit, and each comment its reason.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The login proxy. */
export const LOGIN_LIMITS = {
  /** Failed attempts of one client in the window; the form and the Basic header share them. */
  failedAttemptsMax: 8,
  failedWindowSeconds: 60,
  /** Clients whose failures are remembered; the one seen longest ago is evicted. */
  clientsKept: 10_000,
  /** Concurrent password checks of all clients. Each keeps a core busy, so one core stays free. */
  concurrentChecksMax: 4,
  /** Checks that wait for their turn; a further one gets "try again later". */
  checksWaitingMax: 32,
  retrySeconds: 5,
  /**
   * Accepted Basic headers that are cached, so that a script does not pay for the hash each time.
   */
  basicKept: 256,
  basicKeptSeconds: 300,
  /** A login form older than this must be loaded again. */
  formSeconds: 3_600,
  /** Used form tokens that are remembered. */
  usedFormsKept: 10_000,
  formBytesMax: 16 * KIB,
  /** Longest name and password that are checked. */
  nameLengthMax: 254,
  passwordLengthMax: 1_024,
  returnPathLengthMax: 2_048,
  /** Hops of `X-Forwarded-For` that are evaluated, from the nearest. */
  forwardedHopsMax: 32,
  /** Largest body of a request to the cockpit; most cockpit routes have lower limits. */
  requestBodyBytesMax: 16 * MIB,
  /** Time for the cockpit to start its answer. */
  answerSeconds: 60,
  /** Tokens and assertions that are cached, because a signature costs most of a request. */
  signaturesKept: 1_024,
  /** An assertion is reused for the same request within this time; it lives longer. */
  assertionKeptSeconds: 10,
  /** A sign-in at the provider must return within this time. */
  flowSeconds: 600,
  flowsKept: 10_000,
  /** Concurrent sign-ins in the tabs of one browser. */
  flowsPerBrowserMax: 8,
  /** The same per client; a client's own oldest are evicted, never another client's. */
  flowsPerClientMax: 256,
  /** The provider's metadata are fetched again after this long. */
  metadataSeconds: 3_600,
  /**
   * An unknown key triggers at most one fetch of keys in this time, so strangers cannot flood it.
   */
  keysAgainSeconds: 30,
  /** Time and size limit of one answer of the provider. */
  providerSeconds: 10,
  providerBytesMax: MIB,
  /** How often the session store is checked for sessions that another program has ended. */
  storePollMs: 250,
  /** Failed attempts on one account by unknown clients within the window. */
  accountFailuresMax: 50,
  accountWindowSeconds: 300,
  /** Buckets that count the failures of names that are not accounts. */
  unknownBuckets: 4_096,
  /** Clients that have signed in to an account before; the account limit never locks them out. */
  knownClientsKept: 10_000,
  /** Sessions of one principal; above it the oldest ends. */
  sessionsPerPrincipalMax: 100,
} as const;
