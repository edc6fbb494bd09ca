/**
 * The section "On a host" of the README, run on a booted host that has the package file and no
 * fleet. Its commands run verbatim. Then both people sign in through the HTTPS front, and each
 * reaches only their own agent.
 *
 * @module
 */

import assert from "node:assert/strict";
import { bootHost } from "tests/support/booted_host.ts";
import { hostSteps } from "tests/support/host_steps.ts";
import { TREE } from "tests/support/module_graph.ts";
import { buildPackage } from "tests/support/built_package.ts";
import { copyInto, PackagedHost } from "tests/support/packaged_host.ts";
import { VENDOR_CACHE } from "tests/support/prepare_vendor.ts";
import { checkNames, checkSmallVerbs } from "tests/system/on_host/small_verbs.ts";
import { FRONT_NAME, Person } from "tests/system/on_host/person.ts";

const COMMANDS_MAX = 6;
/** The folder with the package, where the commands run. */
const FOLDER = "/srv";

/** The commands of the section, one per line. */
async function commandsOfReadme(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(`${TREE}README.md`);
  const [, section = ""] = /^## On a host\n([^]*?)^## /m.exec(text) ?? [];
  const [, block = ""] = /^```sh\n([^]*?)^```$/m.exec(section) ?? [];
  return block.trim().split("\n");
}

/**
 * Provides what a networked host has and a booted one lacks: a registry, a certificate authority
 * for the name, and a package manager that has just installed and started Caddy.
 */
async function standInForTheNetwork(scene: PackagedHost): Promise<void> {
  await copyInto(scene.host, `${VENDOR_CACHE}/browser`, "/var/lib/fleetctl/vendor-cache");
  const options = 'APT::Install-Recommends "false";\n';
  await Deno.writeTextFile(`${scene.host.root}/etc/apt/apt.conf.d/90offline`, options);
  await scene.must("systemctl", "enable", "--now", "caddy");
}

/** Runs one command as a person pastes it; returns its output. */
async function paste(scene: PackagedHost, command: string): Promise<string> {
  const { code, out, err } = await scene.run(["bash", "-c", `cd ${FOLDER} && ${command}`]);
  assert.equal(code, 0, `${command}\n${out}${err}`);
  return out;
}

Deno.test("the commands of the README make a host with two agents for two people", async (t) => {
  const commands = await commandsOfReadme();
  assert.ok(commands.length > 0 && commands.length <= COMMANDS_MAX, commands.join("\n"));
  const out = await buildPackage();
  const host = await bootHost({ target: "multi-user.target" });
  const scene = new PackagedHost(host);
  const step = hostSteps(t, [host]);
  try {
    for (const entry of Deno.readDirSync(out)) {
      if (entry.name.endsWith(".deb")) await copyInto(host, `${out}/${entry.name}`, FOLDER);
    }
    await standInForTheNetwork(scene);
    const printed: string[] = [];
    for (const command of commands) {
      await step(command, async () => {
        printed.push(await paste(scene, command));
        if (!command.includes("> /etc/caddy/Caddyfile")) return;
        // No authority issues a certificate for a public name to a booted host.
        await scene.must("sed", "-i", "1a tls internal", "/etc/caddy/Caddyfile");
      });
    }
    const people = [...printed.join("").matchAll(/^login {2}(\S+) {2}password (\S+)/gm)]
      .map(([, address = "", password = ""]) => new Person(scene, { address, password }));
    await step("each person signs in with the printed password, and with no other", async () => {
      assert.deepEqual(people.map(({ agent }) => agent), ["ada", "bea"]);
      const [ada, bea] = people as [Person, Person];
      await assert.rejects(
        new Person(scene, { ...ada.login, password: bea.login.password }).signIn(),
      );
      for (const person of people) await person.signIn();
    });
    await step("each sends a turn to their own agent and gets its answer", async () => {
      for (const person of people) assert.match(await person.turn("what can you do"), /demo/i);
    });
    await step("each sees and reaches only their own agent", async () => {
      const [ada, bea] = people as [Person, Person];
      await ada.checkStranger(bea.agent);
      await bea.checkStranger(ada.agent);
    });
    await step(
      "status finds nothing wrong, the front passes on all, no password is kept",
      async () => {
        assert.match(await scene.must("fleetctl", "status"), /nothing is wrong/);
        for (const { login } of people) {
          const grep = ["grep", "-rqF", "--", login.password];
          for (const folder of ["/etc", "/var/lib/fleetctl", "/var/log", "/run/fleetctl"]) {
            assert.equal((await scene.run([...grep, folder])).code, 1, folder);
          }
          const journal = await scene.must("journalctl", "-b", "--no-pager", "-o", "cat");
          assert.ok(!journal.includes(login.password));
        }
        const users = await scene.must("fleetctl", "webview-login", "users", "list");
        assert.match(users, /ada@example.org +ada +hashed\n +?bea@example.org +bea +hashed|hashed/);
      },
    );
    await step("other verbs work on a host", () => checkSmallVerbs(scene, FRONT_NAME));
    await step("names that collide in one unit, channels and keys", () => checkNames(scene));
  } finally {
    await host.stop();
    await Deno.remove(out, { recursive: true });
  }
});
