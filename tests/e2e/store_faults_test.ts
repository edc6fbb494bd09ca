/**
 * Markers, defaults, ledger and secret store against hostile input and broken machines, through the
 * program that people run: one clear error, and everything unchanged.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { AgentName, KeyName } from "core/names.ts";
import { readHostKey } from "core/secrets/host_key.ts";
import { seal } from "core/secrets/envelope.ts";
import { printStore, type SecretShards } from "core/secrets/shards.ts";
import { openText } from "core/secrets/store.ts";
import {
  type Bench,
  finish,
  heal,
  openBench,
  readState,
  runAt,
} from "tests/support/store_bench.ts";

async function withBench(test: (bench: Bench) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "store-faults-" });
  try {
    await test(await openBench(root));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** Writes a store as another program might have left it. */
async function writeStore({ host, paths }: Bench, change: (shards: SecretShards) => SecretShards) {
  const key = await readHostKey(host, paths);
  assert(key.ok && key.value !== undefined);
  const store = await openText(paths, await Deno.readTextFile(paths.secretsFile), key.value);
  assert(store.ok);
  const { recipients, shards } = store.value;
  const text = printStore({ recipients, shards: change(shards) });
  await Deno.writeTextFile(paths.secretsFile, await seal(text, recipients));
}

const MEGABYTE = 1024 * 1024;
const HOSTILE: readonly {
  readonly name: string;
  readonly words: readonly string[];
  readonly stdin?: string | Uint8Array<ArrayBuffer>;
  readonly says: RegExp;
}[] = [
  {
    name: "a value with a NUL",
    words: ["secret", "set", "KEY", "--value", "-"],
    stdin: "hunter2\0hunter2",
    says: /contains a NUL character/,
  },
  {
    name: "a value that is not UTF-8",
    words: ["secret", "set", "KEY", "--value", "-"],
    stdin: Uint8Array.from([0x68, 0xff, 0xfe]),
    says: /Cannot read stdin/,
  },
  {
    name: "a value of a megabyte",
    words: ["secret", "set", "KEY", "--value", "-"],
    stdin: "x".repeat(MEGABYTE),
    says: /it is longer than|must have at most/,
  },
  {
    name: "an empty value",
    words: ["secret", "set", "KEY", "--value", "-"],
    stdin: "\n",
    says: /the value is empty/,
  },
  {
    name: "a key with a newline",
    words: ["secret", "set", "KEY\nLD_PRELOAD", "--value", "x"],
    says: /Cannot use "KEY\\nLD_PRELOAD" as a key name/,
  },
  {
    name: "a key that controls programs",
    words: ["secret", "set", "LD_PRELOAD", "--value", "x", "--agent", "ada"],
    says: /the name controls programs/,
  },
  {
    name: "a key of a hundred kilobytes",
    words: ["secret", "set", "K".repeat(100_000), "--value", "x"],
    says: /as a key name/,
  },
  { name: "a key with ..", words: ["secret", "get", "../KEY"], says: /as a key name/ },
  {
    name: "an agent with ..",
    words: ["secret", "get", "K", "--agent", "../x"],
    says: /agent name/,
  },
  {
    name: "a host with a newline",
    words: ["host", "set", "teams_gateway", "boreas\ndial_require_key: false"],
    says:
      /Cannot set host\.teams_gateway: the value is "boreas\\ndial_require_key: false", must be/,
  },
  {
    name: "a host of a hundred kilobytes",
    words: ["host", "set", "teams_gateway", "h".repeat(100_000)],
    says: /must be labels of a-z/,
  },
  {
    name: "an MCP with ..",
    words: ["defaults", "add", "tools", "../../etc"],
    says: /as an MCP name/,
  },
  {
    name: "an option in place of a commit",
    words: ["ledger", "revert", "--", "--exec=x"],
    says: /it is not a commit id/,
  },
  {
    name: "an invalid recovery key",
    words: ["secret", "recovery", "add", "age1\nage1"],
    says: /it is not an age recipient/,
  },
];

