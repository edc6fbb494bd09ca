/**
 * A booted host with the Debian package, as its operator and its users see it: commands, journal,
 * owners, and turns through the cockpit of a gateway in another network namespace.
 *
 * @module
 */

import assert from "node:assert/strict";
import { attachCockpit } from "cli/up/attach.ts";
import { defined } from "core/defined.ts";
import { openHost } from "core/os/host.ts";
import { pathsUnder } from "core/paths.ts";
import type { HttpClient } from "core/ports/http_client.ts";
import type { BootedHost, Ended, ExecAs } from "tests/support/booted_host.ts";
import { openPage } from "tests/support/page_client.ts";

const COMMAND_MS_MAX = 60_000;
/**
 * Longer than any pause between two attempts (`BACKOFF_LIMITS`), and shorter than the command
 * timeout.
 */
const LOG_SECONDS_MAX = 55;
const COCKPIT_PORT = 8731;
/** The gateway's unit. */
export const GATEWAY = "fleetctl-gateway.service";
/** The daemon's unit. */
export const DAEMON = "fleetctl-daemon.service";
/** The dial unit of ada. */
export const DIAL = "fleetctl-dial-ada.service";
/** A host with a gateway, agents and the daemon, as its operator configures it. */
export const ROLES = `gateway:
  cockpit_listen: 127.0.0.1:8731
  dial_listen: 127.0.0.1:8735
  trust: assertion
daemon: true
dial: true
`;

/** One host, as its operator and its users see it. */
export class PackagedHost {
  readonly host: BootedHost;

  constructor(host: BootedHost) {
    this.host = host;
  }

  /** Runs a program as root, or as `user` with that user's groups. */
  run(words: readonly string[], as: ExecAs = {}): Promise<Ended> {
    return this.host.exec(words, as);
  }

  /** Runs a program that must succeed, and returns its output. */
  must(...words: readonly string[]): Promise<string> {
    return this.host.must(...words);
  }

  /** Runs `fleetctl` as ada. */
  ada(line: string, input?: string): Promise<Ended> {
    const words = ["fleetctl", ...line.split(" ")];
    return this.run(words, { user: "ada", ...defined({ input }) });
  }

  /** Waits until the running instance of a unit has logged a line that matches in the journal. */
  async untilLogged(unit: string, pattern: string): Promise<void> {
    const id = await this.property(unit, "InvocationID");
    const follow =
      `grep -m1 -e "$1" < <(exec timeout ${LOG_SECONDS_MAX} journalctl -f -n all -o cat \\
      _SYSTEMD_INVOCATION_ID="$2" 2>/dev/null)`;
    const ended = await this.run(["bash", "-c", follow, "bash", pattern, id]);
    assert.equal(ended.code, 0, `${unit} never logged ${pattern}`);
  }

  async property(unit: string, name: string): Promise<string> {
    return (await this.must("systemctl", "show", "--value", "-p", name, unit)).trim();
  }

  /** Returns mode, owner and group of a file. */
  async modeOf(path: string): Promise<string> {
    return (await this.must("stat", "-c", "%a %U:%G", path)).trim();
  }

  async ownerOfProcess(pid: string): Promise<string> {
    return (await this.must("stat", "-c", "%U", `/proc/${pid}`)).trim();
  }

  /** Returns the first running instance of a template: the server of one connection. */
  async serverUnit(pattern: string): Promise<string> {
    const units = await this.must(
      "systemctl",
      "list-units",
      "--plain",
      "--no-legend",
      "--state=active",
      pattern,
    );
    return units.trim().split(/\s+/)[0] ?? "";
  }

