/**
 * Verbs on the host that the README made, which a test without accounts and units cannot see.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { PackagedHost } from "tests/support/packaged_host.ts";

/** Runs `fleetctl`; returns exit code and all that was printed. */
async function fleetctl(
  scene: PackagedHost,
  line: string,
  as: { user?: string; input?: string } = {},
) {
  const { code, out, err } = await scene.run(["fleetctl", ...line.split(" ")], as);
  return { code, text: out + err };
}

/** A dry run of a new agent, logs as an agent, a password from stdin, the hasher of the login proxy. */
export async function checkSmallVerbs(scene: PackagedHost, frontName: string): Promise<void> {
  const dry = await fleetctl(scene, "agents add cat --channel webview --dry-run");
  assert.equal(dry.code, 0, dry.text);
  assert.match(dry.text, /created .*fleetctl-dial-cat|agent "cat" would run/);
  assert.equal((await scene.run(["getent", "passwd", "cat"])).code, 2);

  const own = await fleetctl(scene, "logs self", { user: "ada" });
  assert.equal(own.code, 0, own.text);
  const answers = await Promise.all(
    ["bea", "nosuch"].map(async (name) => {
      const { code, text } = await fleetctl(scene, `logs ${name}`, { user: "ada" });
      return `${code} ${text.replaceAll(name, "NAME")}`;
    }),
  );
  assert.match(answers[0] ?? "", /^4 .*neither the caller nor an MCP/);
  assert.equal(answers[0], answers[1]);

  const set = await fleetctl(scene, "webview-login users set ada@example.org --password -", {
    input: "a new password, chosen\n",
  });
  assert.equal(set.code, 0, set.text);
  assert.doesNotMatch(set.text, /chosen/);
  assert.match(await scene.must("fleetctl", "webview-login", "users", "list"), /ada +hashed/);

  const hasher = await scene.run(
    ["/usr/lib/fleetctl/fleetctl-login", "--hash-password", "mia@example.org"],
    { input: "a password", user: "ada" },
  );
  assert.match(hasher.out, /^mia@example\.org:\{pbkdf2-sha256\}600000\$/, hasher.err);
  assert.match(
    await scene.must("fleetctl", "webview-login", "front", "nginx"),
    new RegExp(frontName),
  );
}
