/**
 * What the tree may ask of the machine. Real ones: `core/os/`, fakes: `tests/fakes/`, one suite for
 * both: `tests/contract/`. Only `main.ts` files build a `Host`; a function takes what it needs.
 *
 * @module
 */

import type { FileStat } from "core/file_stat.ts";
import type { HttpCall } from "core/http_call.ts";
import type { PlainHandler } from "core/plain_http.ts";
import type { UnitStatus, UnitVerb } from "core/unit.ts";

/** Wall clock, monotonic clock and timers. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number;
  /** Resolves after `ms`, or earlier when `signal` aborts (it never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `run` once after `ms`; returns what cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** Unpredictable bytes, and version 4 UUIDs of them. */
export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>;
  uuid(): string;
  /** A number in [0, 1), for jitter only. */
  fraction(): number;
}

/** How `Files.write` leaves a file. Owner is set only when given. */
export interface WriteOptions {
  /** Permission bits; 0o644 when absent. Set before the rename, whatever the umask says. */
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** A held lock; `release` is idempotent. */
export interface Lock {
  release(): Promise<void>;
}

/** Thrown by `Files` for conditions callers tell apart. `code` is one of the POSIX names. */
export class FileFault extends Error {
  override readonly name = "FileFault";
  constructor(
    /** `ENOENT`, `EACCES`, `ENOSPC`, `EEXIST`, `ENOTDIR`, `EROFS`, `EISDIR`, `ELOOP` or `EIO`. */
    readonly code: string,
    readonly path: string,
    message: string,
  ) {
    super(message);
  }
}

/** The file system. Paths are absolute. Faults are thrown as `FileFault`. */
export interface Files {
  /** Text, or undefined when there is no such file. */
  readText(path: string): Promise<string | undefined>;
  /** Bytes, or undefined when there is no such file. */
  readBytes(path: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Text of a plain file of this size at most and this owner; undefined for anything else. Never waits. */
  readPlain(path: string, of: { bytesMax: number; uid: number }): Promise<string | undefined>;
  /** Writes atomically and durably: a crash leaves the old file or the new one. Never follows a link at `path`. */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<void>;
  /** Appends, creating the file with `mode`. Not atomic across crashes; for logs only. */
  append(path: string, data: string, mode?: number): Promise<void>;
  /** Like `append`, but what was appended is on the disk when the promise resolves (fsync). */
  appendDurably(path: string, data: string, mode?: number): Promise<void>;
  /** Creates the folder and its parents; sets mode and owner on the last one only if it was made or differs. */
  ensureDir(path: string, options?: WriteOptions): Promise<void>;
  /** Sorted names in a folder; empty when there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  stat(path: string): Promise<FileStat | undefined>;
  readLink(path: string): Promise<string | undefined>;
  /** Replaces whatever is at `path` by a link to `target`, atomically. */
  symlink(target: string, path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file or, when `recursive`, a tree; absence is no fault. */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  setMeta(path: string, options: WriteOptions): Promise<void>; // By descriptor; no link.
  /** Waits for the exclusive lock on `path` (a lock file, created 0600); other processes see it. */
  lock(path: string, signal?: AbortSignal): Promise<Lock>;
  /** Takes the lock at once, or returns undefined when someone else holds it. */
  tryLock(path: string): Promise<Lock | undefined>;
}

/** A program to start: argv only, never a shell; the environment is exactly `env`. */
export interface ProcessSpec {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** How a process ended: exactly one of the two is set. */
export interface ProcessExit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

/** A running child with piped stdio. */
export interface Child {
  readonly pid: number;
  readonly stdin: WritableStream<Uint8Array>;
  readonly stdout: ReadableStream<Uint8Array>;
  readonly stderr: ReadableStream<Uint8Array>;
  /** Resolves when the process has ended; never rejects. */
  readonly exited: Promise<ProcessExit>;
  /** Sends a signal to the child, or to its whole group when it was started as one; no fault when it is gone. */
  kill(signal: "SIGTERM" | "SIGKILL" | "SIGINT"): void;
}

/** Starting programs. */
export interface Processes {
  /** Runs to the end with `input` on stdin. Output past `outputBytesMax` (default 8 MiB) ends the child and is reported as truncated. */
  run(
    spec: ProcessSpec & {
      readonly input?: string;
      readonly timeoutMs?: number;
      readonly outputBytesMax?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<
    ProcessExit & {
      readonly stdout: string;
      readonly stderr: string;
      readonly truncated: boolean;
      readonly timedOut: boolean;
    }
  >;
  /** Starts a child with three pipes; `group` puts it at the head of a process group of its own. Rejects when the program cannot be started. */
  spawn(spec: ProcessSpec & { readonly group?: boolean }): Promise<Child>;
  /** Names the first of `names` found on the PATH of this process, as an absolute path. */
  which(...names: readonly string[]): Promise<string | undefined>;
}

/** The service manager: systemd, or the embedded one of `fleetctl up`. Unit names carry their suffix. */
export interface ServiceManager {
  readonly name: "systemd" | "embedded";
  /** Whether a manager is there to be asked; without one, files are written and nothing is started. */
  isRunning(): Promise<boolean>;
  reload(): Promise<void>;
  /** Resolves when the unit is active (for a service: ready); rejects with `ServiceFault` otherwise. */
  start(unit: string): Promise<void>;
  stop(unit: string): Promise<void>;
  restart(unit: string): Promise<void>;
  /** For units that do not wait for one another; resolves with the fault of each that failed. */
  each(verb: UnitVerb, units: readonly string[]): Promise<readonly ServiceFault[]>;
  status(units: readonly string[]): Promise<readonly UnitStatus[]>;
  /** Whether an active service serves by now. Absent where one that is not ready is not active. */
  isReady?(unit: string): Promise<boolean>;
  /** How many unix sockets of the host listen on each path; undefined where that is not known. */
  listeners?(): Promise<ReadonlyMap<string, number> | undefined>;
  /** The last lines of the unit's log, oldest first. */
  journal(unit: string, lines: number): Promise<readonly string[]>;
}

/** Thrown by `ServiceManager`: the unit, what happened, and the tail of its log. */
export class ServiceFault extends Error {
  override readonly name = "ServiceFault";
  constructor(readonly unit: string, message: string, readonly journal: readonly string[] = []) {
    super(message);
  }
}

/** An account of the machine. */
export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Accounts and groups. */
export interface Users {
  /** The effective uid of this process. */
  currentUid(): number;
  byName(name: string): Promise<User | undefined>;
  byUid(uid: number): Promise<User | undefined>;
  groupId(name: string): Promise<number | undefined>;
}

/** Outgoing HTTP. */
export interface HttpClient {
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** A quicker way for short requests, where there is one. It knows no proxies: ask `isForProxy`. */
  readonly call?: HttpCall;
  /** Whether the environment may want a request to leave through a proxy: then by `fetch` alone. */
  readonly isForProxy?: (url: string) => boolean;
}

/** Where a listener ended up. */
export interface ListenAddress {
  readonly hostname: string;
  readonly port: number;
}

/** Something that listens; `close` stops accepting and resolves when open work has ended or `graceMs` is over. */
export interface Listener {
  readonly address: ListenAddress;
  close(graceMs?: number): Promise<void>;
}

/** A byte stream to a peer. */
export interface ByteStream {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
  close(): void;
}

/** Who is at the other end of a unix socket, as the kernel says. */
export interface PeerCredentials {
  readonly uid: number;
  readonly gid: number;
  /** For people who read a log; numbers of processes are given out again. */
  readonly pid: number;
  /** Root, but of another user or process namespace than this program's: a container's root. */
  readonly isForeignRoot?: boolean;
}

/** One accepted connection of a unix listener that asks for credentials. */
export interface PeerStream extends ByteStream {
  readonly peer: PeerCredentials;
}

/** One WebSocket carrying text frames. Handlers are set before the first await after it was handed out. */
export interface FrameConnection {
  /** Chosen subprotocol, or "". */
  readonly protocol: string;
  /** Address of the peer as text, for logs. */
  readonly peer: string;
  /** Bytes accepted by `send` that the kernel has not taken yet. */
  bufferedBytes(): number;
  send(text: string): void;
  /** Closing handshake with a code and at most 123 bytes of reason. */
  close(code: number, reason: string): void;
  /** Drops the connection without handshake. */
  terminate(): void;
  ping(): void;
  /** Reads nothing more until `resume`, so that the peer's socket fills; a few frames may still come. */
  pause(): void;
  resume(): void;
  onMessage(handler: (text: string) => void): void;
  /** Any sign of life from the peer: a frame, a ping or a pong. */
  onAlive(handler: () => void): void;
  /** Called once. `code` is 1006 when the connection was lost. */
  onClose(handler: (code: number, reason: string) => void): void;
  /** Sets the largest frame that will be accepted from now on; larger ones close with 1009. */
  setFrameBytesMax(bytes: number): void;
}

/** What a WebSocket listener asks its owner about a request. */
export type UpgradeAnswer =
  | {
    readonly accept: true;
    readonly protocol?: string;
    readonly onOpen: (connection: FrameConnection) => void;
  }
  | { readonly accept: false; readonly response: Response }
  | { readonly accept: "tunnel"; readonly tunnel: UpgradeTunnel };

/** An upgrade that another server of this machine answers; then bytes go both ways unread. */
export interface UpgradeTunnel {
  readonly to: ListenAddress;
  /** Path and query of the request. */
  readonly target: string;
  /** The whole request but for `Host`, `Connection` and `Upgrade`. */
  readonly headers: Headers;
  /** Drops both connections at once. */
  readonly signal: AbortSignal;
  /** Time for the other server's answer. */
  readonly timeoutMs: number;
  /** What the client is told when the other server gives no answer. */
  readonly unreachable: (why: string) => Response;
  /** Called once, when the connections are gone. */
  readonly onClose: () => void;
}

/** Listening and connecting. */
export interface Sockets {
  /** Serves HTTP. Port 0 picks one. Rejects with `AddressFault` when the address is taken. */
  serveHttp(
    at: ListenAddress,
    handler: (request: Request, peer: string) => Response | Promise<Response>,
  ): Promise<Listener>;
  /** Serves short requests over HTTP/1.1 for a fraction of the cost; bodies are not streamed. */
  servePlain(at: ListenAddress, handler: PlainHandler): Promise<Listener>;
  /** Serves WebSockets, and HTTP by `handler`; a connection may change its `frameBytesMax`. */
  serveFrames(
    at: ListenAddress,
    options: {
      readonly frameBytesMax: number;
      readonly upgrade: (
        request: Request,
        peer: string,
      ) => UpgradeAnswer | Promise<UpgradeAnswer>;
      readonly handler: (request: Request, peer: string) => Response | Promise<Response>;
    },
  ): Promise<Listener>;
  /** Opens a WebSocket; rejects when the peer is not reached in time, or refuses (`UpgradeFault`). */
  connectFrames(
    url: string,
    options: {
      readonly protocols?: readonly string[];
      readonly headers?: Readonly<Record<string, string>>;
      readonly frameBytesMax: number;
      readonly timeoutMs: number;
    },
  ): Promise<FrameConnection>;
  /** Listens on a unix socket and names each peer. `mode` is set before the first accept. */
  serveUnix(
    path: string,
    mode: number,
    onConnection: (stream: PeerStream) => void,
  ): Promise<{ close(): Promise<void> }>;
  /** Connects to a unix socket; rejects with the system's error. */
  connectUnix(path: string): Promise<ByteStream>;
}

/** Thrown when an address cannot be listened on; `holder` names who has it, where that can be known. */
export class AddressFault extends Error {
  override readonly name = "AddressFault";
  constructor(
    readonly at: ListenAddress,
    readonly reason: "in-use" | "not-permitted" | "not-available",
    readonly holder: string | undefined,
    message: string,
  ) {
    super(message);
  }
}

/** A value SQLite can hold. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** A prepared statement. */
export interface Statement {
  run(
    ...values: readonly SqlValue[]
  ): { readonly changes: number; readonly lastInsertRowid: number };
  get(...values: readonly SqlValue[]): Readonly<Record<string, SqlValue>> | undefined;
  all(...values: readonly SqlValue[]): readonly Readonly<Record<string, SqlValue>>[];
}

/** One SQLite database in WAL mode with `synchronous=FULL`: a committed write survives a power cut. */
export interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /** Runs `work` in one transaction; rolls back when it throws. Not nested. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Opening databases. */
export interface Databases {
  /** Opens or creates the file 0600; rejects with `FileFault` (`ENOSPC`, `EACCES`, …). */
  open(path: string): Promise<Database>;
}

/** Severity of a log line. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** Structured log to stderr: one line per event. Never a secret, token, code or cookie. */
export interface Log {
  debug(event: string, fields?: Readonly<Record<string, unknown>>): void;
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warning(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** The same log with fields added to each line. */
  with(fields: Readonly<Record<string, unknown>>): Log;
}

/** The ports that nearly everything needs; built by `main.ts` files from `core/os/host.ts`. */
export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly processes: Processes;
  readonly users: Users;
  readonly http: HttpClient;
  readonly sockets: Sockets;
  readonly databases: Databases;
  readonly log: Log;
}
