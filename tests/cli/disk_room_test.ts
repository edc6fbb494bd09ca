/**
 * `status` and `doctor` before a disk is full: bytes, and entries, which run out independently. The
 * last test has its own real disk and needs the right to mount.
 *
 * @module
 */

import assert from "node:assert/strict";
import { diskProblems } from "cli/disk_room.ts";
import { pathsUnder } from "core/paths.ts";
import type { VerbContext } from "cli/context.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { startsEverything } from "tests/support/no_services.ts";
import { runFleetctl } from "tests/support/script.ts";

const HEAD = "Mounted on 1B-blocks Avail Inodes IFree File\n";
const GIB = 1024 ** 3;

async function problems(lines: string, root = "/") {
  const processes = fakeProcesses({
    df: async ({ print, warn }) => {
      await warn("df: /run/fleetctl: No such file or directory\n");
      await print(HEAD + lines);
      return 1;
    },
  });
  const found = await diskProblems(
    { ports: { processes }, paths: pathsUnder(root) } as unknown as VerbContext,
  );
  return { found, asked: processes.calls[0]?.args ?? [] };
}

Deno.test("diskProblems() distinguishes bytes and entries, and names the folders", async () => {
  const { found, asked } = await problems(
    `/tmp 1000000000 900000000 16384 0 /tmp\n` +
      `/ ${100 * GIB} ${GIB} 6553600 6000000 /var/tmp\n` +
      `/srv/a b ${100 * GIB} ${GIB / 4} 6553600 6000000 /var/lib/fleetctl\n` +
      `/srv/a b ${100 * GIB} ${GIB / 4} 6553600 6000000 /var/log/fleetctl\n`,
  );
  assert.deepEqual(asked.slice(-5), [
    "/tmp",
    "/var/tmp",
    "/var/lib/fleetctl",
    "/var/log/fleetctl",
    "/run/fleetctl",
  ]);
  assert.deepEqual(found.map(({ code, message }) => [code, message]), [
    [
      "disk-entries-gone",
      'The disk at "/tmp" has no entries (inodes) left of 16384, must have at least 820',
    ],
    [
      "disk-nearly-full",
      'The disk at "/srv/a b" has 256 MiB left of 102400, must have at least 512',
    ],
  ]);
  const [entries, bytes] = found;
  assert.deepEqual(entries?.details, [
    "/tmp: a unit that starts while the disk is full gets a read-only one",
  ]);
  assert.deepEqual(entries?.hints, ["fleetctl gc", "du -xd2 --inodes /tmp | sort -n | tail -n 20"]);
  assert.deepEqual(bytes?.details.map((line) => line.split(":")[0]), [
    "/var/lib/fleetctl",
    "/var/log/fleetctl",
  ]);
  assert.deepEqual(bytes?.hints, [
    "du -xd2 -m '/srv/a b' | sort -n | tail -n 20",
    "fleetctl gc --dry-run",
  ]);
});

Deno.test("diskProblems() requires a share of a small disk, none of an empty one", async () => {
  for (
    const [line, wanted] of [
      ["/run 10000000 500001 1000 50 /run/fleetctl", []],
      ["/run 10000000 499999 1000 50 /run/fleetctl", ["disk-nearly-full"]],
      ["/run 10000000 99999 1000 50 /run/fleetctl", ["disk-full"]],
      ["/run 10000000 500001 1000 0 /run/fleetctl", ["disk-entries-gone"]],
      ["/run 10000000 500001 1000 49 /run/fleetctl", ["disk-entries-nearly-gone"]],
      [`/ ${100 * GIB} ${GIB} - - /var/lib/fleetctl`, []],
      [`/ ${100 * GIB} ${GIB} 0 0 /var/lib/fleetctl`, []],
      ["/sys - - - - /var/lib/fleetctl", []],
      ["what is this", []],
      ["", []],
    ] as const
  ) {
    const { found } = await problems(`${line}\n`);
    assert.deepEqual(found.map(({ code }) => code), wanted, line);
  }
});

Deno.test("diskProblems() checks only its own folders under a root, using df", async () => {
  const { asked } = await problems("", "/srv/root");
  assert.deepEqual(asked.slice(-3), [
    "/srv/root/var/lib/fleetctl",
    "/srv/root/var/log/fleetctl",
    "/srv/root/run/fleetctl",
  ]);
  assert.ok(!asked.includes("/tmp"));
  const ports = { processes: fakeProcesses() };
  const context = { ports, paths: pathsUnder("/") } as unknown as VerbContext;
  assert.deepEqual(await diskProblems(context), []);
});

Deno.test({
  name: "doctor reports a disk without free entries, until there are some again",
  ignore: Deno.uid() !== 0,
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "fctl" });
    const must = async (command: string, ...args: string[]) => {
      const done = await new Deno.Command(command, { args, env: {}, clearEnv: true }).output();
      assert.ok(done.success, new TextDecoder().decode(done.stderr));
    };
    await must("/usr/bin/mount", "-t", "tmpfs", "-o", "size=64m,nr_inodes=2000", "tmpfs", root);
    try {
      const ports = { services: startsEverything() };
      const run = async (...argv: string[]) => await runFleetctl(argv, { root, ports });
      assert.equal((await run("apply")).code, 0);
      assert.equal((await run("doctor")).code, 0);
      await Deno.mkdir(`${root}/many`);
      let last = 0;
      try {
        for (;; last++) await Deno.writeTextFile(`${root}/many/${last}`, "");
      } catch {
        // No entry is left.
      }
      const report = await run("doctor");
      assert.equal(report.code, 1);
      assert.match(report.stderr, /The disk at ".*fctl.*" has no entries \(inodes\) left of 2000/);
      assert.match(report.stderr, /^hint: du -xd2 --inodes .*fctl/m);
      assert.match((await run("status")).stdout, /! The disk at .* has no entries/);
      await Deno.remove(`${root}/many`, { recursive: true });
      assert.equal((await run("doctor")).code, 0);
    } finally {
      await must("/usr/bin/umount", "-l", root);
      await Deno.remove(root);
    }
  },
});
