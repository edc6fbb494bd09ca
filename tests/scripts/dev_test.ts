/**
 * `./dev` on a machine where something is missing, with a fake Deno: an incomplete step is not
 * mistaken for a complete one in the next run.
 *
 * @module
 */

import assert from "node:assert/strict";

const TREE = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
const DEV = `${TREE}/dev`;
const CACHE = Deno.env.get("DENO_DIR") ?? `${TREE}/.cache/deno`;

/** A Deno that records its arguments, and fails to install while `broken` exists. */
const PRETENDER = `#!/bin/sh
case "$1" in
  --version) echo 'deno 2.9.6 (stable)' ;;
  eval) echo "$0" ;;
  install) [ ! -e "\${0%/*}/broken" ] ;;
  *) echo "$* store=$DENO_TLS_CA_STORE" >> "\${0%/*}/asked" ;;
esac
`;

Deno.test("./dev stops when packages cannot be fetched, and fetches them next time", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.copyFile(DEV, `${folder}/dev`);
    await Deno.writeTextFile(`${folder}/deno.lock`, "{}");
    await Deno.mkdir(`${folder}/bin`);
    await Deno.writeTextFile(`${folder}/bin/deno`, PRETENDER, { mode: 0o755 });
    await Deno.writeTextFile(`${folder}/bin/broken`, "");
    const dev = async (env: Readonly<Record<string, string>> = {}) => {
      const { code, stderr } = await new Deno.Command(`${folder}/dev`, {
        args: ["check"],
        clearEnv: true,
        env: { PATH: `${folder}/bin:/usr/bin:/bin`, ...env },
      }).output();
      const asked = await Deno.readTextFile(`${folder}/bin/asked`).catch(() => "");
      return { code, stderr: new TextDecoder().decode(stderr), asked };
    };
    for (let round = 0; round < 2; round++) {
      const { code, stderr: printed, asked } = await dev();
      assert.equal(code, 1);
      assert.match(printed, /dev: Cannot fetch the packages/);
      assert.match(printed, /hint: .*NPM_CONFIG_REGISTRY/);
      assert.equal(asked, "", "nothing continues without them");
    }
    await Deno.remove(`${folder}/bin/broken`);
    const fetched = await dev();
    assert.equal(fetched.code, 0, fetched.stderr);
    assert.match(fetched.stderr, /fetching packages/);
    assert.match(fetched.asked, /run_checks\.ts store=mozilla,system\n$/);
    const again = await dev({ DENO_TLS_CA_STORE: "system" });
    assert.doesNotMatch(again.stderr, /fetching packages/);
    assert.match(again.asked, /run_checks\.ts store=system\n$/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Settings of each role that the documented service names, on ports of this test. */
const ROLES: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ["gateway", {
    WEBVIEW_COCKPIT_LISTEN: "127.0.0.1:0",
    WEBVIEW_DIAL_LISTEN: "127.0.0.1:0",
    WEBVIEW_LEDGER: '{"mia@example.org":"mia"}',
    WEBVIEW_ADMINS: "[]",
  }],
  ["login", {
    WEBVIEW_LOGIN_LISTEN: "127.0.0.1:0",
    WEBVIEW_AUTH_DRIVER: "basic",
    WEBVIEW_BASIC_USERS: "mia@example.org:correct-horse",
    WEBVIEW_HMAC_KEY: "a-key-of-the-tests-0000000000000",
  }],
  ["teamchat", {
    TEAMS_LISTEN: "127.0.0.1:0",
    TEAMS_REGISTER_LISTEN: "127.0.0.1:0",
    TEAMS_AGENTS: "{}",
  }],
];

function underRoot(root: string, words: readonly string[], env: Readonly<Record<string, string>>) {
  return new Deno.Command("sh", {
    args: ["units/prepare/under_root.sh", "tree", TREE, Deno.execPath(), CACHE, ...words],
    cwd: TREE,
    env: { FLEETCTL_ROOT: root, FLEETCTL_FROM_TREE: TREE, ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

for (const [role, env] of ROLES) {
  Deno.test(`./dev run ${role} starts under any root with its settings alone`, async () => {
    const root = await Deno.makeTempDir();
    const child = underRoot(root, [`fleetctl-${role}`], env).spawn();
    try {
      let printed = "";
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
        printed += text;
        if (printed.includes("ready")) break;
      }
      assert.match(printed, /ready/, printed);
      await child.stdout.cancel();
    } finally {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(root, { recursive: true });
    }
  });
}

Deno.test("--help of every program starts nothing; a wrong argument is refused", async () => {
  const root = await Deno.makeTempDir();
  try {
    for (
      const program of [
        "fleetctl-gateway",
        "fleetctl-login",
        "fleetctl-teamchat",
        "fleetctld",
        "fleetctl-exec",
      ]
    ) {
      const help = await underRoot(root, [program, "--help"], {}).output();
      const printed = [help.stdout, help.stderr].map((text) => new TextDecoder().decode(text)).join(
        "",
      );
      assert.equal(help.code, 0, `${program}: ${printed}`);
      assert.ok(printed.includes(program), printed);
      const wrong = await underRoot(root, [program, "--halp"], {}).output();
      assert.equal(wrong.code, 2, program);
    }
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});

Deno.test("preparing a root keeps roles.yaml, and says how to repair it", async () => {
  const root = await Deno.makeTempDir();
  const file = `${root}/etc/fleetctl/roles.yaml`;
  const prepare = async () => {
    const { code, stderr } = await new Deno.Command("sh", {
      args: ["units/prepare/under_root.sh", "tree", TREE, Deno.execPath(), CACHE]
        .concat("fleetctl-nosuch"),
      cwd: TREE,
      env: { FLEETCTL_ROOT: root },
    }).output();
    return { code, stderr: new TextDecoder().decode(stderr) };
  };
  try {
    await Deno.mkdir(`${root}/etc/fleetctl`, { recursive: true });
    await Deno.writeTextFile(file, "# Ours.\nworkdir: /srv # all of it\n");
    const done = await prepare();
    assert.equal(done.code, 2, done.stderr);
    assert.match(done.stderr, /no such program, must be .*\nhint: \.\/dev run fleetctl help\n/);
    const kept = await Deno.readTextFile(file);
    assert.match(kept, /^# Ours\.\nworkdir: \/srv # all of it\nshape:\n {2}kind: tree\n/);
    await prepare();
    assert.equal(await Deno.readTextFile(file), kept);
    await Deno.writeTextFile(file, "workdir: srv\n");
    const broken = await prepare();
    assert.equal(broken.code, 1, broken.stderr);
    assert.match(
      broken.stderr,
      new RegExp(
        `^hint: \\$\\{EDITOR:-vi\\} ${file} && FLEETCTL_ROOT=\\S+ \\./dev run fleetctl apply$`,
        "m",
      ),
    );
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
