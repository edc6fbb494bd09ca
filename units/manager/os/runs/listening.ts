/**
 * Listens on the path of a socket unit with the right mode from the first moment. The socket is
 * bound under one fixed name in a folder that only its owner can open. It gets its mode there and
 * is then moved to its path. No client can therefore connect before the mode is set, and a
 * permission set needs to name only one path.
 *
 * @module
 */

import fs from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { errorText } from "core/errors.ts";

/** A path to listen on. */
export interface ListenPlan {
  readonly path: string;
  readonly mode: number;
  readonly directoryMode: number;
  readonly backlog: number;
  /** Fixed name under which sockets are bound; its folder is 0700 and on the same file system. */
  readonly bindPath: string;
  /** Receives the paused connection, before any byte has been read. */
  readonly onConnection: (socket: Socket) => void;
}

/** A listening socket. */
export interface Listening {
  close(): Promise<void>;
}

/** Calls of `bind` run one after another, because they share a path. */
let binding: Promise<unknown> = Promise.resolve();

/** Starts to listen; rejects with one sentence when that fails. */
export function listenAt(plan: ListenPlan): Promise<Listening> {
  const next = binding.then(() => bind(plan));
  binding = next.catch(() => {});
  return next;
}

async function bind(plan: ListenPlan): Promise<Listening> {
  const server = createServer(
    { allowHalfOpen: true, pauseOnConnect: true },
    (socket) => {
      // The receiver of the connection detects its end by other means.
      socket.on("error", () => {});
      plan.onConnection(socket);
    },
  );
  try {
    makeFolder(plan.path, plan.directoryMode);
    removeSocket(plan.bindPath);
    await listen(server, plan);
    fs.chmodSync(plan.bindPath, plan.mode);
    removeSocket(plan.path);
    fs.renameSync(plan.bindPath, plan.path);
  } catch (thrown) {
    await closeServer(server);
    throw new Error(`Cannot listen on ${JSON.stringify(plan.path)}: ${errorText(thrown)}`);
  }
  const own = fs.lstatSync(plan.path).ino;
  let closing: Promise<void> | undefined;
  return {
    close: () => closing ??= closeServer(server).then(() => removeSocket(plan.path, own)),
  };
}

function listen(server: Server, plan: ListenPlan): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path: plan.bindPath, backlog: plan.backlog }, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve();
    });
  });
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

function makeFolder(path: string, mode: number): void {
  const folder = path.slice(0, path.lastIndexOf("/"));
  if (fs.existsSync(folder)) return;
  fs.mkdirSync(folder, { recursive: true });
  fs.chmodSync(folder, mode);
}

/**
 * Removes a socket on which no process listens any longer; anything else at the path is a fault.
 */
function removeSocket(path: string, inode?: number): void {
  const info = fs.lstatSync(path, { throwIfNoEntry: false });
  if (info === undefined) return;
  if (!info.isSocket()) throw new Error("the existing file is not a socket");
  if (inode === undefined || info.ino === inode) fs.rmSync(path, { force: true });
}
