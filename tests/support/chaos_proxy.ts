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
  accepted(): number;
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
  return new TcpProxy(target);
}

class TcpProxy implements ChaosProxy {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #links = new Set<Link>();
  readonly #connecting = new Set<Promise<void>>();
  readonly #accepting: Promise<void>;
  #target: number;
  #nextBudget: number | undefined;
  #count = 0;
  #isRefusing = false;
  #gate: PromiseWithResolvers<void> | undefined;

  constructor(target: number) {
    this.#target = target;
    this.#accepting = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  accepted(): number {
    return this.#count;
  }

  cut(): number {
    const open = [...this.#links];
    for (const link of open) this.#drop(link);
    return open.length;
  }

  cutNextAfter(bytes: number): void {
    this.#nextBudget = bytes;
  }

  stall(): void {
    this.#gate ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  retarget(port: number): void {
    this.#target = port;
  }

  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing;
  }

  async close(): Promise<void> {
    this.#listener.close();
    this.resume();
    this.cut();
    await this.#accepting;
    await Promise.all([...this.#connecting]);
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      const work = this.#connect(client);
      this.#connecting.add(work);
      work.finally(() => this.#connecting.delete(work));
    }
  }

  async #connect(client: Deno.TcpConn): Promise<void> {
    let server: Deno.TcpConn;
    try {
      if (this.#isRefusing) throw new Error("refusing");
      server = await Deno.connect({ hostname: "127.0.0.1", port: this.#target });
    } catch {
      client.close();
      return;
    }
    const link: Link = { ends: [client, server], budget: this.#nextBudget };
    this.#nextBudget = undefined;
    this.#links.add(link);
    this.#count++;
    await Promise.all([this.#pump(client, server, link), this.#pump(server, client, link)]);
  }

  /** Forwards the bytes of one direction until it ends or the link is cut. */
  async #pump(from: Deno.TcpConn, to: Deno.TcpConn, link: Link): Promise<void> {
    const buffer = new Uint8Array(16 * 1024);
    try {
      for (let size = await from.read(buffer); size !== null; size = await from.read(buffer)) {
        await this.#gate?.promise;
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
    this.#drop(link);
  }

  #drop(link: Link): void {
    this.#links.delete(link);
    for (const end of link.ends) {
      try {
        end.close();
      } catch {
        // The other direction has already closed it.
      }
    }
  }
}

async function writeAll(to: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let sent = 0; sent < bytes.length;) sent += await to.write(bytes.subarray(sent));
}