Deno.test("verbs of the store refuse hostile input briefly, and change nothing", async () => {
  await withBench(async (bench) => {
    const old = await readState(bench);
    for (const { name, words, stdin, says } of HOSTILE) {
      const ended = await runAt(bench, words, { stdin });
      assert.ok(ended.code === 1 || ended.code === 2, `${name}: ${ended.code}\n${ended.out}`);
      assert.match(ended.out, says, name);
      assert.ok(ended.out.length < 1000, `${name}: an answer of ${ended.out.length} characters`);
      assert.doesNotMatch(ended.out, /hunter2|at file:/, name);
    }
    assert.deepEqual(await readState(bench), old);
    await heal(bench);
    // Unusual but allowed text is read back byte for byte, from the store and from the env file.
    const odd = "line 1\nline 2 \"'`$(x)\\ \u{1f511} =\t";
    const set = await runAt(bench, ["secret", "set", "ODD", "--value", "-", "--agent", "ada"], {
      stdin: odd,
    });
    assert.equal(set.code, 0, set.out);
    const got = await finish(bench, ["secret", "get", "ODD", "--agent", "ada", "--json"]);
    assert.equal(JSON.parse(got).value, odd);
    const sourced = await new Deno.Command("sh", {
      args: ["-c", 'set -a; . "$1"; printf %s "$ODD"', "sh", bench.paths.agentEnv("ada")],
    }).output();
    assert.equal(new TextDecoder().decode(sourced.stdout), odd);
  });
});

Deno.test("ten thousand keys are stored, listed and changed; a full shard is refused", async () => {
  await withBench(async (bench) => {
    const shard = (count: number) =>
      new Map(Array.from({ length: count }, (_, at) => [`KEY_${at}` as KeyName, `value ${at}`]));
    await writeStore(bench, (shards) => ({
      shared: new Map([...shards.shared, ...shard(3000)]),
      agents: new Map([
        ["ada" as AgentName, shard(4096)],
        ["bea" as AgentName, shard(2900)],
      ]),
    }));
    await finish(bench, ["secret", "set", "KEY_1", "--value", "changed"]);
    assert.equal(await finish(bench, ["secret", "get", "KEY_1"]), "changed\n");
    const listed = JSON.parse(await finish(bench, ["secret", "list", "--json"]));
    assert.equal(listed.secrets.length, 3000 + 4096 + 2900 + 4);
    const full = await runAt(
      bench,
      ["secret", "set", "ONE_MORE", "--value", "x", "--agent", "ada"],
    );
    assert.equal(full.code, 1);
    assert.match(full.out, /the shard already contains 4096 keys/);
  });
});

