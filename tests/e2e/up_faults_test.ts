/**
 * `up` on a faulty machine: each fault ends in one clear error with its next step, and breaks
 * nothing else.
 *
 * @module
 */

import assert from "node:assert/strict";
import { processesOf } from "tests/support/processes_of.ts";
import { makeRoot, runDev, runVerb, startUp } from "tests/support/up_process.ts";

Deno.test("up refuses a root that cannot be written", async () => {
  const root = await makeRoot();
  await Deno.writeTextFile(`${root}/file`, "");
  const result = await runDev(["up", "--root", `${root}/file/below`]);
  assert.notEqual(result.code, 0);
  assert.match(result.stderr, /Cannot use root ".*file\/below"/);
  assert.match(result.stderr, /^hint: /m);
});

Deno.test("up refuses a root without a name, and writes nothing where it was called", async () => {
  const folder = await makeRoot();
  for (const root of [["--root", ""], ["--root="]]) {
    const result = await runDev(["up", ...root], { cwd: folder });
    assert.equal(result.code, 2, result.stdout);
    assert.match(result.stderr, /Cannot use root ""/);
  }
  assert.deepEqual([...Deno.readDirSync(folder)].filter(({ name }) => name !== "var"), []);
});

Deno.test("up refuses a root that others own or may write, and leaves it unchanged", async () => {
  const open = await makeRoot();
  await Deno.chmod(open, 0o777);
  let foreign = "/usr/share";
  if (Deno.uid() === 0) {
    foreign = await makeRoot();
    await Deno.chown(foreign, 65534, 65534);
  }
  for (
    const [root, wanted] of [
      [foreign, /Cannot use root ".*": it belongs to uid \d+, must be yours/],
      [open, /Cannot use root ".*": it is world-writable, must be writable by you only/],
    ] as const
  ) {
    const result = await runDev(["up", "--root", root, "--port-base", "0"]);
    assert.notEqual(result.code, 0);
    assert.match(result.stderr, wanted);
    assert.match(result.stderr, /^hint: /m);
    assert.ok(!(await Array.fromAsync(Deno.readDir(root))).some(({ name }) => name === "etc"));
  }
});

Deno.test("up refuses a file as its working folder, before it starts anything", async () => {
  const root = await makeRoot();
  for (const workdir of [`${root}/nowhere`, "/etc/passwd"]) {
    const result = await runDev(["up", "--root", root, "--port-base", "0", "--workdir", workdir]);
    assert.equal(result.code, 2, result.stdout);
    assert.match(
      result.stderr,
      /Cannot use working folder ".*": it is (not there|a file), must be/,
    );
    assert.match(result.stderr, /^hint: /m);
    assert.doesNotMatch(result.stdout, /listening/);
  }
});

Deno.test("up accepts a root whose path contains a link or dots", async () => {
  const folder = await makeRoot();
  await Deno.mkdir(`${folder}/real`);
  await Deno.symlink(`${folder}/real`, `${folder}/link`);
  await using up = startUp(`${folder}/link/nowhere/../r`);
  await up.line(/^ready /);
  assert.ok((await Deno.stat(`${folder}/real/r/etc/fleetctl`)).isDirectory);
});

Deno.test("up names the holder of a taken port, and --port-base avoids the port", async () => {
  const root = await makeRoot();
  // Find a base whose cockpit port this test holds.
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = (listener.addr as Deno.NetAddr).port;
  try {
    const result = await runDev(["up", "--root", root, "--port-base", String(port - 1)]);
    assert.equal(result.code, 1, result.stdout);
    assert.match(result.stderr, new RegExp(`127\\.0\\.0\\.1:${port}`));
    assert.match(result.stderr, /deno|pid \d+/, "the holder is not named");
    assert.match(result.stderr, /^hint: .*--port-base/m);
    assert.deepEqual(await processesOf(root), []);
  } finally {
    listener.close();
  }
});

