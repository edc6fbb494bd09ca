/**
 * Makes a package registry of this process reachable on the loopback of a booted host. The host has
 * no network, so connections pass through a unix socket in its root.
 *
 * @module
 */

import { type BootedHost, poll } from "tests/support/booted_host.ts";
import { closeConn, pipeConns } from "tests/support/conn_pipe.ts";

/** A forwarded registry of one host. */
export interface HostRegistry extends AsyncDisposable {
  /** Base URL inside the host, with a final slash. */
  readonly url: string;
}

/** Forwards a port of the host's loopback; `to` is the base URL outside. */
export async function registryInside(
  host: BootedHost,
  to: string,
  at: number,
): Promise<HostRegistry> {
  const { port } = new URL(to);
  const socket = `/srv/registry-${at}.sock`;
  const unit = `test-registry-${at}.service`;
  const listener = Deno.listen({ transport: "unix", path: `${host.root}${socket}` });
  const open = new Set<Deno.Conn>();
  const passing = (async () => {
    for await (const inside of listener) {
      open.add(inside);
      void pass(inside, Number(port), open);
    }
  })();
  await Deno.writeTextFile(`${host.root}/etc/systemd/system/${unit}`, unitText(at, socket));
  await host.must("systemctl", "enable", "--quiet", "--now", unit);
  await poll("a registry inside", async () => {
    const seen = await host.must("ss", "-Hltn", `sport = :${at}`);
    return seen.trim() === "" ? undefined : true;
  });
  return {
    url: `http://127.0.0.1:${at}/`,
    async [Symbol.asyncDispose]() {
      await host.exec(["systemctl", "disable", "--quiet", "--now", unit]);
      listener.close();
      for (const conn of open) closeConn(conn);
      await passing.catch(() => {/* the listener is closed */});
    },
  };
}

/** An enabled unit also runs after a reboot of the host. */
function unitText(at: number, socket: string): string {
  return `[Service]
ExecStart=/usr/bin/socat TCP-LISTEN:${at},bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:${socket}
[Install]
WantedBy=multi-user.target
`;
}

async function pass(inside: Deno.Conn, port: number, open: Set<Deno.Conn>): Promise<void> {
  await pipeConns([inside, await Deno.connect({ port })], open);
}
