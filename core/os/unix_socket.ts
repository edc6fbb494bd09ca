/**
 * Listens on unix sockets. A listener identifies each peer by its kernel credentials. The socket is
 * never reachable with a wider mode than requested: it is bound with all permissions masked, and
 * gets its mode afterwards. An existing socket is replaced only if no process answers on it.
 *
 * @module
 */

import { byteLength } from "core/text/cut_text.ts";
import fs from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { FileFault } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import type { ByteStream, PeerStream } from "core/ports/sockets.ts";
import { DAEMON_LIMITS } from "core/limits/daemon.ts";
import { byteStreamOf } from "core/os/byte_stream.ts";
import { fileFault, posixCode } from "core/os/file_fault.ts";
import { connectUnix } from "core/os/connect_unix.ts";
import { keepDescriptors, type Libc, openLibc } from "core/os/libc.ts";
import { readPeerCredentials } from "core/os/peer_credentials.ts";

const BACKLOG = 128;
const MASK_ALL = 0o777;

interface Accepting {
  readonly onConnection: (stream: PeerStream) => void;
  readonly log: Log;
}

/** Listens; see `Sockets.serveUnix`. */
export async function serveUnix(
  path: string,
  mode: number,
  accepting: Accepting,
): Promise<{ close(): Promise<void> }> {
  checkPathLength(path);
  await refuseIfAnswered(path);
  const libc = openLibc();
  const open = new Set<Socket>();
  // Paused, so that no byte is read before the peer is identified.
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    accept(socket, libc, accepting);
  });
  try {
    await bindMasked(server, path, libc);
    keepDescriptors(libc);
    await openUp(path, mode);
  } catch (thrown) {
    server.close();
    libc.close();
    throw thrown;
  }
  let closing: Promise<void> | undefined;
  return { close: () => closing ??= closeServer(server, open).finally(() => libc.close()) };
}

function accept(socket: Socket, libc: Libc, accepting: Accepting): void {
  try {
    keepDescriptors(libc);
    const peer = readPeerCredentials(socket, libc);
    accepting.onConnection({ ...byteStreamOf(socket), peer });
  } catch (thrown) {
    accepting.log.error("peer_refused", { error: thrown });
    socket.on("error", () => {});
    socket.destroy();
  }
}

/** Refuses a path that is too long. The kernel would fail with an unhelpful code. */
function checkPathLength(path: string): void {
  const length = byteLength(path);
  if (length > DAEMON_LIMITS.socketPathLengthMax) {
    throw new FileFault(
      "EIO",
      path,
      `Cannot listen on ${JSON.stringify(path)}: the path has ${length} bytes, must have at most ` +
        DAEMON_LIMITS.socketPathLengthMax,
    );
  }
}

/** Refuses a path that is in use, or that is not a socket. */
async function refuseIfAnswered(path: string): Promise<void> {
  let info: fs.Stats;
  try {
    info = fs.lstatSync(path);
  } catch (thrown) {
    if (posixCode(thrown) === "ENOENT") return;
    throw fileFault("listen on", path, thrown);
  }
  if (!info.isSocket()) throw pathInUse(path, "it is not a socket");
  let peer: ByteStream;
  try {
    peer = await connectUnix(path);
  } catch (thrown) {
    if ((thrown as { name?: string }).name === "ConnectionRefused") {
      return removeStale(path, info.ino);
    }
    if (posixCode(thrown) === "ENOENT") return;
    throw fileFault("listen on", path, thrown);
  }
  peer.close();
  throw pathInUse(path, "another process answers on it");
}

function pathInUse(path: string, state: string): FileFault {
  return new FileFault("EEXIST", path, `Cannot listen on ${JSON.stringify(path)}: ${state}`);
}

/** Removes only the socket that was checked: another process may have bound a new one meanwhile. */
function removeStale(path: string, inode: number): void {
  try {
    if (fs.lstatSync(path).ino === inode) fs.unlinkSync(path);
  } catch (thrown) {
    if (posixCode(thrown) !== "ENOENT") throw fileFault("listen on", path, thrown);
  }
}

/** `listen` binds before it returns, so the umask applies to this one call only. */
async function bindMasked(server: Server, path: string, libc: Libc): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  const mask = libc.symbols.umask(MASK_ALL);
  try {
    server.listen({ path, backlog: BACKLOG }, resolve);
  } finally {
    libc.symbols.umask(mask);
  }
  try {
    await promise;
  } catch (thrown) {
    const isTaken = (thrown as { code?: string }).code === "EADDRINUSE";
    throw isTaken
      ? pathInUse(path, "another process listens on it")
      : fileFault("listen on", path, thrown);
  }
  server.off("error", reject);
}

/** Sets the socket's mode, after checking that it had no permissions before. */
async function openUp(path: string, mode: number): Promise<void> {
  const bound = fs.lstatSync(path).mode & MASK_ALL;
  if (bound !== 0) {
    throw new FileFault(
      "EACCES",
      path,
      `Cannot listen on ${JSON.stringify(path)}: the socket was made with mode ` +
        `${bound.toString(8)}, must be 0 until it is set`,
    );
  }
  try {
    await Deno.chmod(path, mode);
  } catch (thrown) {
    throw fileFault("listen on", path, thrown);
  }
}

/** NOTE: `node:net` removes the socket's path itself, so do not remove it again. */
async function closeServer(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.close(() => resolve());
  for (const socket of open) socket.destroy();
  await promise;
}