Deno.test("after kill -9 of up, the next up ends the leftover processes and starts", async () => {
  const root = await makeRoot();
  const first = startUp(root);
  await first.line(/^ready /);
  const before = await processesOf(root);
  first.signal("SIGKILL");
  await first.exited;
  await using second = startUp(root);
  await second.line(/^ready /);
  const after = await processesOf(root);
  const pids = (list: readonly string[]) => new Set(list.map((line) => line.split(" ")[0]));
  const survivors = [...pids(before)].filter((pid) => pids(after).has(pid));
  assert.deepEqual(survivors, [], `left from the first run:\n${after.join("\n")}`);
});

Deno.test("a second up under the same root is refused while the first one runs", async () => {
  const root = await makeRoot();
  await using up = startUp(root);
  await up.line(/^ready /);
  const second = await runDev(["up", "--root", root, "--port-base", "0"]);
  assert.equal(second.code, 1, second.stdout);
  assert.match(second.stderr, /the root is in use by process \d+/);
  assert.match(second.stderr, /^hint: /m);
});

Deno.test("a corrupt shard is reported by file and line and hides no other agent", async () => {
  const root = await makeRoot();
  {
    await using up = startUp(root);
    await up.line(/^ready /);
  }
  const shard = `${root}/var/lib/fleetctl/repo/agents.d/bea.yaml`;
  await Deno.writeTextFile(shard, "name: bea\nchannel: [\n");
  const turn = await runDev([
    "up",
    "--root",
    root,
    "--port-base",
    "0",
    "--turn",
    "what can you do",
  ]);
  assert.equal(turn.code, 0, turn.stdout + turn.stderr);
  assert.match(turn.stdout + turn.stderr, /agents\.d\/bea\.yaml:\d+/);
  const status = await runVerb(root, ["agents", "list"]);
  assert.match(status.stdout, /\bada\b/);
});

Deno.test("no child of up holds a listening socket of its parent", async () => {
  const root = await makeRoot();
  await using up = startUp(root);
  await up.line(/^ready /);
  const holders = new Map<string, Set<string>>();
  const paths = new Map<string, string>();
  for (const line of (await Deno.readTextFile("/proc/net/unix")).split("\n")) {
    const [, , , , , , inode, path] = line.trim().split(/\s+/);
    if (inode !== undefined && path?.startsWith(`${root}/`)) paths.set(`socket:[${inode}]`, path);
  }
  for (const pid of (await processesOf(root)).map((line) => line.split(" ")[0] ?? "")) {
    for await (const { name } of Deno.readDir(`/proc/${pid}/fd`)) {
      const target = await Deno.readLink(`/proc/${pid}/fd/${name}`).catch(() => "");
      const path = paths.get(target);
      if (path !== undefined) holders.set(path, (holders.get(path) ?? new Set()).add(pid));
    }
  }
  assert.ok([...holders.keys()].some((path) => path.endsWith("manager.sock")), "nothing was seen");
  const shared = [...holders].filter(([, pids]) => pids.size > 1)
    .map(([path, pids]) => `${path} is held by ${[...pids].join(", ")}`);
  assert.deepEqual(shared, []);
});

Deno.test("Ctrl-C while up starts ends it, before it is ready, with all its children", async () => {
  const root = await makeRoot();
  const up = startUp(root);
  await up.line(/^ {2}gateway +ready/);
  assert.equal(await up.stop(), 0, up.text());
  assert.doesNotMatch(up.text(), /^ready /m);
  assert.deepEqual(await processesOf(root), []);
});

Deno.test("Ctrl-C in the middle of a turn cancels it and ends up with its children", async () => {
  const root = await makeRoot();
  const up = startUp(root, ["--turn", 'call bash {"command": "sleep 300"}']);
  await up.line(/→ bash/);
  assert.equal(await up.stop(), 1, up.text());
  assert.match(up.text(), /Cannot complete the turn: it was cancelled/);
  assert.deepEqual(await processesOf(root), []);
});
