/**
 * The built-in tools in a sandbox, with bubblewrap and real processes. Attacks on a host with
 * systemd are in `tests/system/sandbox_test.ts`.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { systemClock } from "core/os/clock.ts";
import { denoFiles } from "core/os/files.ts";
import { systemProcesses } from "core/os/processes.ts";
import { BUBBLEWRAP } from "core/sandbox/host_files.ts";
import { fakeProcesses } from "tests/fakes/processes.ts";
import { builtInTools } from "units/agent_loop/tools/sandbox.ts";
import type { Tool, ToolOutcome } from "units/agent_loop/tools/tool.ts";

const never = new AbortController().signal;
const real = { processes: systemProcesses(), clock: systemClock(), files: denoFiles() };

interface Scene {
  readonly home: string;
  readonly project: string;
  call(name: string, input: unknown, signal?: AbortSignal): Promise<ToolOutcome>;
}

async function withTools(
  work: (scene: Scene) => Promise<void>,
  { ports = real, folder = "project" }: {
    readonly ports?: typeof real;
    readonly folder?: string;
  } = {},
): Promise<void> {
  const root = await Deno.makeTempDir();
  try {
    const home = `${root}/home/ada`;
    const project = `${home}/project`;
    await Deno.mkdir(project, { recursive: true });
    await Deno.mkdir(`${home}/.fleetctl/dial/files`, { recursive: true });
    await Deno.writeTextFile(`${home}/.fleetctl/dial/key.json`, "SECRET");
    await Deno.writeTextFile(`${home}/.fleetctl/dial/files/note.txt`, "attached");
    await Deno.mkdir(`${home}/.agents/skills/sums`, { recursive: true });
    await Deno.writeTextFile(`${home}/.agents/skills/sums/SKILL.md`, "a skill");
    const tools: readonly Tool[] = builtInTools({
      agent: "ada",
      home,
      paths: pathsUnder(root),
      sandbox: { folder: folder === "home" ? home : project, network: "none" },
      env: { PATH: "/usr/bin:/bin", HOME: home, CODEHOST_TOKEN: "SECRET" },
      ports,
    })({ cwd: project, home });
    const call = (name: string, input: unknown, signal = never) => {
      const tool = tools.find((each) => each.name === name);
      assert.ok(tool, name);
      return tool.run(input, signal);
    };
    await work({ home, project, call });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("a sandboxed command sees its workspace, and none of the agent's keys", async () => {
  await withTools(async ({ call, home, project }) => {
    const command = "pwd; echo made > made.txt; cat ~/.fleetctl/dial/key.json; " +
      "cat ~/.fleetctl/dial/files/note.txt; env; cat /proc/*/environ; " +
      "cat ~/.agents/skills/sums/SKILL.md; echo x > ~/.agents/skills/sums/SKILL.md";
    const { text } = await call("bash", { command });
    assert.ok(text.startsWith(`${project}\n`), text);
    assert.match(text, /attached/);
    assert.match(text, /a skill.*Read-only file system/s);
    assert.doesNotMatch(text, /SECRET/);
    assert.equal(await Deno.readTextFile(`${home}/project/made.txt`), "made\n");
  });
});

Deno.test("a sandboxed command reports its exit code and its output", async () => {
  await withTools(async ({ call }) => {
    assert.deepEqual(await call("bash", { command: "echo a; echo b >&2; exit 3" }), {
      status: "failed",
      text: "a\nb\n[exit code 3]",
    });
    const away = await call("bash", { command: "pwd", cwd: "/etc/systemd" });
    assert.match(away.text, /Can't chdir to \/etc\/systemd/);
  });
});

Deno.test("nothing that a sandboxed command started outlives it", async () => {
  await withTools(async ({ call, project }) => {
    await new Deno.Command("mkfifo", { args: [`${project}/up`] }).output();
    const holds = "setsid sh -c 'exec 9>up; echo > started; sleep 1000' >/dev/null 2>&1";
    const waits = "until [ -e started ]; do sleep 0.01; done";
    for (
      const { command, isStopped } of [
        { command: `${holds} & ${waits}`, isStopped: false },
        { command: `${holds} & ${waits}; sleep 1000`, isStopped: true },
        { command: `exec ${holds}`, isStopped: true },
      ]
    ) {
      const stop = new AbortController();
      const called = call("bash", { command: `rm -f started; ${command}` }, stop.signal);
      const file = await Deno.open(`${project}/up`);
      if (isStopped) stop.abort();
      await called;
      // The pipe ends with its last writer.
      assert.equal(await new Response(file.readable).text(), "", command);
    }
  });
});

Deno.test("file tools follow no link out of the sandbox", async () => {
  await withTools(async ({ call, home, project }) => {
    await Deno.symlink(`${home}/.fleetctl/dial/key.json`, `${project}/key`);
    await Deno.symlink(`${home}/.fleetctl`, `${project}/folder`);
    await Deno.symlink(`${home}/.bashrc`, `${project}/dangling`);
    const closed = [
      "key",
      "folder/dial/key.json",
      "dangling",
      "~/.fleetctl/dial/key.json",
      "/etc/passwd",
      "../.fleetctl/dial/key.json",
    ];
    for (const path of closed) {
      assert.match((await call("read", { path })).text, /outside of the sandbox/, path);
      assert.match((await call("write", { path, content: "x" })).text, /outside of/, path);
      const edit = { path, old_text: "SECRET", new_text: "x" };
      assert.match((await call("edit", edit)).text, /outside of the sandbox/, path);
    }
    assert.equal(await Deno.readTextFile(`${home}/.fleetctl/dial/key.json`), "SECRET");
    assert.match((await call("read", { path: "~/.fleetctl/dial/files/note.txt" })).text, /attach/);
    const attached = { path: "~/.fleetctl/dial/files/note.txt", content: "x" };
    assert.match((await call("write", attached)).text, /outside of the sandbox/);
    assert.equal((await call("write", { path: "new/a.txt", content: "x" })).status, "completed");
    assert.match((await call("read", { path: "new/a.txt" })).text, /x/);
  });
});

Deno.test("without bubblewrap every command is refused, with a hint", async () => {
  const none = { ...real, processes: fakeProcesses() };
  await withTools(async ({ call }) => {
    const { status, text } = await call("bash", { command: "echo ran" });
    assert.equal(status, "failed");
    assert.match(text, /no such program \(sandbox-not-possible\)\nhint: apt-get install/);
  }, { ports: none });
});

Deno.test("a host without user namespaces refuses commands until it allows them", async () => {
  let isForbidden = true;
  const processes = {
    ...real.processes,
    run: (spec: Parameters<typeof real.processes.run>[0]) =>
      isForbidden
        ? fakeProcesses({
          [BUBBLEWRAP]: async (call) => {
            await call.warn("bwrap: No permissions to create a new namespace\n");
            return 1;
          },
        }).run(spec)
        : real.processes.run(spec),
  };
  await withTools(async ({ call }) => {
    const refused = await call("bash", { command: "echo ran" });
    assert.match(refused.text, /No permissions to create a new namespace/);
    assert.match(refused.text, /hint: fleetctl agents set ada --sandbox off/);
    isForbidden = false;
    assert.equal((await call("bash", { command: "echo ran" })).text, "ran\n");
  }, { ports: { ...real, processes } });
});

Deno.test("a workspace that contains the home is refused", async () => {
  await withTools(async ({ call }) => {
    const { text } = await call("bash", { command: "echo ran" });
    assert.match(text, /contains the agent's keys.*\(sandbox-not-possible\)/);
  }, { folder: "home" });
});
