/**
 * One whole build and its result: every program starts under its rendered permission set, and the
 * package contains what an installed host needs. `./dev build` takes seconds, so it runs once.
 *
 * @module
 */

import assert from "node:assert/strict";
import { DEFAULT_ROLES, printHostRoles } from "core/ledger/host_roles.ts";
import { pathsUnder } from "core/paths.ts";
import { VERSION } from "core/version.ts";
import { TREE } from "tests/support/module_graph.ts";
import { makeRoot } from "tests/support/up_process.ts";
import { agent, RUNTIME_B } from "tests/units/reconcile/fixture.ts";
import { debianArchitecture, MAINTAINER, SCRIPTS } from "units/package/debian.ts";
import { PREPARE, PROGRAMS } from "units/render/launchers.ts";
import { renderAgentPermissions } from "units/render/permission_files.ts";
import { permissionTemplates } from "units/render/permissions.ts";

const decoder = new TextDecoder();

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface Run {
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

/** The environment of a login shell, without anything from the test run. */
const PLAIN = { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") ?? "/" };

async function run(command: string, args: readonly string[], how: Run = {}): Promise<Ended> {
  const output = await new Deno.Command(command, {
    args: [...args],
    clearEnv: true,
    env: { ...PLAIN, ...how.env },
    cwd: how.cwd ?? "/",
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  return {
    code: output.code,
    stdout: decoder.decode(output.stdout),
    stderr: decoder.decode(output.stderr),
  };
}

const out = await Deno.makeTempDir({ prefix: "fleetctl-build-" });
const root = `${out}/r`;
const paths = pathsUnder(root);
globalThis.addEventListener("unload", () => Deno.removeSync(out, { recursive: true }));

const built = await run(Deno.execPath(), [
  "run",
  "-q",
  "--cached-only",
  "-A",
  "units/package/main.ts",
  "--out",
  out,
], { cwd: TREE, env: { DENO_DIR: Deno.env.get("DENO_DIR") ?? `${TREE}.cache/deno` } });
assert.equal(built.code, 0, built.stderr);

/** Prepares a root for the build, with a gateway and an agent without MCPs. */
async function prepareRoot(): Promise<void> {
  await Deno.mkdir(paths.etc, { recursive: true });
  const gateway = {
    cockpitListen: "127.0.0.1:0",
    dialListen: "127.0.0.1:0",
    trust: "assertion",
  } as const;
  const login = { listen: "127.0.0.1:0", driver: "basic" } as const;
  const teamchat = { listen: "127.0.0.1:0", registerListen: "127.0.0.1:0", cloud: "public" };
  const roles = { ...DEFAULT_ROLES, gateway, login, teamchat };
  await Deno.writeTextFile(paths.rolesFile, printHostRoles(roles));
  const first = await run(`${out}/fleetctl`, ["--version"], { env: { FLEETCTL_ROOT: root } });
  assert.deepEqual(first, { code: 0, stdout: `fleetctl ${VERSION}\n`, stderr: "" });
  const file = renderAgentPermissions(agent("ada"), {
    facts: {
      paths,
      shape: { kind: "bundle", dir: `${out}/lib`, denoDir: `${root}/var/cache/fleetctl/deno` },
      roles: {},
    },
    runtime: RUNTIME_B,
    manifests: [],
    workspace: `${paths.home(agent("ada").name)}/workspace`,
    secrets: new Map(),
  });
  assert.ok(file.ok);
  await Deno.writeTextFile(file.value.path, file.value.content);
}
await prepareRoot();

/** Runs a program of the root with its unit's launcher and environment. */
function program(name: string, args: readonly string[], env: Record<string, string> = {}) {
  return run(paths.program(name), args, {
    env: { FLEETCTL_PERMISSIONS: paths.agentPermissions("ada"), ...env },
  });
}

Deno.test("every program has an entry, a permission set and a line of the build", async () => {
  const sets = permissionTemplates();
  for (const { name, entry, set } of PROGRAMS) {
    assert.ok((await Deno.stat(TREE + entry)).isFile, entry);
    assert.ok(Object.hasOwn(sets, set), `${name}: no set "${set}" in deno.json`);
    assert.match(built.stdout, new RegExp(`^${name} +(bundled|compiled) +[\\d.]+ [kM]B`, "m"));
    assert.ok((await Deno.stat(`${out}/lib/${name}.js`)).isFile);
  }
  assert.ok((await Deno.stat(TREE + PREPARE.entry)).isFile);
  assert.match(built.stdout, /^image +(built .*\.tar|not built +buildah is not installed)$/m);
  assert.equal(built.stderr, "");
});

/** Program, arguments, environment, exit code, expected output. */
const STARTS: readonly (readonly [string, string[], Record<string, string>, number, RegExp])[] = [
  ["fleetctl", ["--version"], {}, 0, new RegExp(`^fleetctl ${VERSION}\n$`)],
  ["fleetctl", ["--help"], {}, 0, /^fleetctl keeps a fleet of agents/],
  ["fleetctl-help", [], {}, 0, /^fleetctl keeps a fleet of agents/],
  ["fleetctl", ["status", "--json"], {}, 1, /^\{/],
  ["fleetctl", ["nothing"], {}, 2, /^fleetctl: Cannot run/],
  ["fleetctl-exec", [], {}, 2, /^fleetctl: Cannot run a verb as root: .* it is not JSON/],
  ["fleetctld", ["--check-config"], {}, 0, /^ok$/m],
  ["fleetctld", ["--check-config"], { FLEETCTL_ROOT: "relative" }, 2, /FLEETCTL_ROOT/],
  ["fleetctl-gateway", ["--check-config"], {}, 2, /WEBVIEW_/],
  ["fleetctl-login", ["--check-config"], {}, 2, /WEBVIEW_/],
  ["fleetctl-teamchat", ["--check-config"], {}, 2, /TEAMS_AGENTS/],
  ["fleetctl-teamchat-receiver", ["--check-config"], {}, 2, /TEAMS_/],
  ["fleetctl-dial", ["--check-config"], {}, 2, /\n.+\n/],
  ["fleetctl-runtime", ["--check-config"], {}, 0, /^ok$/m],
  ["fleetctl-runtime", ["--check-config"], { FLEETCTL_BASE_URL: "no url" }, 2, /FLEETCTL_BASE_URL/],
  ["fleetctl-mcp", ["--check-config"], {}, 0, /^ok$/m],
  ["fleetctl-mcp", ["nothing"], {}, 2, /^fleetctl-mcp: Cannot/],
];
for (const [name, args, env, code, wanted] of STARTS) {
  const given = Object.entries(env).map((pair) => pair.join("=")).join(" ");
  Deno.test(`${[given, name, ...args].join(" ").trim()} ends with ${code}`, async () => {
    const ended = await program(name, args, env);
    const printed = ended.stdout + ended.stderr;
    assert.equal(ended.code, code, printed);
    assert.match(printed, wanted);
    assert.doesNotMatch(printed, /NotCapable|Requires \w+ access|experimental/);
  });
}

Deno.test("the list above names every program", () => {
  assert.deepEqual(
    [...new Set(STARTS.map(([name]) => name))].sort(),
    PROGRAMS.map(({ name }) => name).sort(),
  );
});

const PLACES: readonly (readonly [string, RegExp])[] = [
  ["/", /Cannot use root "\/"/],
  [
    "/tmp/fleetctl-nosuch/r",
    /its parent folder does not exist, must exist\nhint: mkdir -p '\/tmp\/fleetctl-nosuch'/,
  ],
  ["/tmp/a,b", /Cannot use root "\/tmp\/a,b": must not contain ,/],
  [`${out}/fleetctl/x`, /Cannot use root ".*": a part of the path is a file/],
];
for (const [place, wanted] of PLACES) {
  for (const args of [["up", "--root", place], ["up", `--root=${place}`]]) {
    Deno.test(`fleetctl ${args.join(" ").replace(out, "BUILD")} is refused`, async () => {
      const ended = await run(`${out}/fleetctl`, args);
      assert.ok(ended.code !== 0);
      assert.match(ended.stderr, wanted);
      assert.match(ended.stderr, /^hint: /m);
      assert.doesNotMatch(ended.stderr, / {4}at /);
    });
  }
}

Deno.test("fleetctl up of the build sends a turn through every real part", async () => {
  const home = await makeRoot();
  const repository = `${home}-repository`;
  try {
    const git = (...args: string[]) => run("git", ["-C", repository, ...args]);
    await Deno.mkdir(repository);
    assert.equal((await git("init", "-q")).code, 0);
    const who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    assert.equal((await git(...who, "commit", "-q", "--allow-empty", "-m", "Seen by git")).code, 0);
    const hash = (await git("rev-parse", "HEAD")).stdout.trim();
    const turn = `last commit of ${repository}`;
    const ended = await run(`${out}/fleetctl`, [
      "up",
      "--root",
      home,
      "--port-base=0",
      "--workdir",
      repository,
      "--turn",
      turn,
    ]);
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.match(ended.stdout, /^ {2}gateway +ready$/m);
    assert.match(ended.stdout, new RegExp(`^ada: - commit: ${hash}$`, "m"));
    assert.match(ended.stdout, /^ada: - subject: Seen by git$/m);
  } finally {
    await Deno.remove(home, { recursive: true });
    await Deno.remove(repository, { recursive: true });
  }
});

const deb = `${out}/fleetctl_${VERSION}_${debianArchitecture(Deno.build.arch)}.deb`;
const hasDpkg = (await run("sh", ["-c", "command -v dpkg-deb"])).code === 0;

const hasLintian = (await run("sh", ["-c", "command -v lintian"])).code === 0;

if (hasDpkg && hasLintian) {
  Deno.test("the checker of Debian packages finds no error", async () => {
    const checked = await run("lintian", ["--no-cfg", "--fail-on", "error", deb]);
    assert.equal(checked.code, 0, checked.stdout + checked.stderr);
  });
}

Deno.test("the changelog of the package begins with the version that is built", async () => {
  const text = await Deno.readTextFile(`${TREE}/units/package/changelog.txt`);
  assert.equal(/^fleetctl \(([^)]+)\)/.exec(text)?.[1], VERSION);
  assert.ok(text.includes(`\n -- ${MAINTAINER}  `), "its last line names who maintains it");
});

if (hasDpkg) {
  Deno.test("the package lists what a host needs, with modes and owner root", async () => {
    const listed = await run("dpkg-deb", ["-c", deb]);
    const modes = new Map(
      listed.stdout.trim().split("\n").map((line): [string, string] => {
        const [mode = "", owner = "", , , , path = ""] = line.split(/\s+/);
        return [path, `${mode} ${owner}`];
      }),
    );
    const program = "-rwxr-xr-x root/root";
    const plain = "-rw-r--r-- root/root";
    const lib = "./usr/lib/fleetctl";
    const wanted: Record<string, string> = {
      [`${lib}/deno`]: program,
      [`${lib}/permissions.json`]: plain,
      [`${lib}/${PREPARE.name}.js`]: plain,
      [`${lib}/fleetctl-under-root`]: program,
      "./usr/bin/fleetctl": "lrwxrwxrwx root/root",
      "./usr/lib/systemd/system/fleetctl-daemon.service": plain,
      "./usr/lib/sysusers.d/fleetctl.conf": plain,
      "./usr/lib/tmpfiles.d/fleetctl.conf": plain,
      "./usr/share/bash-completion/completions/fleetctl": plain,
      "./usr/share/zsh/vendor-completions/_fleetctl": plain,
      "./usr/share/fish/vendor_completions.d/fleetctl.fish": plain,
      "./usr/share/man/man1/fleetctl.1.gz": plain,
      "./usr/share/doc/fleetctl/copyright": plain,
      "./usr/share/doc/fleetctl/changelog.gz": plain,
      "./usr/share/doc/fleetctl/README.md": plain,
      "./usr/share/doc/fleetctl/docs/recovery.md": plain,
      ...Object.fromEntries(PROGRAMS.flatMap(({ name }) => [
        [`${lib}/${name}`, program],
        [`${lib}/${name}.js`, plain],
        [`${lib}/programs/${name}/main.js`, plain],
      ])),
    };
    for (const [path, mode] of Object.entries(wanted)) assert.equal(modes.get(path), mode, path);
    // Only root may change any of it, and it contains nothing of the build machine.
    for (const [path, mode] of modes) {
      assert.match(mode, /^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--|lrwxrwxrwx) root\/root$/, path);
    }
  });

  Deno.test("the package states its version and what it needs, and has no conffiles", async () => {
    const printed = await run("dpkg-deb", ["-I", deb]);
    assert.match(printed.stdout, new RegExp(`^ Version: ${VERSION.replaceAll(".", "\\.")}$`, "m"));
    assert.match(printed.stdout, /^ Depends: .*\bgit\b/m);
    assert.doesNotMatch(printed.stdout, /conffiles/);
    for (const name of Object.keys(SCRIPTS)) {
      assert.match(printed.stdout, new RegExp(`\\* +${name}`), `${name} is no program`);
    }
  });
}

/** For a root without any programs: ignore dependencies, and run scripts outside of it. */
const FORCED = ["--force-depends", "--force-script-chrootless"];

// dpkg requires root even for another root folder.
if (hasDpkg && Deno.uid() === 0) {
  Deno.test({
    name: "the package unpacks into a separate root, where its accounts can be created",
    fn: async () => {
      const host = `${out}/host`;
      await Deno.mkdir(`${host}/var/lib/dpkg/updates`, { recursive: true });
      await Deno.mkdir(`${host}/var/lib/dpkg/info`);
      await Deno.writeTextFile(`${host}/var/lib/dpkg/status`, "");
      const done = await run("dpkg", [`--root=${host}`, ...FORCED, "--unpack", deb], {
        env: { PATH: `/usr/sbin:/sbin:${PLAIN.PATH}` },
      });
      assert.equal(done.code, 0, done.stderr);
      assert.equal(await Deno.readLink(`${host}/usr/bin/fleetctl`), "../lib/fleetctl/fleetctl");
      const installed = (await Deno.stat(`${host}/usr/lib/fleetctl/deno`)).mode ?? 0;
      assert.equal(installed & 0o777, 0o755);
      await Deno.mkdir(`${host}/etc`);
      const accounts = await run("sh", ["-c", "command -v systemd-sysusers"]);
      if (accounts.code === 0) {
        const made = await run("systemd-sysusers", [`--root=${host}`]);
        assert.equal(made.code, 0, made.stderr);
        const users = await Deno.readTextFile(`${host}/etc/passwd`);
        assert.match(users, /^fleetctl-gateway:/m);
        assert.match(users, /^fleetctl-login:/m);
        assert.match(await Deno.readTextFile(`${host}/etc/group`), /^agents:/m);
      }
    },
  });
}

for (const [name, text] of Object.entries(SCRIPTS)) {
  Deno.test(`${name} is a script that sh accepts`, async () => {
    const path = `${out}/${name}`;
    await Deno.writeTextFile(path, text);
    const read = await run("sh", ["-n", path]);
    assert.deepEqual(read, { code: 0, stdout: "", stderr: "" });
  });
}

Deno.test("help is a program without packages and without Node's modules", async () => {
  const folder = `${out}/lib/programs/fleetctl-help`;
  let bytes = 0;
  for await (const { name } of Deno.readDir(folder)) {
    const text = await Deno.readTextFile(`${folder}/${name}`);
    assert.doesNotMatch(text, /node:|getBuiltinModule|\bimport\(/, name);
    bytes += text.length;
  }
  assert.ok(bytes > 1_000 && bytes < 100_000, `${bytes} bytes`);
});
