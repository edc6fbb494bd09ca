/**
 * The launchers, run by a shell: the permission set and entry of each program, the environment of a
 * server, and the refusal to start an altered tree.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { denoTrees } from "core/os/vendor.ts";
import { type LauncherShape, PROGRAMS, renderLaunchers } from "units/render/launchers.ts";
import { permissionTemplates } from "units/render/permissions.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `work` with the launchers of a root whose `deno` prints its environment and arguments. */
async function withRoot(
  shape: (root: string) => LauncherShape,
  work: (
    run: (program: string, args?: readonly string[], env?: Record<string, string>) => Promise<Ran>,
    root: string,
  ) => Promise<void>,
): Promise<void> {
  const root = `${await Deno.makeTempDir()}/a root's folder`;
  const paths = pathsUnder(root);
  try {
    for (const folder of [paths.lib, paths.permissionsDir]) {
      await Deno.mkdir(folder, { recursive: true });
    }
    for (const file of renderLaunchers(shape(root), paths)) {
      await Deno.writeTextFile(file.path, file.content);
      await Deno.chmod(file.path, file.mode);
    }
    await Deno.writeTextFile(paths.deno, '#!/bin/sh\nenv\nfor word; do echo "[$word]"; done\n');
    await Deno.chmod(paths.deno, 0o755);
    await work(async (program, args = [], env = {}) => {
      const done = await new Deno.Command(paths.program(program), {
        args: [...args],
        env: { PATH: "/usr/bin:/bin", ...env },
        clearEnv: true,
        stdin: "null",
      }).output();
      const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      return { code: done.code, out: text(done.stdout), err: text(done.stderr) };
    }, root);
  } finally {
    await Deno.remove(root.slice(0, root.lastIndexOf("/")), { recursive: true });
  }
}

const tree = (): LauncherShape => ({ kind: "tree", dir: "/srv/the tree", denoDir: "/srv/cache" });
const bundle = (): LauncherShape => ({ kind: "bundle", dir: "/opt/lib", denoDir: "/srv/cache" });

function words(ran: Ran): readonly string[] {
  assert.equal(ran.code, 0, ran.err);
  return ran.out.split("\n").filter((line) => line.startsWith("[")).map((line) =>
    line.slice(1, -1)
  );
}

function variable(ran: Ran, name: string): string | undefined {
  return new RegExp(`^${name}=(.*)$`, "m").exec(ran.out)?.[1];
}

Deno.test("every program starts with an existing permission set and entry", async () => {
  for (const program of PROGRAMS) {
    assert.ok(permissionTemplates()[program.set] !== undefined, program.set);
    const entry = new URL(`../../../${program.entry}`, import.meta.url);
    assert.ok((await Deno.stat(entry)).isFile, program.entry);
  }
});

Deno.test("a launcher of the tree starts the pinned Deno with set, config and entry", async () => {
  await withRoot(tree, async (run, root) => {
    const ran = await run("fleetctl-gateway", ["--check-config", "a b"]);
    assert.deepEqual(words(ran), [
      "run",
      "-q",
      "--no-prompt",
      "--cached-only",
      "--config",
      `${root}/var/lib/fleetctl/permissions/host.json`,
      "-P=gateway",
      "/srv/the tree/gateway/main.ts",
      "--check-config",
      "a b",
    ]);
    assert.equal(variable(ran, "DENO_DIR"), "/srv/cache");
    assert.equal(variable(ran, "FLEETCTL_ROOT"), root);
  });
});

Deno.test("a launcher of a bundle starts its file, and keeps a unit's cache folder", async () => {
  await withRoot(bundle, async (run) => {
    const ran = await run("fleetctl-gateway", [], { DENO_DIR: "/var/cache/x" });
    assert.equal(words(ran).at(-1), "/opt/lib/fleetctl-gateway.js");
    assert.equal(variable(ran, "DENO_DIR"), "/var/cache/x");
  });
});

Deno.test("only an agent's program uses the permission sets that its unit names", async () => {
  await withRoot(tree, async (run, root) => {
    const mine = `${root}/mine.json`;
    await Deno.writeTextFile(mine, "{}");
    const env = { FLEETCTL_PERMISSIONS: mine };
    assert.ok(words(await run("fleetctl-dial", [], env)).includes(mine));
    for (const program of ["fleetctl", "fleetctld", "fleetctl-exec", "fleetctl-gateway"]) {
      assert.ok(!words(await run(program, [], env)).includes(mine), program);
    }
  });
});

Deno.test("a permission set that was moved is read from its new location", async () => {
  await withRoot(tree, async (run, root) => {
    const sets = `${root}/var/lib/fleetctl/permissions/agent-ada.json`;
    await Deno.writeTextFile(sets, "{}");
    const env = {
      FLEETCTL_AGENT: "ada",
      FLEETCTL_PERMISSIONS: `${root}/usr/lib/fleetctl/permissions-ada.json`,
    };
    assert.ok(words(await run("fleetctl-mcp", ["check", "git"], env)).includes(sets));
  });
});

