/**
 * A TCP proxy that misbehaves on demand: it cuts connections, holds bytes back, or forwards them.
 * Between two real programs, it looks like a bad network.
 *
 * @module
 */

/** A proxy in front of one target. */
export interface ChaosProxy {
  readonly port: number;
  /** Returns how many connections were accepted so far. */
  readonly accepted: () => number;
  /** Drops every open connection at once, without a closing handshake; returns how many. */
  cut(): number;
  /** Cuts the next connection after this many bytes, counted over both directions. */
  cutNextAfter(bytes: number): void;
  /** Holds all bytes back until `resume`; connections stay open. */
  stall(): void;
  resume(): void;
  /** Sends new connections to another port. */
  retarget(port: number): void;
  /** Refuses new connections while `isRefusing`. */
  refuse(isRefusing: boolean): void;
  close(): Promise<void>;
}

interface Link {
  readonly ends: readonly Deno.TcpConn[];
  /** Bytes that may still pass; undefined means no limit. */
  budget: number | undefined;
}

/** Starts a proxy to a port on loopback. */
export function startChaosProxy(target: number): ChaosProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const links = new Set<Link>();
  const pumps = new Set<Promise<void>>();
  let port = target;
  let nextBudget: number | undefined;
  let count = 0;
  let isRefusing = false;
  let gate: PromiseWithResolvers<void> | undefined;

  const drop = (link: Link) => {
    links.delete(link);
    for (const end of link.ends) {
      try {
        end.close();
      } catch {
        // The other direction has already closed it.
      }
    }
  };

  async function pump(from: Deno.TcpConn, to: Deno.TcpConn, link: Link): Promise<void> {
    const buffer = new Uint8Array(16 * 1024);
    try {
      for (let size = await from.read(buffer); size !== null; size = await from.read(buffer)) {
        await gate?.promise;
        let rest = buffer.subarray(0, size);
        const isLast = link.budget !== undefined && rest.length >= link.budget;
        if (isLast) rest = rest.subarray(0, link.budget);
        if (link.budget !== undefined) link.budget -= rest.length;
        await writeAll(to, rest);
        if (isLast) break;
      }
    } catch {
      // A cut closed the connection during this operation.
    }
    drop(link);
  }

  async function connect(client: Deno.TcpConn): Promise<void> {
    let server: Deno.TcpConn;
    try {
      if (isRefusing) throw new Error("refusing");
      server = await Deno.connect({ hostname: "127.0.0.1", port });
    } catch {
      client.close();
      return;
    }
    const link: Link = { ends: [client, server], budget: nextBudget };
    nextBudget = undefined;
    links.add(link);
    count++;
    await Promise.all([pump(client, server, link), pump(server, client, link)]);
  }

  const accepting = (async () => {
    for await (const client of listener) {
      const work = connect(client);
      pumps.add(work);
      work.finally(() => pumps.delete(work));
    }
  })();
  const cut = () => {
    const open = [...links];
    for (const link of open) drop(link);
    return open.length;
  };
  const resume = () => {
    gate?.resolve();
    gate = undefined;
  };
  return {
    port: listener.addr.port,
    accepted: () => count,
    cut,
    cutNextAfter: (bytes) => {
      nextBudget = bytes;
    },
    stall: () => {
      gate ??= Promise.withResolvers<void>();
    },
    resume,
    retarget: (next) => {
      port = next;
    },
    refuse: (value) => {
      isRefusing = value;
    },
    close: async () => {
      listener.close();
      resume();
      cut();
      await accepting;
      await Promise.all([...pumps]);
    },
  };
}

async function writeAll(to: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await to.write(bytes.subarray(sent));
}