Deno.test("links where a file is written are replaced or refused, and never followed", async () => {
  await withBench(async (bench) => {
    const { paths, root } = bench;
    const outside = `${root}/outside`;
    const put = async (path: string, text: string) => {
      await Deno.writeTextFile(outside, text);
      await Deno.remove(path).catch(() => {});
      await Deno.symlink(outside, path);
    };
    await put(paths.hostFile, "# outside\n");
    await finish(bench, ["host", "set", "teams_gateway", "boreas"]);
    assert.equal(await Deno.readTextFile(outside), "# outside\n");
    assert.ok((await Deno.lstat(paths.hostFile)).isFile);
    await put(paths.defaultsFile, "# outside\n");
    await finish(bench, ["defaults", "add", "tools", "agent-message"]);
    assert.equal(await Deno.readTextFile(outside), "# outside\n");
    await put(paths.agentEnv("ada"), "# outside\n");
    await finish(bench, ["secret", "set", "TOKEN", "--value", "t", "--agent", "ada"]);
    assert.equal(await Deno.readTextFile(outside), "# outside\n");
    const store = await Deno.readTextFile(paths.secretsFile);
    await put(paths.secretsFile, store);
    const refused = await runAt(bench, ["secret", "set", "TOKEN", "--value", "t2"]);
    assert.equal(refused.code, 1);
    assert.match(refused.out, /secrets\.age": it is a link, must be a regular file|it is a link/);
    assert.equal(await Deno.readTextFile(outside), store);
  });
});

Deno.test("an empty role key leaves its env file unchanged; a broken store all", async () => {
  await withBench(async (bench) => {
    const { paths } = bench;
    await Deno.writeTextFile(
      paths.rolesFile,
      "gateway: { cockpit_listen: 127.0.0.1:8731, dial_listen: 127.0.0.1:8735, trust: " +
        "assertion }\n" +
        "login: { listen: 127.0.0.1:8736, driver: basic }\n",
    );
    await finish(bench, ["secret", "set", "WEBVIEW_BASIC_USERS", "--value", "ada@x.org:pw-pw-pw"]);
    await finish(bench, ["apply"]);
    const files = [paths.env("webview-login"), paths.env("webview-gateway"), paths.hostOpKeys];
    const read = () => Promise.all(files.map((file) => Deno.readTextFile(file)));
    const good = await read();
    assert.match(good[0] ?? "", /^WEBVIEW_HMAC_KEY=.{43}$/m);
    for (const key of ["WEBVIEW_HMAC_KEY", "WEBVIEW_ASSERTION_KEY", "FLEETCTL_HOST_OP_SECRET"]) {
      const sealed = await Deno.readTextFile(paths.secretsFile);
      await writeStore(bench, (shards) => ({
        ...shards,
        shared: new Map([...shards.shared, [key as KeyName, ""]]),
      }));
      const applied = await runAt(bench, ["apply"]);
      assert.equal(applied.code, 1, applied.out);
      assert.match(applied.out, new RegExp(`Cannot write ".*": ${key} is missing or empty`));
      assert.deepEqual(await read(), good, key);
      await Deno.writeTextFile(paths.secretsFile, sealed);
    }
    await Deno.writeTextFile(paths.secretsFile, "-----BEGIN AGE ENCRYPTED FILE-----\n");
    for (
      const words of [["apply"], ["secret", "rotate", "hmac"], ["secret", "rotate", "recipient"]]
    ) {
      const ended = await runAt(bench, words);
      assert.equal(ended.code, 1, words.join(" "));
      assert.match(ended.out, /it is damaged/);
    }
    assert.deepEqual(await read(), good);
    assert.equal((await Deno.readTextFile(paths.hostKey)).match(/AGE-SECRET-KEY/g)?.length, 1);
  });
});

/** Verbs that write. */
const WRITERS: readonly (readonly string[])[] = [
  ["secret", "set", "MORE", "--value", "x".repeat(60_000)],
  ["secret", "unset", "THERE"],
  ["secret", "rotate", "hmac"],
  ["secret", "rotate", "recipient"],
  ["secret", "recovery", "add"],
  ["host", "set", "teams_gateway", "boreas"],
  ["defaults", "add", "tools", "agent-message"],
];

Deno.test({
  name: "verbs of the store refuse on a full disk, keep the old state, and work once there is room",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    const root = await Deno.makeTempDir({ prefix: "store-full-" });
    const run = async (command: string, ...args: readonly string[]) =>
      assert.ok((await new Deno.Command(command, { args: [...args] }).output()).success, command);
    await run("mount", "-t", "tmpfs", "-o", "size=16m,mode=755", "tmpfs", root);
    try {
      const bench = await openBench(root);
      await finish(bench, ["secret", "set", "THERE", "--value", "t"]);
      const old = await readState(bench);
      const filler = `${root}/filler`;
      await new Deno.Command("sh", { args: ["-c", 'cat /dev/zero > "$1"', "sh", filler] }).output();
      for (const words of WRITERS) {
        const ended = await runAt(bench, words);
        assert.equal(ended.code, 1, `${words.join(" ").slice(0, 40)}\n${ended.out}`);
        assert.match(ended.out, /no space is left|ENOSPC|disk/i, ended.out);
        assert.doesNotMatch(ended.out, /at file:/);
        assert.deepEqual(await readState(bench), old, words.join(" ").slice(0, 40));
      }
      await Deno.remove(filler);
      for (const words of WRITERS) await finish(bench, words);
      await heal(bench);
    } finally {
      await new Deno.Command("umount", { args: ["-l", root] }).output();
      await Deno.remove(root);
    }
  },
});