Deno.test("an agent's program started by hand uses that agent's sets, or refuses", async () => {
  await withRoot(tree, async (run, root) => {
    const sets = `${root}/var/lib/fleetctl/permissions/agent-ada.json`;
    await Deno.writeTextFile(sets, "{}");
    const env = { FLEETCTL_AGENT: "ada" };
    assert.ok(words(await run("fleetctl-mcp", ["check", "git"], env)).includes(sets));
    for (const more of [{}, { FLEETCTL_AGENT: "bea" }]) {
      const ran = await run("fleetctl-mcp", ["check", "git"], more);
      assert.equal(ran.code, 2);
      assert.match(
        ran.err,
        /^fleetctl-mcp: Cannot start as \S+: not an agent of this host\nhint: /,
      );
    }
  });
});

Deno.test("fleetctl starts with the permission set of what it will do", async () => {
  await withRoot(tree, async (run) => {
    assert.ok(words(await run("fleetctl", ["up", "--root", "x"])).includes("-P=fleetctl-up"));
    assert.ok(words(await run("fleetctl", ["status"])).includes("-P=fleetctl-exec"));
    for (const args of [[], ["--version"], ["mcp", "add", "--help"], ["up", "-h"]]) {
      const help = words(await run("fleetctl", args));
      assert.ok(help.includes("-P=fleetctl"), args.join(" "));
      assert.ok(help.some((word) => word.endsWith("/cli/help/main.ts")), args.join(" "));
    }
    assert.ok(words(await run("fleetctl", ["x", "--", "--help"])).includes("-P=fleetctl-exec"));
  });
  const real = renderLaunchers(bundle(), pathsUnder("/"));
  const text = real.find((file) => file.path === "/usr/lib/fleetctl/fleetctl")?.content ?? "";
  assert.match(text, /^set=fleetctl sets=/m);
});

Deno.test("fleetctl-keep-env drops unlisted variables, whatever their values are", async () => {
  await withRoot(tree, async (run) => {
    const ran = await run("fleetctl-keep-env", ["PATH,KEPT", "/usr/bin/env"], {
      KEPT: "a\nSECRET_LINE=inside",
      SECRET: "hidden",
      TRICKY: "x\nKEPT2=1",
    });
    assert.equal(ran.code, 0, ran.err);
    assert.equal(variable(ran, "KEPT"), "a");
    assert.doesNotMatch(ran.out, /hidden|TRICKY|KEPT2/);
  });
});

interface CheckedTree {
  readonly folder: string;
  readonly gate: string;
  /** Returns whether the script started the full check since the last call. */
  isAsked(): Promise<boolean>;
  record(fingerprint?: string): Promise<void>;
}

/**
 * Makes a tree and its record, as vendoring leaves them, and a stub of `fleetctl-mcp` that fails
 * and leaves a mark, so that a test sees whether it ran.
 */
async function checkedTree(root: string): Promise<CheckedTree> {
  const paths = pathsUnder(root);
  const folder = `${paths.deploy("git")}/1.0.0-abc`;
  await Deno.mkdir(`${folder}/node_modules/ä b`, { recursive: true });
  await Deno.mkdir(paths.gates, { recursive: true });
  await Deno.writeTextFile(paths.gate("git"), '{\n  "rules": {\n    "x": "block"\n  }\n}\n');
  await Deno.writeTextFile(`${folder}/node_modules/a.js`, "one");
  await Deno.writeTextFile(`${folder}/node_modules/ä b/line\nbreak`, "two");
  await Deno.writeTextFile(`${folder}/node_modules/\u{1f600}`, "astral");
  await Deno.writeTextFile(`${folder}/node_modules/\u{ff21}`, "full width");
  await Deno.symlink("ä b", `${folder}/node_modules/link`);
  await Deno.symlink("1.0.0-abc", `${paths.deploy("git")}/current`);
  const asked = `${root}/asked`;
  const mcp = paths.program("fleetctl-mcp");
  await Deno.writeTextFile(mcp, `#!/bin/sh\ntouch "${asked}"\nexit 1\n`);
  await Deno.chmod(mcp, 0o755);
  const self: CheckedTree = {
    folder,
    gate: paths.gate("git"),
    async isAsked() {
      const was = await Deno.stat(asked).then(() => true, () => false);
      if (was) await Deno.remove(asked);
      return was;
    },
    async record(fingerprint) {
      const found = fingerprint ?? await denoTrees().fingerprint(folder);
      const text = JSON.stringify({ mcp: "git", fingerprint: found, files: 4 }, null, 2);
      await Deno.writeTextFile(`${folder}.json`, `${text}\n`);
    },
  };
  await self.record();
  return self;
}

