/**
 * Verbs on the host that the README sets up, which a test without accounts and units cannot cover.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { PackagedHost } from "tests/support/packaged_host.ts";

/** Runs `fleetctl`; returns the exit code and the whole output. */
async function fleetctl(
  scene: PackagedHost,
  line: string,
  as: { user?: string; input?: string } = {},
) {
  const { code, out, err } = await scene.run(["fleetctl", ...line.split(" ")], as);
  return { code, text: out + err };
}

/**
 * Covers a dry run of a new agent, logs as an agent, a password from stdin, and the login proxy's
 * hasher.
 */
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

  const foreign = await fleetctl(scene, "mcp doctor search-a ada");
  assert.equal(foreign.code, 1, foreign.text);
  assert.match(
    foreign.text,
    /does not have MCP "search-a"[^]*\nhint: fleetctl mcp add search-a ada/,
  );

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
  for (const [role, env] of [["login", "webview-login"], ["gateway", "webview-gateway"]]) {
    const check = `set -a; . /etc/fleetctl/env/${env}.env
      /usr/lib/fleetctl/fleetctl-${role} --check-config`;
    assert.equal(await scene.must("bash", "-c", check), "ok\n");
  }
  const help = await scene.run(["/usr/lib/fleetctl/fleetctl-runtime", "--help"], { user: "ada" });
  assert.match(help.out, /FLEETCTL_PROVIDER/, help.err);
  assert.match(
    await scene.must("fleetctl", "webview-login", "front", "nginx"),
    new RegExp(frontName),
  );
}

/** Overlay entries whose names, joined with those of two agents, give one unit name. */
const NOTES = ["note", "note-x"];

/**
 * The socket of an agent's MCP stays its own when another pair of names joins to the same unit
 * name. An agent on a channel without a gateway gets a warning, and an unused key is named.
 */
export async function checkNames(scene: PackagedHost): Promise<void> {
  for (const name of NOTES) {
    const folder = `${scene.host.root}/var/lib/fleetctl/repo/catalog/${name}`;
    await Deno.mkdir(folder, { recursive: true });
    const source = "source: {builtin: agent-message}\nauth: none\nscope: per_user\n";
    await Deno.writeTextFile(`${folder}/mcp.yaml`, `name: ${name}\nsummary: Notes\n${source}`);
  }
  const added = await fleetctl(scene, "agents add x-ada --channel messenger");
  assert.equal(added.code, 0, added.text);
  assert.match(added.text, /has the channel messenger, which this version does not connect/);
  await scene.must("fleetctl", "mcp", "add", "note-x", "ada");
  const socket = "/run/mcp/note-x-ada.sock";
  assert.equal(await scene.modeOf(socket), "600 ada:ada");
  for (const user of ["root", "x-ada"]) {
    const who = user === "root" ? "x-ada" : "self";
    const refused = await fleetctl(scene, `mcp add note ${who}`, { user });
    assert.equal(refused.code, 1, refused.text);
    assert.match(
      refused.text,
      /its unit "mcp-note-x-ada.socket" belongs to (?:another MCP|MCP "note-x")/,
    );
    assert.equal(user === "root", refused.text.includes('agent "ada"'), refused.text);
  }
  assert.equal(await scene.modeOf(socket), "600 ada:ada");
  await scene.must("fleetctl", "apply");
  const walked = await fleetctl(scene, "mcp doctor note-x self", { user: "ada" });
  assert.equal(walked.code, 0, walked.text);
  const unread = await fleetctl(scene, "secret set GITLAB_TOKN --agent self --value -", {
    user: "ada",
    input: "x",
  });
  assert.match(unread.text, /Nothing on this host reads "GITLAB_TOKN"/);
}
