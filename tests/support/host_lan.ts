/**
 * Several booted hosts on one private network. Each host resolves the others by name. A test can
 * disconnect and reconnect a host. Needs root and permission to create network devices.
 *
 * ```ts
 * await withHosts(["atlas", "boreas"], async ({ hosts: { atlas, boreas }, cut, join }) => {
 *   await atlas.must("ping-something", boreas.name);
 *   await cut("boreas");
 * });
 * ```
 *
 * The network is a bridge in a separate namespace; the host's end of its cable is `lan0`. The
 * namespaces belong to processes that end with this one, so no named namespace remains. The
 * network has no route to the outside.
 *
 * @module
 */

import {
  type BootedHost,
  bootHost,
  type BootOptions,
  poll,
  shell,
} from "tests/support/booted_host.ts";
import { withReports } from "tests/support/host_steps.ts";
import type { Processes } from "core/ports/processes.ts";
import { systemProcesses } from "core/os/processes.ts";

/** A host on the network. */
export interface LanHost extends BootedHost {
  /** Its IPv4 address, which all hosts resolve from its name; kept across a reboot. */
  readonly address: string;
}

/** Booted hosts and the network between them. */
export interface Lan<Name extends string = string> {
  readonly hosts: Readonly<Record<Name, LanHost>>;
  /** Disconnects a host's cable: no packet passes from now on, and neither end is notified. */
  cut(name: Name): Promise<void>;
  /** Reconnects the cable; resolves when packets pass again. */
  join(name: Name): Promise<void>;
  stop(): Promise<void>;
}

/** Options that all hosts of a network share. */
export type LanOptions = Pick<BootOptions, "target" | "prepare">;

const PATH = "/usr/bin:/bin:/usr/sbin:/sbin";
const NETWORK = "10.77.0";
/** Last octet of the first host; the bridge itself is .1. */
const HOST_FIRST = 11;

/** A network namespace and the process that keeps it alive. */
interface Namespace {
  readonly pid: number;
  close(): Promise<void>;
}

/** Boots hosts, runs `work`, and stops the hosts. An error of `work` carries their journals. */
export async function withHosts<Name extends string>(
  names: readonly Name[],
  work: (lan: Lan<Name>) => Promise<void>,
  options: LanOptions = {},
): Promise<void> {
  const lan = await bootLan(names, options);
  try {
    await withReports(Object.values<LanHost>(lan.hosts), () => work(lan));
  } finally {
    await lan.stop();
  }
}

/** Boots hosts at the same time and resolves when all are up. */
export async function bootLan<Name extends string>(
  names: readonly Name[],
  options: LanOptions = {},
): Promise<Lan<Name>> {
  const processes = systemProcesses();
  const closing: (() => Promise<void>)[] = [];
  const stop = async () => {
    // Close hosts before the namespaces that they run in.
    for (const close of closing.reverse()) await close();
  };
  try {
    const bridge = await openNamespace(processes);
    closing.push(bridge.close);
    await shell(processes, BRIDGE, [String(bridge.pid), `${NETWORK}.1/24`]);
    const book = names.map((name, at) => `${addressOf(at)} ${name}\n`).join("");
    const booting = names.map(async (name, at) => {
      const host = await bootOn(processes, bridge, { name, at, book, options });
      closing.push(host.stop);
      return host;
    });
    const settled = await Promise.allSettled(booting);
    const failed = settled.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    const hosts = await Promise.all(booting);
    const port = (name: Name, way: "up" | "down") =>
      shell(processes, LINK, [String(bridge.pid), `port${names.indexOf(name)}`, way]);
    return {
      hosts: Object.fromEntries(hosts.map((host) => [host.name, host])) as Record<Name, LanHost>,
      cut: async (name) => {
        await port(name, "down");
      },
      join: async (name) => {
        await port(name, "up");
        await waitForPackets(processes, bridge, addressOf(names.indexOf(name)));
      },
      stop,
    };
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

/** `$1` is the process in the namespace; `$2` is the address of the bridge. */
const BRIDGE = `
exec nsenter -t "$1" -n -- sh -ec '
  ip link add lan type bridge forward_delay 0
  ip address add "$1" dev lan
  ip link set lan up
' sh "$2"
`;

/**
 * A cable from port `$3` of the bridge in `$1` to the host in `$2`, which gets the address `$4`.
 */
const CABLE = `
set -e
nsenter -t "$1" -n -- ip link add "$3" type veth peer name lan0 netns "$2"
nsenter -t "$1" -n -- ip link set "$3" master lan up
nsenter -t "$2" -n -- sh -ec 'ip address add "$1" dev lan0; ip link set lan0 up' sh "$4"
`;

const LINK = 'exec nsenter -t "$1" -n -- ip link set "$2" "$3"';

/** Nothing listens on the port, so a reachable host refuses the connection at once. */
const KNOCK = `
nsenter -t "$1" -n -- timeout 1 bash -c 'true < "/dev/tcp/$1/9"' bash "$2" 2>&1 |
  grep -q refused && echo there || true
`;

function addressOf(at: number): string {
  return `${NETWORK}.${HOST_FIRST + at}`;
}

async function bootOn(
  processes: Processes,
  bridge: Namespace,
  { name, at, book, options }: {
    readonly name: string;
    readonly at: number;
    readonly book: string;
    readonly options: LanOptions;
  },
): Promise<LanHost> {
  const address = addressOf(at);
  const namespace = await openNamespace(processes);
  try {
    const words = [bridge.pid, namespace.pid, `port${at}`, `${address}/24`].map(String);
    await shell(processes, CABLE, words);
    const host = await bootHost({
      ...options,
      name,
      network: `/proc/${namespace.pid}/ns/net`,
      prepare: async (root) => {
        await Deno.writeTextFile(`${root}/etc/hosts`, `127.0.0.1 localhost\n${book}`);
        await options.prepare?.(root);
      },
    });
    const stop = async () => {
      await host.stop();
      await namespace.close();
    };
    return { ...host, address, stop };
  } catch (thrown) {
    await namespace.close();
    throw thrown;
  }
}

/** The holder ends when its stdin closes, which happens however this process ends. */
async function openNamespace(processes: Processes): Promise<Namespace> {
  const holder = await processes.spawn({
    command: "/usr/bin/unshare",
    args: ["-n", "--", "sh", "-c", "ip link set lo up && echo ready && exec cat >/dev/null"],
    env: { PATH },
    group: true,
  });
  const complaint = new Response(holder.stderr as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  const reader = holder.stdout.getReader();
  const { done } = await reader.read();
  const close = async () => {
    await holder.stdin.close();
    await reader.cancel();
    await holder.exited;
    await complaint;
  };
  if (!done) return { pid: holder.pid, close };
  await close();
  throw new Error(`Cannot make a network namespace: ${await complaint}`);
}

async function waitForPackets(
  processes: Processes,
  bridge: Namespace,
  address: string,
): Promise<void> {
  await poll("packets from a joined host", async () => {
    const answered = await shell(processes, KNOCK, [String(bridge.pid), address]);
    return answered.trim() === "there" ? true : undefined;
  });
}
