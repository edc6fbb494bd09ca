/**
 * Adapters need only minimal permissions: each one runs in a program whose permission set names
 * exactly the paths, addresses and programs that its work needs.
 *
 * @module
 */

import assert from "node:assert/strict";
import { LIBC_PATHS } from "core/os/libc.ts";

const TREE = new URL("../../..", import.meta.url).pathname;
const LIBC = LIBC_PATHS[Deno.build.arch];

/** Runs a script that gets `host` and `root`; returns what it prints. */
async function runWith(
  permissions: (root: string) => readonly string[],
  script: string,
): Promise<string> {
  const root = await Deno.makeTempDir();
  try {
    const path = `${root}/program.ts`;
    await Deno.writeTextFile(
      path,
      `import { openHost } from ${JSON.stringify(import.meta.resolve("core/os/host.ts"))};
       const host = openHost({ log: { program: "test" } });
       const root = ${JSON.stringify(root)};
       ${script}`,
    );
    await Deno.mkdir(`${root}/state`);
    const child = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-q",
        "--no-prompt",
        "--no-check",
        "--cached-only",
        `--config=${TREE}deno.json`,
        "--ignore-env",
        ...permissions(root),
        path,
      ],
    });
    const { stdout, stderr } = await child.output();
    return new TextDecoder().decode(stdout).trim() + new TextDecoder().decode(stderr).trim();
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

Deno.test("files, locks and databases need only access to their own folder", async () => {
  const answer = await runWith(
    (root) => [`--allow-read=${root}/state`, `--allow-write=${root}/state`],
    `
    const at = root + "/state";
    await host.files.write(at + "/a", "text", { mode: 0o660, uid: ${Deno.uid()} });
    await host.files.append(at + "/log", "line");
    await host.files.ensureDir(at + "/dir", { mode: 0o700 });
    await (await host.files.lock(at + "/lock")).release();
    const db = await host.databases.open(at + "/db");
    db.exec("CREATE TABLE t (n)");
    db.close();
    const names = await host.files.list(at);
    console.log(names.join(), (await host.files.stat(at + "/a")).mode === 0o660);`,
  );
  assert.equal(answer, "a,db,dir,lock,log true");
});

Deno.test("serveUnix needs only its path and libc", async () => {
  const answer = await runWith(
    (root) => [
      `--allow-read=${root}/state`,
      `--allow-write=${root}/state`,
      `--allow-net=unix:${root}/state/s`,
      `--allow-ffi=${LIBC}`,
    ],
    `
    const path = root + "/state/s";
    const server = await host.sockets.serveUnix(path, 0o600, async (stream) => {
      const writer = stream.writable.getWriter();
      await writer.write(new TextEncoder().encode(String(stream.peer.uid)));
      await writer.close();
    });
    const { readable, close } = await host.sockets.connectUnix(path);
    console.log(await new Response(readable).text());
    close();
    await server.close();`,
  );
  assert.equal(answer, String(Deno.uid()));
});

Deno.test("HTTP and WebSockets need only their address", async () => {
  const answer = await runWith(
    () => ["--allow-net=127.0.0.1"],
    `
    const at = { hostname: "127.0.0.1", port: 0 };
    const frames = await host.sockets.serveFrames(at, {
      frameBytesMax: 1024,
      handler: () => new Response("plain"),
      upgrade: () => ({ accept: true, onOpen: (c) => c.onMessage((text) => c.send(text + "!")) }),
    });
    const client = await host.sockets.connectFrames("ws://127.0.0.1:" + frames.address.port, {
      frameBytesMax: 1024,
      timeoutMs: 5000,
    });
    const heard = new Promise((resolve) => client.onMessage(resolve));
    client.send("frame");
    const http = await host.sockets.serveHttp(at, () => new Response("http"));
    const response = await host.http.fetch("http://127.0.0.1:" + http.address.port);
    const taken = await host.sockets.serveHttp(http.address, () => new Response())
      .catch((fault) => fault.reason + " " + fault.holder);
    console.log(await heard, await response.text(), taken);
    await http.close();
    await frames.close();`,
  );
  assert.equal(answer, "frame! http in-use undefined");
});

Deno.test("ending a process group needs only the rights to run and to use libc", async () => {
  const script = `
    const child = await host.processes.spawn({
      command: "/bin/sh",
      args: ["-c", "sleep 600 & echo up; wait"],
      env: { PATH: "/usr/bin:/bin" },
      group: true,
    });
    const reader = child.stdout.getReader();
    await reader.read();
    child.kill("SIGKILL");
    console.log((await child.exited).signal, (await reader.read()).done);
    Deno.exit(0);`;
  assert.equal(
    await runWith(() => ["--allow-run=/bin/sh", `--allow-ffi=${LIBC}`], script),
    "SIGKILL true",
  );
});

Deno.test("a path outside the permission set is a FileFault that says so", async () => {
  const answer = await runWith(
    () => [],
    `
    for (const work of [
      () => host.files.readText("/etc/hostname"),
      () => host.files.write("/tmp/never", ""),
      () => host.processes.run({ command: "/bin/true", args: [], env: {} }),
      () => host.databases.open("/tmp/never.db"),
    ]) {
      await work().catch((fault) => console.log(fault.name, fault.code, fault.message));
    }`,
  );
  assert.equal(
    answer,
    [
      'FileFault EACCES Cannot read "/etc/hostname": outside the permission set of this program',
      'FileFault EACCES Cannot write "/tmp/never": outside the permission set of this program',
      'FileFault EACCES Cannot start "/bin/true": outside the permission set of this program',
      'FileFault EACCES Cannot open "/tmp/never.db": outside the permission set of this program',
    ].join("\n"),
  );
});