  /**
   * Calls `work` with an HTTP client for the host's cockpit, whose loopback is not this machine's.
   */
  async #throughBridge<T>(work: (http: HttpClient) => Promise<T>): Promise<T> {
    await this.untilLogged(GATEWAY, '"event":"ready"');
    const bridge = await this.host.bridge(COCKPIT_PORT);
    const client = Deno.createHttpClient({ proxy: { transport: "unix", path: bridge.socket } });
    try {
      return await work({ fetch: (url, init) => fetch(url, { ...init, client }) });
    } finally {
      client.close();
      await bridge.close();
    }
  }

  /** Sends a request to a cockpit route as the owner of an agent. */
  askCockpit(
    owner: string,
    of: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: unknown },
  ): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
    return this.#throughBridge(async (http) => {
      const machine = openHost({ log: { program: "packaged-host", level: "error" } });
      const cockpit = await attachCockpit({ ...machine, http }, pathsUnder(this.host.root), owner);
      assert.ok(cockpit.ok);
      const route = of.path.split("?")[0] ?? "";
      const answer = await http.fetch(cockpit.value.base + of.path, {
        method: of.method,
        headers: {
          ...await cockpit.value.proof(of.method, route),
          "content-type": "application/json",
          "accept": "application/json",
          ...(of.method === "POST" ? { "idempotency-key": crypto.randomUUID() } : {}),
        },
        ...(of.body === undefined ? {} : { body: JSON.stringify(of.body) }),
      });
      return { status: answer.status, body: await answer.json() };
    });
  }

  /**
   * Sends a turn as the page does, and returns the last answer and the tools that were called. With
   * `approves`, the owner approves every call that needs it; otherwise such a call fails the test.
   */
  turn(
    text: string,
    { approves = false } = {},
  ): Promise<{ readonly answer: string; readonly tools: readonly string[] }> {
    return this.#throughBridge(async (http) => {
      const page = await openPage(this.host.root, { email: "ada@example.org", http });
      // Closing the page ends the wait for events; the turn has then not ended.
      const late = setTimeout(() => page.close(), COMMAND_MS_MAX);
      try {
        const events = await page.turn("ada", text, undefined, async ({ kind, data }) => {
          if (kind !== "approval_asked") return;
          assert.ok(approves, `no question was expected: ${JSON.stringify(data.payload)}`);
          const { approval_id, digest } = data.payload as Readonly<Record<string, unknown>>;
          const decided = await this.askCockpit("ada@example.org", {
            method: "POST",
            path: "/api/approvals/decide",
            body: { agent: "ada", approval_id, digest, decision: "approved" },
          });
          assert.equal(decided.status, 202, JSON.stringify(decided.body));
        });
        const payloads = (kind: string) =>
          events.filter((event) => event.kind === kind)
            .map((event) => event.data.payload as Readonly<Record<string, unknown>>);
        assert.deepEqual(payloads("turn_ended").map(({ outcome }) => outcome), ["completed"]);
        return {
          answer: String(payloads("message").at(-1)?.text),
          tools: payloads("tool_call").map(({ tool }) => String(tool)),
        };
      } finally {
        clearTimeout(late);
        page.close();
      }
    });
  }
}

/** Installs the built package, also over an installed one. */
export async function installPackage(host: BootedHost, out: string): Promise<void> {
  for (const entry of Deno.readDirSync(out)) {
    if (entry.name.endsWith(".deb")) await copyInto(host, `${out}/${entry.name}`, "/srv");
  }
  const installed = await host.exec(["sh", "-c", "dpkg -i /srv/fleetctl_*.deb"]);
  assert.equal(installed.code, 0, installed.out + installed.err);
  // Without a terminal, only errors are printed.
  assert.equal(installed.err, "");
  assert.doesNotMatch(installed.out, /Cannot|created|unchanged/);
}

/** Copies a file or folder of this machine into the host. */
export async function copyInto(host: BootedHost, from: string, to: string): Promise<void> {
  await Deno.mkdir(`${host.root}${to}`, { recursive: true });
  const copied = await new Deno.Command("cp", { args: ["-a", from, `${host.root}${to}`] }).output();
  assert.ok(copied.success, new TextDecoder().decode(copied.stderr));
}

/** Creates a repository inside the host, owned by ada; returns its commit. */
export async function makeRepository(
  scene: PackagedHost,
  path: string,
  subject: string,
): Promise<string> {
  const script = `set -e; git init -q "$1"; cd "$1"
    git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m "$2"
    git rev-parse HEAD; chown -R ada:ada "$1"`;
  return (await scene.must("sh", "-c", script, "sh", path, subject)).trim();
}
