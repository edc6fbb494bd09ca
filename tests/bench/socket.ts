/**
 * Time until an MCP server on a booted host has answered `initialize` and `tools/list`: started by
 * its systemd socket, against the same command started by hand. Two cases in between add one cost
 * each: the check of the tree, and systemd without the sandbox. Needs root.
 * `./dev bench socket`
 *
 * @module
 */

import { printTable } from "tests/bench/measure.ts";
import { type BootedHost, bootHost } from "tests/support/booted_host.ts";
import { installKeyed } from "tests/support/keyed_mcp.ts";
import { TREE } from "tests/support/module_graph.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { copyInto, installPackage } from "tests/support/packaged_host.ts";

const ROUNDS = 30;
const BROWSER = "name: browser\nsummary: Stands in\nsource: {builtin: agent-message}\n" +
  "auth: none\nscope: per_user\n";
const REPO = "/var/lib/fleetctl/repo";

const SUBJECTS = {
  hand: "started by hand",
  checked: "started by hand, tree checked",
  bare: "started by a socket of systemd's, tree checked, no sandbox",
  socket: "started by its socket: tree checked, in its sandbox",
} as const;

/** Settings of the service that define the program, without those that confine it. */
const NEEDED = /^(\[|Exec|User|Group|Environment|Standard|WorkingDirectory)/;

/** Installs the same server behind a separate socket, without its sandbox and its limits. */
async function installBare(host: BootedHost): Promise<void> {
  const units = `${host.root}/etc/systemd/system`;
  const service = await Deno.readTextFile(`${units}/mcp-keyed-ada@.service`);
  const lines = service.split("\n").filter((line) => NEEDED.test(line));
  await Deno.writeTextFile(`${units}/mcp-bare-ada@.service`, `${lines.join("\n")}\n`);
  await Deno.writeTextFile(
    `${units}/mcp-bare-ada.socket`,
    "[Socket]\nListenStream=/run/mcp/bare-ada.sock\nAccept=yes\n",
  );
  await host.must("systemctl", "daemon-reload");
  await host.must("systemctl", "start", "mcp-bare-ada.socket");
}

/** Boots a host with a server that only starts and does no work, and times the four cases. */
export async function benchSocket(): Promise<void> {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "bench" });
  try {
    await installPackage(host, out);
    await host.must("fleetctl", "apply");
    await Deno.mkdir(`${host.root}${REPO}/catalog/browser`, { recursive: true });
    await Deno.writeTextFile(`${host.root}${REPO}/catalog/browser/mcp.yaml`, BROWSER);
    await installKeyed(host.root, [{ name: "keyed", key: "KEYED_TOKEN", scope: "per_user" }]);
    await host.must("fleetctl", "agents", "add", "ada", "--channel", "webview");
    await host.exec(
      ["fleetctl", "secret", "set", "KEYED_TOKEN", "--agent", "ada", "--value", "-"],
      { input: "x" },
    );
    await copyInto(host, `${TREE}/tests/bench/socket_probe.ts`, "/srv");
    const times = new Map<string, readonly number[]>();
    await host.must("fleetctl", "mcp", "add", "keyed", "ada");
    await installBare(host);
    const printed = await host.must(
      "/usr/lib/fleetctl/deno",
      "run",
      "-q",
      "-A",
      "--no-config",
      "/srv/socket_probe.ts",
      "keyed",
      "ada",
      String(ROUNDS),
    );
    const found = JSON.parse(printed) as Record<keyof typeof SUBJECTS, number[]>;
    for (const [name, words] of Object.entries(SUBJECTS)) {
      times.set(words, found[name as keyof typeof SUBJECTS]);
    }
    printTable(times);
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
}
