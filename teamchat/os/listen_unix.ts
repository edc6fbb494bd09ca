/**
 * Listens on a unix socket between two of the project's own programs, without peer credentials.
 * Those need calls into the C library, and a program that strangers can reach must not have that
 * permission. The folder and the socket's mode decide who may connect. The mode is never wider than
 * requested: until it is set, the default umask denies others write access, which connecting
 * requires.
 *
 * @module
 */

import { FileFault } from "core/ports/files.ts";
import type { ListenUnix } from "teamchat/receiver/unix_port.ts";
import { connectUnix, unixStream } from "core/os/connect_unix.ts";
import { fileFault, posixCode } from "core/os/file_fault.ts";

/** Listens; see `ListenUnix`. */
export const listenUnix: ListenUnix = async (path, mode, onConnection) => {
  await removeStale(path);
  const listener = await open(path, mode);
  const accepting = (async () => {
    for await (const connection of listener) onConnection(unixStream(connection));
  })();
  return {
    close: async () => {
      listener.close();
      await accepting.catch(() => {});
      await Deno.remove(path).catch(() => {});
    },
  };
};

async function open(path: string, mode: number): Promise<Deno.UnixListener> {
  let listener: Deno.UnixListener | undefined;
  try {
    listener = Deno.listen({ transport: "unix", path });
    await Deno.chmod(path, mode);
    return listener;
  } catch (thrown) {
    listener?.close();
    throw fileFault("listen on", path, thrown);
  }
}

/** Removes a stale socket of a killed program; keeps a socket with a live listener. */
async function removeStale(path: string): Promise<void> {
  try {
    if (!(await Deno.lstat(path)).isSocket) throw pathTaken(path, "it is not a socket");
    const peer = await connectUnix(path).catch(() => undefined);
    if (peer !== undefined) {
      peer.close();
      throw pathTaken(path, "another program answers on it");
    }
    await Deno.remove(path);
  } catch (thrown) {
    if (thrown instanceof FileFault) throw thrown;
    if (posixCode(thrown) !== "ENOENT") throw fileFault("listen on", path, thrown);
  }
}

function pathTaken(path: string, state: string): FileFault {
  return new FileFault("EEXIST", path, `Cannot listen on ${JSON.stringify(path)}: ${state}`);
}
