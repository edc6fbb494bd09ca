/**
 * Checks the hosts that other tests build on: names, links, reboots, users and reports.
 *
 * @module
 */

import assert from "node:assert/strict";
import { type Lan, withHosts } from "tests/support/host_lan.ts";
import { hostSteps, withReports } from "tests/support/host_steps.ts";

type Pair = Lan<"atlas" | "boreas">;

const PORT = 7000;
/** Answers each connection with its input in capitals. */
const ECHO = ["systemd-run", "-q", "--unit=echo", "socat"]
  .concat([`TCP-LISTEN:${PORT},fork,reuseaddr`, "SYSTEM:tr a-z A-Z"]);
/** Retries until the service listens; a refused connection does not count as an answer. */
const ASK = `for _ in $(seq 200); do
  socat -t5 - "TCP:$1:$2,connect-timeout=5" && exit; sleep 0.05; done; exit 1`;

async function ask({ hosts }: Pair, from: "atlas" | "boreas", to: string): Promise<string> {
  const { out, err } = await hosts[from].exec(["bash", "-c", ASK, "bash", to, String(PORT)], {
    input: "hello\n",
  });
  return out === "" ? err : out;
}

/** Tries once; with a cut cable there is no answer. */
async function isReachable({ hosts }: Pair, to: string): Promise<boolean> {
  const words = ["socat", "-u", "OPEN:/dev/null", `TCP:${to}:${PORT},connect-timeout=2`];
  const ended = await hosts.atlas.exec(words);
  if (ended.code !== 0) assert.match(ended.err, /timed out|No route to host/);
  return ended.code === 0;
}

Deno.test("withHosts() boots hosts on a network whose links can be cut", async (t) => {
  await withHosts(["atlas", "boreas"], async (lan: Pair) => {
    const { atlas, boreas } = lan.hosts;
    const step = hostSteps(t, [atlas, boreas]);

    await step("each host has its name, and finds the other by its own", async () => {
      for (const [host, other] of [[atlas, boreas], [boreas, atlas]] as const) {
        assert.equal((await host.must("hostname")).trim(), host.name);
        await host.must(...ECHO);
        const known = await host.must("getent", "hosts", other.name);
        assert.ok(known.startsWith(`${other.address} `), known);
      }
      assert.equal(await ask(lan, "atlas", "boreas"), "HELLO\n");
      assert.equal(await ask(lan, "boreas", "atlas"), "HELLO\n");
    });

    await step("a cut link lets nothing pass, and a joined one lets it pass again", async () => {
      assert.ok(await isReachable(lan, "boreas"));
      await lan.cut("boreas");
      assert.ok(!await isReachable(lan, "boreas"));
      await lan.join("boreas");
      assert.ok(await isReachable(lan, "boreas"));
    });

    await step("a reboot keeps name, address and files, and ends what ran", async () => {
      await boreas.must("sh", "-c", "echo kept > /srv/kept; echo gone > /run/gone");
      await boreas.reboot();
      assert.equal((await boreas.must("hostname")).trim(), "boreas");
      assert.equal(await boreas.must("cat", "/srv/kept"), "kept\n");
      assert.equal((await boreas.exec(["test", "-e", "/run/gone"])).code, 1);
      assert.equal((await boreas.exec(["systemctl", "is-active", "echo"])).out, "inactive\n");
      await boreas.must(...ECHO);
      assert.equal(await ask(lan, "atlas", "boreas"), "HELLO\n");
    });

    await step("a program runs as a user, with that user's rights", async () => {
      await boreas.must("useradd", "-m", "ada");
      const who = await boreas.exec(["sh", "-c", "id -un; pwd -P; echo $HOME; cat"], {
        user: "ada",
        input: "from stdin",
      });
      assert.deepEqual(who.out.split("\n"), ["ada", "/", "/home/ada", "from stdin"]);
      const denied = await boreas.exec(["cat", "/etc/shadow"], { user: "ada" });
      assert.match(denied.err, /Permission denied/);
      assert.equal((await atlas.exec(["id", "ada"])).code, 1, "hosts share no files");
    });

    await step("a failure shows the failed units and the journal of each host", async () => {
      await boreas.exec(
        ["systemd-run", "-q", "--wait", "--unit=broken"].concat([
          "sh",
          "-c",
          "echo 'last words' >&2; exit 3",
        ]),
      );
      const failing = withReports([atlas, boreas], () => {
        throw new Error("what the test saw");
      });
      await assert.rejects(failing, (thrown: Error) => {
        assert.match(thrown.message, /what the test saw[^]*== atlas[^]*== boreas/);
        const boreasSaid = thrown.message.slice(thrown.message.indexOf("== boreas"));
        assert.match(boreasSaid, /broken\.service +loaded failed[^]*last words/);
        return true;
      });
    });
  });
});
