/**
 * Every number that bounds something, with its unit in its name and its reason beside it.
 * A limit lives here and nowhere else, so that a reader can judge them together.
 *
 * @module
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** Frames between dial unit and gateway (decision 11, docs/protocol.md). */
export const DIAL_LIMITS = {
  /** The register frame must arrive within this time. */
  registerSeconds: 5,
  /** Size of a frame before registration. */
  unregisteredFrameBytesMax: 64 * KIB,
  /** Size of a frame after registration; one durable event fits with room for its envelope. */
  frameBytesMax: MIB,
  /** The gateway pings at this pace and ends a connection that missed two pongs. */
  heartbeatSeconds: 15,
  /**
   * The gateway looks this often whether the enrolled keys have changed, while anybody is connected:
   * a revoked key ends its session well within a second.
   */
  keyFileLookMs: 250,
  /**
   * A list of keys that was changed within this time is read at each look: by then, times of the
   * coarsest file systems (two seconds) tell one change from the next.
   */
  keyFileSettledMs: 3_000,
  /** Keys that wait for the ledger are sent again after this long, doubling. */
  keyForwardFirstMs: 1_000,
  /** Longest wait while nobody answers on the daemon's socket. */
  keyForwardAwayMsMax: 15_000,
  /** Longest wait after the daemon refused, which each time costs it a program and an audit row. */
  keyForwardRefusedMsMax: 600_000,
  /** A dial unit that heard nothing for this long gives the connection up. */
  silenceSecondsMax: 45,
  /** Bytes that may wait in a socket before the sender stops (previews) or closes it (events). */
  socketBufferBytesMax: MIB,
  /** Unacknowledged durable events in flight; more wait in the outbox. */
  unacknowledgedEventsMax: 256,
  /** Frames of one connection that wait to be stored; more means that the peer ignores the window. */
  unstoredEventsMax: 1024,
  /** The same in bytes. */
  unstoredBytesMax: 16 * MIB,
  /**
   * Connections that have not registered yet, all peers together. When they are that many, the
   * oldest of the address that holds most makes room.
   */
  unregisteredConnectionsMax: 256,
  /**
   * The same of one address (IPv6: one /64): a host whose agents all come back at once fits, four
   * such hosts fit together.
   */
  unregisteredPerAddressMax: 64,
  /** The same of loopback, where a whole fleet may live; a quarter stays for other hosts. */
  unregisteredLoopbackMax: 192,
  /** A gateway that closes on purpose spreads the return of its agents over this time. */
  returnSpreadMs: 5_000,
  /** A job of a host takes no longer; `apply` may vendor packages. The verb goes on at its daemon. */
  jobSeconds: 600,
  /** Jobs that wait for one host at once. */
  jobsPerHostMax: 8,
  /** Ended jobs of one host that the page can still show, and documents that are kept of all. */
  jobsKeptPerHost: 8,
  jobReportsKept: 32,
  /** Characters of what the verb of a job printed; quoted in its frame it stays below the frame's size. */
  jobOutputLengthMax: 256 * KIB,
  /** A line about where a job stands. */
  jobProgressLengthMax: 200,
  /** The outbox on disk; when it is full the runtime is not read from until it drains. */
  outboxBytesMax: 64 * MIB,
} as const;

/** Reconnect ladder of a dial unit: doubling, full jitter, reset after a stable connection. */
export const BACKOFF_LIMITS = {
  firstMs: 500,
  maxMs: 15_000,
  stableMs: 5_000,
} as const;

/** Turns and events. */
export const TURN_LIMITS = {
  textBytesMax: 256 * KIB,
  /** Turns waiting at the gateway for one agent. */
  queuedTurnsMax: 64,
  /** Text of one tool result as stored in the event log; the rest is cut and the cut is stated. */
  toolResultBytesMax: 256 * KIB,
  /** Arguments of one tool call as stored in the event log. */
  toolArgumentsBytesMax: 64 * KIB,
  /** One message of the assistant in one event; longer ones are split. */
  messageBytesMax: 256 * KIB,
  idempotencyKeyLengthMax: 128,
  /** Ended turns that a dial unit remembers, so that a repeated one is not run again. */
  endedTurnsKept: 1024,
} as const;

/** Messages between agents. */
export const MESSAGE_LIMITS = {
  textBytesMax: 64 * KIB,
  /** Messages of one agent in one minute. */
  perMinuteMax: 30,
  /** Turns that follow from one another by messages; ends two agents that thank each other. */
  hopsMax: 8,
  /** How long a sender waits for the gateway's answer. */
  answerSeconds: 30,
} as const;

/** Streams from the gateway to browsers. */
export const STREAM_LIMITS = {
  /** Bytes queued for one client before it is told `lagged` and must refetch. */
  clientBufferBytesMax: MIB,
  /** Events replayed at once from the log for one resume; more means `lagged`. */
  replayEventsMax: 10_000,
  keepAliveSeconds: 15,
  requestBodyBytesMax: MIB,
  /** Events and bytes of one page of a transcript. */
  pageEventsMax: 500,
  pageEventsDefault: 100,
  pageBytesMax: 4 * MIB,
  /** Agents named in one `topics` list. */
  topicsMax: 64,
  /** Open streams of one viewer. */
  streamsPerViewerMax: 64,
} as const;

