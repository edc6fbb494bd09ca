/**
 * Questions of the command line to a person at a real terminal: the name before an agent is removed
 * for good, and the value of a secret, which must not appear on the screen.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { type AtTerminal, atTerminal, type Typed } from "tests/support/person.ts";

const TREE = new URL("../../", import.meta.url).pathname;
/** Replaces the default MCP, so that nothing is installed. */
const BROWSER = `name: browser
summary: Stands in, so that nothing is installed
source:
  builtin: agent-message
auth: none
scope: per_user
`;
const ASKED = 'Type "bea" to continue: ';

class Root {
  readonly paths;
  constructor(readonly root: string) {
    this.paths = pathsUnder(root);
  }

  person(argv: readonly string[], typed: readonly Typed[]): Promise<AtTerminal> {
    const program = ["run", "-q", "-A", "--no-check", "--cached-only", "cli/main.ts"];
    const env = {
      FLEETCTL_ROOT: this.root,
      PATH: "/usr/bin:/bin",
      DENO_DIR: Deno.env.get("DENO_DIR") ?? `${Deno.env.get("HOME")}/.cache/deno`,
    };
    return atTerminal([Deno.execPath(), ...program, ...argv], typed, { cwd: TREE, env });
  }

  async hasBea(): Promise<boolean> {
    const file = this.paths.agentShard("bea");
    return await Deno.stat(file).then(() => true, () => false);
  }
}

async function withRoot(use: (root: Root) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "fctl" });
  try {
    await use(new Root(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("agents remove asks for the name, and removes nothing if the text differs", async (t) => {
  await withRoot(async (root) => {
    const overlay = `${root.paths.overlayCatalog}/browser`;
    await Deno.mkdir(overlay, { recursive: true });
    await Deno.writeTextFile(`${overlay}/mcp.yaml`, BROWSER);
    const added = await root.person(
      ["agents", "add", "bea", "--channel", "webview", "--user-email", "bea@example.org"],
      [],
    );
    assert.equal(added.code, 0, added.screen);
    const refusals:
      readonly (readonly [name: string, keys: string, code: number, report: RegExp])[] = [
        ["another name", "be\n", 2, /what was typed is not "bea"/],
        ["yes", "yes\n", 2, /hint: fleetctl agents remove bea --yes/],
        ["nothing", "\n", 2, /what was typed is not "bea"/],
        ["the end of input", "\u0004", 2, /what was typed is not "bea"/],
        ["an interrupt", "\u0003", 130, /Type "bea"/],
      ];
    for (const [name, keys, code, report] of refusals) {
      await t.step(name, async () => {
        const ended = await root.person(["agents", "remove", "bea"], [[ASKED, keys]]);
        assert.match(ended.screen, report);
        assert.equal(ended.code, code, ended.screen);
        assert.ok(await root.hasBea());
      });
    }
    await t.step("its name, corrected while it was typed", async () => {
      const typed: Typed = [ASKED, "bob\u007f\u007fea\n"];
      const ended = await root.person(["agents", "remove", "bea"], [typed]);
      assert.equal(ended.code, 0, ended.screen);
      assert.match(ended.screen, /"fleetctl agents remove bea" cannot be undone\./);
      assert.ok(!await root.hasBea());
    });
    await t.step("an unknown agent", async () => {
      const ended = await root.person(["agents", "remove", "bea"], [[ASKED, "bea\n"]]);
      assert.equal(ended.code, 1, ended.screen);
      assert.match(ended.screen, /Cannot .* "bea"/);
    });
  });
});

Deno.test("secret set asks for the value and shows none of it", async () => {
  await withRoot(async (root) => {
    const set = await root.person(["secret", "set", "NOTES_TOKEN"], [["NOTES_TOKEN", "hunter2\r"]]);
    assert.equal(set.code, 0, set.screen);
    assert.doesNotMatch(set.screen, /hunter/);
    const got = await root.person(["secret", "get", "NOTES_TOKEN"], []);
    assert.equal(got.screen, "hunter2\r\n");
  });
});
