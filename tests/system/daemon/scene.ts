/**
 * A booted host with the package, a gateway, an admin agent and two others, and clients that send
 * valid and invalid requests to the daemon's socket as any uid.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type DaemonFrame, parseDaemonFrame } from "core/verbs/daemon_frames.ts";
import { type BootedHost, bootHost, type Ended, poll } from "tests/support/booted_host.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { copyInto, installPackage, PackagedHost, ROLES } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";

/** The agents: an admin and two others. */
export const AGENTS = ["ada", "bob", "zoe"] as const;
/** Where the daemon listens. */
export const SOCKET = "/run/fleetctl/fleetctl.sock";
/** The program that the daemon may run as root. */
export const EXEC = "/usr/lib/fleetctl/fleetctl-exec";

/**
 * Sends requests to the daemon, one connection each, and prints the last frame of every answer as
 * one line. A rate-limit refusal does not count as an answer: the client retries.
 */
const ASK = `
import json, socket, sys, time
def ask(line):
    while True:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("${SOCKET}")
            try:
                s.sendall(line)
                s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            data = b""
            try:
                while part := s.recv(65536):
                    data += part
            except OSError:
                pass
        frames = data.decode().strip().split("\\n")
        if "sends more than" not in frames[-1]:
            return frames[-1]
        time.sleep(0.1)
for line in sys.stdin:
    print(ask(line.encode()), flush=True)
`;

/** The host of these tests. */
export class DaemonScene extends PackagedHost {
  /** Runs a Python program inside as root. */
  python(program: string, ...args: readonly string[]): Promise<Ended> {
    return this.host.exec(["/usr/bin/python3", "-c", program, ...args]);
  }

  /** Sends requests as a uid; returns the last frame of each answer. */
  async ask(uid: number, requests: readonly unknown[]): Promise<readonly DaemonFrame[]> {
    return await this.askThrough(["setpriv", `--reuid=${uid}`, "--clear-groups", "--"], requests);
  }

  /** Sends requests from a client that the given command starts. */
  async askThrough(
    words: readonly string[],
    requests: readonly unknown[],
  ): Promise<readonly DaemonFrame[]> {
    const input = requests.map((one) => `${JSON.stringify(one)}\n`).join("");
    const ended = await this.host.exec([...words, "/usr/bin/python3", "-c", ASK], { input });
    assert.equal(ended.code, 0, `${words.join(" ")}: ${ended.err}`);
    const frames = ended.out.trim().split("\n").map((line) => parseDaemonFrame(line));
    assert.equal(frames.length, requests.length, ended.out);
    return frames.map((frame, at) => {
      assert.ok(frame !== undefined, `no frame for ${JSON.stringify(requests[at])}: ${ended.out}`);
      return frame;
    });
  }

  /** Resolves when every agent is connected with its key and no verb is running. */
  async settled(): Promise<void> {
    await poll("a host at rest", async () => {
      const rows = await this.audit();
      const isBusy = rows.some(({ via, allowed, exit }) =>
        via === "daemon" && allowed && exit === null
      );
      if (isBusy) return undefined;
      const ended = await this.host.exec(["fleetctl", "status", "--json"]);
      const { agents } = JSON.parse(ended.out) as {
        readonly agents: readonly { readonly state: string; readonly gateway: string }[];
      };
      return agents.every(({ state, gateway }) => gateway === "connected" || state === "stopped")
        ? true
        : undefined;
    });
  }

  async uidOf(user: string): Promise<number> {
    return Number((await this.must("id", "-u", user)).trim());
  }

  /** Returns decisions of the audit log as an operator sees them, oldest first. */
  async audit(...filters: readonly string[]): Promise<readonly AuditLine[]> {
    const words = ["fleetctl", "audit", "list", "--json", "--limit", "100000", ...filters];
    const { decisions } = JSON.parse(await this.must(...words)) as {
      readonly decisions: readonly AuditLine[];
    };
    return decisions;
  }
}

/** One decision. */
export interface AuditLine {
  readonly id: number;
  readonly via: string;
  readonly uid: number;
  readonly caller: string;
  readonly verb: string;
  readonly target: string;
  readonly allowed: boolean;
  readonly code: string | null;
  readonly reason: string;
  readonly exit: string | null;
}

/** Returns the code of a refusal, or `exit <n>`. */
export function answerOf(frame: DaemonFrame | undefined): string {
  if (frame?.type === "refused") return frame.error.code;
  return frame?.type === "exit" ? `exit ${frame.code}` : `no answer: ${JSON.stringify(frame)}`;
}

/** Boots the host and installs everything; the caller must stop it. */
export async function openScene(): Promise<
  { readonly host: BootedHost; readonly scene: DaemonScene }
> {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "guarded" });
  try {
    const scene = new DaemonScene(host);
    await copyInto(host, `${VENDOR_CACHE}/.`, "/var/lib/fleetctl/vendor-cache");
    await installPackage(host, out);
    await Deno.writeTextFile(`${host.root}/etc/fleetctl/roles.yaml`, ROLES);
    for (const name of AGENTS) {
      await scene.must(
        "fleetctl",
        "agents",
        "add",
        name,
        "--channel",
        "webview",
        "--user-email",
        `${name}@example.org`,
      );
    }
    const shard = "/var/lib/fleetctl/repo/agents.d/zoe.yaml";
    await scene.must("sh", "-c", `echo 'admin: true' >> ${shard}`);
    await scene.must("fleetctl", "apply");
    return { host, scene };
  } catch (thrown) {
    await host.stop();
    throw thrown;
  } finally {
    await Deno.remove(out, { recursive: true });
  }
}