/** Every HTTP listener: cockpit, dial-in and login. */
export const HTTP_LIMITS = {
  /** A peer has this long to send its headers, from its connection or its last answer on. */
  headersMsMax: 10_000,
  /** The same for a request with its body; an answer may take any time. */
  requestMsMax: 30_000,
  /** A connection without a request is kept this long for the next one. */
  keepAliveMs: 5_000,
  /** How often the two bounds above are looked at, so a connection may live this much longer. */
  checkMs: 2_500,
} as const;

/** A proxy's connections to the one server behind it. */
export const UPSTREAM_LIMITS = {
  /** Head of an answer. */
  headBytesMax: 64 * KIB,
  /** Read at once; a stream holds this much and no more. */
  readBytes: 16 * KIB,
  /** Answers such as 103 before the answer itself. */
  interimAnswersMax: 8,
  /** Connections that are kept for the next request; as many may be in the making. */
  idleConnectionsMax: 64,
  /** Kept for less than the server keeps them (`HTTP_LIMITS.keepAliveMs`). */
  idleMsMax: 4_000,
} as const;

/** Short requests to servers elsewhere (`core/os/http_call.ts`). */
export const HTTP_CALL_LIMITS = {
  /** Connections that are kept for the next request; as many may be in the making. */
  idleConnectionsMax: 64,
  idleMsMax: 30_000,
  /** To a connection, its TLS included. */
  connectMsMax: 5_000,
} as const;

/** MCP path. */
export const MCP_LIMITS = {
  /** One JSON-RPC message on the way through the proxy. */
  messageBytesMax: 16 * MIB,
  /** What the model sees of one tool result; the rest is cut and the cut is stated. */
  modelResultBytesMax: 64 * KIB,
  connectSeconds: 10,
  handshakeSeconds: 30,
  callSeconds: 300,
  /** Connections of one MCP socket at once. */
  connectionsMax: 64,
} as const;

/** Calls that a human decides about. */
export const APPROVAL_LIMITS = {
  /** Nobody decided within this: denied. */
  askSeconds: 3600,
  /** Between the decision and the call; whoever asked is there and waits, so it takes moments. */
  useSeconds: 60,
  /** Open at once for one agent. */
  openMax: 32,
  /** Arguments that can be shown whole; nobody approves what nobody can read. */
  argumentsBytesMax: 256 * KIB,
  reasonLengthMax: 1000,
  /** Ended ones that a dial unit and the gateway remember. */
  endedKept: 1024,
  /** A waiting client is told at this pace that the call is alive. */
  progressSeconds: 15,
} as const;

/** The root daemon's socket. */
export const DAEMON_LIMITS = {
  requestBytesMax: MIB,
  argumentsMax: 256,
  /** One argument, in UTF-16 units; JSON arguments of a tool fit. */
  argumentLengthMax: 64 * KIB,
  connectionsPerUidMax: 16,
  /** Connections of all uids but root together; far below what a process may have open. */
  connectionsMax: 1_024,
  /** Verbs of one uid that run at once; each is a program of its own. More of them wait in a queue. */
  verbsPerUidMax: 4,
  /** Requests of one uid that may come at once, and how fast that fills again; root has no such bound. */
  requestsBurst: 64,
  requestsPerSecond: 16,
  /** Uids whose pace is remembered before the idle ones are forgotten. */
  uidsKept: 1_024,
  /** A uid that is over a bound is written about once in this time. */
  capNewsMs: 60_000,
  /** A client that takes no output for this long is dropped. */
  writeSeconds: 30,
  /** How often a verb that only reads looks whether anybody still waits for it. */
  probeSeconds: 2,
  requestSeconds: 5,
  /** Longest path of a unix socket (sockaddr_un, less the terminating NUL). */
  socketPathLengthMax: 107,
} as const;

/** The built-in runtime. */
export const RUNTIME_LIMITS = {
  /** Model calls in one turn before the loop stops and says so. */
  stepsMax: 64,
  /** Assumed window of a model that does not state one, in tokens. */
  contextTokensDefault: 128_000,
  bashSeconds: 600,
  bashOutputBytesMax: 64 * KIB,
  readBytesMax: 256 * KIB,
} as const;