Deno.test("fleetctl-checked starts a recorded tree at once, and checks any other", async () => {
  await withRoot(tree, async (run, root) => {
    const it = await checkedTree(root);
    const start = async () => (await run("fleetctl-checked", ["git", "/bin/echo", "up"])).out;
    assert.deepEqual([await start(), await it.isAsked()], ["up\n", false]);
    const file = `${it.folder}/node_modules/a.js`;
    const before = await Deno.stat(file);
    const attacks: Readonly<Record<string, () => Promise<unknown>>> = {
      "same size, write time set back": async () => {
        await Deno.writeTextFile(file, "two");
        await Deno.utime(file, before.atime ?? 0, before.mtime ?? 0);
      },
      "another mode": () => Deno.chmod(file, 0o600),
      "another file in its place": async () => {
        await Deno.writeTextFile(`${root}/new`, "one");
        await Deno.rename(`${root}/new`, file);
      },
      "one more file": () => Deno.writeTextFile(`${file}.more`, ""),
      "one file less": () => Deno.remove(`${file}.more`),
      "one more folder": () => Deno.mkdir(`${it.folder}/more`),
      "a link elsewhere": async () => {
        await Deno.remove(`${it.folder}/node_modules/link`);
        await Deno.symlink("/etc", `${it.folder}/node_modules/link`);
      },
      "a record without a fingerprint": () => Deno.writeTextFile(`${it.folder}.json`, "{}\n"),
      "a record of a list that is empty": () => it.record(""),
      "no record": () => Deno.remove(`${it.folder}.json`),
      "a name that leads out of the tree": async () => {
        await Deno.remove(`${it.folder}/../current`);
        await Deno.symlink("../git/1.0.0-abc", `${it.folder}/../current`);
      },
      "no tree": () => Deno.remove(`${it.folder}/../current`),
    };
    for (const [name, attack] of Object.entries(attacks)) {
      await attack();
      assert.deepEqual([await start(), await it.isAsked()], ["", true], name);
      if (!/record|tree|leads/.test(name)) {
        await it.record();
        assert.deepEqual([await start(), await it.isAsked()], ["up\n", false], `after: ${name}`);
      }
    }
  });
});

Deno.test("fleetctl-checked checks an MCP that is held as a whole", async () => {
  await withRoot(tree, async (run, root) => {
    const it = await checkedTree(root);
    await Deno.writeTextFile(it.gate, '{\n  "rules": {\n    "*": "block"\n  }\n}\n');
    const held = await run("fleetctl-checked", ["git", "/bin/echo", "up"]);
    assert.deepEqual([held.code, held.out, await it.isAsked()], [1, "", true]);
  });
});

Deno.test("fleetctl-checked starts nothing after a failed check, and keeps stdin", async () => {
  await withRoot(tree, async (run, root) => {
    const mcp = `${root}/usr/lib/fleetctl/fleetctl-mcp`;
    await Deno.writeTextFile(mcp, "#!/bin/sh\necho noise\ncat >/dev/null\nexit ${CHECK:-0}\n");
    await Deno.chmod(mcp, 0o755);
    const bad = await run("fleetctl-checked", ["git", "/bin/echo", "started"], { CHECK: "1" });
    assert.equal(bad.code, 1);
    assert.equal(bad.out, "");
    const child = new Deno.Command(`${root}/usr/lib/fleetctl/fleetctl-checked`, {
      args: ["git", "/bin/cat"],
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("hello"));
    await writer.close();
    const { stdout } = await child.output();
    assert.equal(new TextDecoder().decode(stdout), "hello");
  });
});

Deno.test("the launcher of fleetctl starts the help program for help and version", async () => {
  await withRoot(tree, async (run) => {
    const rows: readonly (readonly [args: readonly string[], help: boolean])[] = [
      [[], true],
      [["--help"], true],
      [["mcp", "add", "-h"], true],
      [["up", "--help"], true],
      [["--version"], true],
      [["--version", "--json"], true],
      [["status"], false],
      [["status", "--version"], false],
      [["mcp", "add", "--", "--help"], false],
      [["secret", "set", "K", "--value=--help"], false],
      [["", "a b"], false],
    ];
    for (const [args, help] of rows) {
      const ran = words(await run("fleetctl", args));
      const at = ran.findIndex((word) => word.startsWith("/srv/the tree/"));
      const entry = help ? "cli/help/main.ts" : "cli/main.ts";
      assert.equal(ran[at], `/srv/the tree/${entry}`, args.join(" "));
      assert.deepEqual(ran.slice(at + 1), args);
    }
  });
});
