/**
 * The first call of an MCP server that its socket starts under systemd, against the same command
 * started by hand, on a booted host: `initialize` and `tools/list`, answered. Needs root.
 * `./dev bench socket`
 *
 * @module
 */

import { printTable } from "tests/bench/measure.ts";
import { bootHost } from "tests/support/booted_host.ts";
import { installKeyed } from "tests/support/keyed_mcp.ts";
import { TREE } from "tests/support/module_graph.ts";
import { buildPackage, copyInto } from "tests/support/packaged_host.ts";

const ROUNDS = 30;
const BROWSER = "name: browser\nsummary: Stands in\nsource: {builtin: agent-message}\n" +
  "auth: none\nscope: per_user\n";
const REPO = "/var/lib/fleetctl/repo";

/** Boots a host with a server that is all start and no work, and times both ways. */
export async function benchSocket(): Promise<void> {
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target", name: "bench" });
  try {
    for (const entry of Deno.readDirSync(out)) {
      if (entry.name.endsWith(".deb")) await copyInto(host, `${out}/${entry.name}`, "/srv");
    }
    await host.must("sh", "-c", "dpkg -i /srv/fleetctl_*.deb");
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
    const printed = await host.must(
      ...["/usr/lib/fleetctl/deno", "run", "-q", "-A", "--no-config"],
      ...["/srv/socket_probe.ts", "keyed", "ada", String(ROUNDS)],
    );
    const { hand, socket } = JSON.parse(printed) as Record<"hand" | "socket", number[]>;
    times.set("started by hand", hand);
    times.set("started by its socket, tree checked", socket);
    printTable(times);
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
}
