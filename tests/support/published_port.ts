/**
 * A port of this machine whose connections reach a port of a booted host, as a published port of a
 * container does. The port stays the same when the host boots again, so a page keeps its address.
 *
 * @module
 */

import type { BootedHost } from "tests/support/booted_host.ts";
import { closeConn, pipeConns } from "tests/support/conn_pipe.ts";

/** A published port. */
export class PublishedPort implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.Conn>();
  readonly #accepting: Promise<void>;
  readonly #host: BootedHost;
  readonly #inside: number;
  #bridge: Awaited<ReturnType<BootedHost["bridge"]>> | undefined;

  constructor(host: BootedHost, inside: number) {
    this.#host = host;
    this.#inside = inside;
    this.#accepting = this.#accept();
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** Connects to the host; once after each boot. Until then, connections are closed. */
  async connect(): Promise<void> {
    await this.#bridge?.close();
    this.#bridge = await this.#host.bridge(this.#inside);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const conn of this.#open) closeConn(conn);
    await this.#accepting;
    await this.#bridge?.close();
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) {
      // A rejection means that the host is not up: the client sees a closed connection.
      this.#pass(client).catch(() => closeConn(client));
    }
  }

  async #pass(client: Deno.Conn): Promise<void> {
    const path = this.#bridge?.socket ?? "";
    await pipeConns([client, await Deno.connect({ transport: "unix", path })], this.#open);
  }
}
