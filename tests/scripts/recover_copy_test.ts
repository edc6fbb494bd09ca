/**
 * A sealed copy of one root is restored on another: ledger, secrets and settings come along. A root
 * that already has a fleet refuses it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { runFleetctl } from "tests/support/script.ts";

const BROWSER = `name: browser
summary: Stands in for the browser, so that nothing is installed
source:
  builtin: agent-message
auth: none
scope: per_user
`;

async function withRoots(work: (from: string, to: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "fctl" });
  try {
    for (const name of ["a", "b"]) {
      const catalog = `${folder}/${name}/var/lib/fleetctl/repo/catalog/browser`;
      await Deno.mkdir(catalog, { recursive: true });
      await Deno.writeTextFile(`${catalog}/mcp.yaml`, BROWSER);
    }
    await work(`${folder}/a`, `${folder}/b`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function must(root: string, argv: readonly string[], stdin?: string): Promise<string> {
  const ended = await runFleetctl(argv, { root, stdin });
  assert.equal(ended.code, 0, `${argv.join(" ")}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

Deno.test("secret recover --copy restores a fleet in an empty root", async () => {
  await withRoots(async (from, to) => {
    const mail = ["--channel", "webview", "--user-email", "ada@example.org"];
    await must(from, ["agents", "add", "ada", ...mail]);
    await must(from, ["secret", "set", "KEY", "--value", "as it was", "--agent", "ada"]);
    await Deno.writeTextFile(`${from}/etc/fleetctl/defaults.yaml`, "tools: []\n");
    await Deno.mkdir(`${to}/etc/fleetctl`, { recursive: true });
    await Deno.writeTextFile(`${to}/etc/fleetctl/host.yaml`, "teams_gateway: boreas\n");
    await Deno.writeTextFile(`${from}/etc/fleetctl/host.yaml`, "teams_gateway: calypso\n");
    const recoveryKey = await must(from, ["secret", "recovery", "add"]);
    const copy = `${from}/fleet.age`;
    await Deno.writeTextFile(copy, await must(from, ["secret", "recovery", "copy"]));
    await must(to, ["apply"]);
    const recover = ["secret", "recover", "--key", "-", "--copy", copy];
    const other = await must(to, ["secret", "recovery", "add"]);
    const foreign = await runFleetctl(recover, { root: to, stdin: other });
    assert.match(foreign.stderr, /the recovery key is not the one that it was sealed to/);
    const output = await must(to, recover, recoveryKey);
    assert.match(output, /^restored {2}1 agents and 5 secrets of host /m);
    assert.match(output, /^kept {2}.*\/etc\/fleetctl\/host\.yaml, which differs from the copy/m);
    await must(to, ["apply"]);
    const got = await must(to, ["secret", "get", "KEY", "--agent", "ada"]);
    assert.equal(got, "as it was\n");
    assert.equal(await Deno.readTextFile(`${to}/etc/fleetctl/defaults.yaml`), "tools: []\n");
    assert.match(await Deno.readTextFile(`${to}/etc/fleetctl/host.yaml`), /boreas/);
    assert.match(await must(to, ["ledger", "log"]), /secret recover: the fleet of host/);
    const again = await runFleetctl(recover, { root: to, stdin: recoveryKey });
    assert.match(again.stderr, /this host already has 1 agents and 1 secrets, must have none/);
  });
});