/** The login proxy (spec "Limits"). */
export const LOGIN_LIMITS = {
  /** Failed attempts of one client in the window; one bucket for the form and the Basic header. */
  failedAttemptsMax: 8,
  failedWindowSeconds: 60,
  /** Clients whose failures are remembered; the one seen longest ago makes room. */
  clientsKept: 10_000,
  /**
   * Passwords that are checked at once, all clients together. Each keeps a core busy; a machine of
   * two checks one, so that requests have the other.
   */
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
  /** A sign-in at the provider has to come back within this time (spec "Cookies"). */
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

/** Questions of pages about models, each of which starts a program as root. */
export const MODEL_DESK_LIMITS = {
  /** Open at the same time, for all agents of a gateway. */
  openMax: 4,
} as const;

/** The team-chat gateway (docs/teamchat.md has the platform's own numbers and their sources). */
export const TEAMCHAT_LIMITS = {
  /** One activity; the platform's own largest messages are about a third of it. */
  bodyBytesMax: 256 * KIB,
  bodySeconds: 10,
  /** Nesting of an activity; cards are the deepest. */
  jsonDepthMax: 64,
  /** Requests that are being answered; more are asked to come again. */
  requestsAtOnceMax: 1_024,
  /** Of these, of one owner: who sends a thousand at once leaves room for the others. */
  ownerRequestsAtOnceMax: 64,
  retryAfterSeconds: 5,
  /** Clock skew that tokens may have (Bot Connector authentication, rule 5). */
  clockSkewSeconds: 300,
  /** Longest life of a connector's token; the platform's live an hour. */
  tokenSecondsMax: 24 * 3_600,
  tokenLengthMax: 16 * KIB,
  /** Verified tokens that are remembered, because a signature costs most of a request. */
  verifiedTokensKept: 4_096,
  /** Keys of the connector are fetched again after this long. */
  keysFreshMs: 24 * 3_600_000,
  /** Keys that could not be fetched again are used this long. */
  keysStaleMs: 5 * 24 * 3_600_000,
  /** An unknown key is looked for at most this often, and a failed fetch tried again. */
  keysCooldownMs: 30_000,
  keysRetryMs: 1_000,
  keysBytesMax: 512 * KIB,
  keysCountMax: 256,
  fetchSeconds: 10,
  /** Deliveries are recognized when they come again within this time. */
  deliveriesKeptMs: 24 * 3_600_000,
  /** Invokes that come again under a new id. */
  invokesKeptMs: 60_000,
  /** Turns waiting for one agent. */
  queuedTurnsMax: 64,
  /** Activities that wait for the sending half, all together, in UTF-16 units. */
  spoolLengthMax: 64 * 1024 * KIB,
  /** A receiving half that stops hands over what it has for this long; its unit waits twice as long. */
  drainMs: 10_000,
  /** An invoke is answered by the sending half within this time; the platform waits fifteen seconds. */
  invokeMs: 10_000,
  /** Ended turns that are kept, so that a late answer of an agent finds its place. */
  closedTurnsKeptMs: 24 * 3_600_000,
  /** An agent that is away this long is told about to its owner, once. */
  offlineNoticeMs: 10_000,
  sweepMs: 30_000,
  /** A registration token. */
  registrationSeconds: 60,
  registrationLengthMax: 2 * KIB,
  /** Nonces of registration tokens that are remembered. */
  noncesKept: 65_536,
  /** Text of one message, in UTF-16 units; longer answers are split. */
  messageLengthMax: 4_000,
  /** Shortest piece after the platform said "too large" again and again. */
  messageLengthMin: 250,
  /** The whole answer; what is longer is cut, and the cut is stated. */
  answerLengthMax: 256 * KIB,
  /** Words of an owner about an answer, and such events that wait for one agent. */
  feedbackLengthMax: 2_000,
  ownerEventsMax: 256,
  /** Messages of one agent by itself that are on their way. */
  sendsWaitingMax: 32,
  /** Sources of an answer (Teams: AI-generated content, citations). */
  citationsMax: 20,
  citationNameMax: 80,
  citationAbstractMax: 160,
  /** Text of a progress line (Teams streaming: informative updates). */
  informativeLengthMax: 1_000,
  /** Pause between two requests of one stream; the platform takes one a second. */
  streamGapMs: 1_500,
  /** A stream that shows nothing new says so again, which is also how a press of "stop" is learned. */
  streamIdleMs: 20_000,
  /** The platform ends a stream after two minutes; from here on the message is edited instead. */
  streamMs: 105_000,
  /** Pause between two edits of one message. */
  editGapMs: 3_000,
  /** Typing signs where there is no stream. */
  typingMs: 3_000,
  /** Longest wait that a `Retry-After` can ask for. */
  retryAfterMsMax: 60_000,
  /** An answer that the platform does not take for this long is given up. */
  deliveryMs: 15 * 60_000,
  /** Pauses between requests that can be repeated safely double up to the longest. */
  repeatFirstMs: 1_000,
  repeatMsMax: 30_000,
  /** Lines that hold the place of one message, when the platform does not confirm them. */
  linesMax: 4,
  responseBytesMax: 64 * KIB,
  /** The app token is fetched again this long before it ends. */
  appTokenEarlyMs: 300_000,
  /** Requests to the platform at once, all conversations together. */
  sendsAtOnceMax: 64,
  /** The same for one owner; owners take turns. */
  ownerSendsAtOnceMax: 8,
  /** A stranger is told once in this time that no agent is theirs. */
  strangerNoticeMs: 3_600_000,
  strangersKept: 10_000,
  /** Days before its end from which a client secret is reported. */
  secretWarnDays: 30,
} as const;
