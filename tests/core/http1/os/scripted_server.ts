/**
 * A server that reads complete requests and answers each one by a script, byte by byte.
 *
 * @module
 */

/** Handles one request; `nth` counts from 1. */
export type Script = (connection: Deno.Conn, request: string, nth: number) => Promise<void> | void;

/** A running scripted server. */
export interface ScriptedServer extends AsyncDisposable {
  readonly port: number;
  /** Complete requests: the head, and the body if there is a `Content-Length`. */
  readonly requests: string[];
  /** Returns the number of connections so far. */
  connections(): number;
  /** Closes each open connection. */
  hangUp(): void;
}

/** Starts a server on loopback. */
export function serveScript(
  script: Script,
  listener: Deno.Listener = Deno.listen({ hostname: "127.0.0.1", port: 0 }),
): ScriptedServer {
  const latin1 = new TextDecoder("latin1");
  const requests: string[] = [];
  const open = new Set<Deno.Conn>();
  const running: Promise<void>[] = [];
  let connections = 0;
  const close = (connection: Deno.Conn) => {
    if (!open.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // The script has closed it.
    }
  };
  const one = async (connection: Deno.Conn) => {
    const buffer = new Uint8Array(64 * 1024);
    let have = "";
    try {
      for (;;) {
        const read = await connection.read(buffer);
        if (read === null) break;
        have += latin1.decode(buffer.subarray(0, read));
        const head = have.indexOf("\r\n\r\n");
        const length = Number(/content-length: (\d+)/.exec(have)?.[1] ?? 0);
        if (head === -1 || have.length < head + 4 + length) continue;
        requests.push(have);
        const request = have;
        have = "";
        await script(connection, request, requests.length);
      }
    } catch {
      // The client has disconnected, or the script has closed the connection.
    }
    close(connection);
  };
  running.push(
    (async () => {
      for await (const connection of listener) {
        connections++;
        open.add(connection);
        running.push(one(connection));
      }
    })().catch(() => {}),
  );
  return {
    port: (listener.addr as Deno.NetAddr).port,
    requests,
    connections: () => connections,
    hangUp: () => [...open].forEach(close),
    [Symbol.asyncDispose]: async () => {
      listener.close();
      [...open].forEach(close);
      await Promise.all(running);
    },
  };
}
