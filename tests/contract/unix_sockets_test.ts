/**
 * What `Sockets` promises about unix sockets, against the kernel: the identity of the peer, no
 * access before the mode is set, and no takeover of a socket in use.
 *
 * @module
 */

import assert from "node:assert/strict";
import { FileFault } from "core/ports/files.ts";
import type { PeerStream, Sockets } from "core/ports/sockets.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemSockets } from "core/os/sockets.ts";
import { recordingLog } from "tests/fakes/log.ts";

const isRoot = Deno.uid() === 0;
const NOBODY = 65534;

function unixTest(
  name: string,
  run: (sockets: Sockets, root: string) => Promise<void>,
  ignore = false,
): void {
  Deno.test({
    name: `systemSockets() ${name}`,
    ignore,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: async () => {
      const root = await Deno.makeTempDir();
      try {
        const sockets = systemSockets({ processes: systemProcesses(), log: recordingLog() });
        await run(sockets, root);
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string> {
  return await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

/** Reads the peer's input to its end and answers with it. */
async function answerOnce(stream: PeerStream): Promise<void> {
  const heard = await readAll(stream.readable);
  const writer = stream.writable.getWriter();
  await writer.write(bytes(`heard ${heard} from ${stream.peer.uid}:${stream.peer.gid}`));
  await writer.close();
}

async function ask(sockets: Sockets, path: string, text: string): Promise<string> {
  const stream = await sockets.connectUnix(path);
  const writer = stream.writable.getWriter();
  await writer.write(bytes(text));
  await writer.close();
  return await readAll(stream.readable);
}

/**
 * Returns a command that runs a Perl script with the socket path as another account. It starts
 * `setpriv`, a program that the tests may run.
 */
function perlAs(uid: number, script: string, path: string): Deno.Command {
  const as = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const perl = ["/usr/bin/perl", "-MIO::Socket::UNIX", "-e", script, path];
  return new Deno.Command("/usr/bin/setpriv", { args: [...as, ...perl], stdout: "piped" });
}

/** Connects as another account. */
async function askAs(uid: number, path: string): Promise<string> {
  const script = `
    my $s = IO::Socket::UNIX->new(Peer => $ARGV[0]) or do { print "refused ", $! + 0; exit };
    print $s "hi"; $s->flush; $s->shutdown(1); print <$s>;`;
  const { stdout, stderr } = await perlAs(uid, script, path).output();
  return new TextDecoder().decode(stdout).trim() + new TextDecoder().decode(stderr);
}

unixTest("serveUnix names the peer by its kernel credentials", async (sockets, root) => {
  const path = `${root}/s`;
  const peers: number[] = [];
  const server = await sockets.serveUnix(path, 0o600, (stream) => {
    peers.push(stream.peer.pid);
    void answerOnce(stream).catch(() => {});
  });
  assert.equal(await ask(sockets, path, "hello"), `heard hello from ${Deno.uid()}:${Deno.gid()}`);
  assert.deepEqual(peers, [Deno.pid]);
  await server.close();
});

unixTest(
  "serveUnix reports another user's uid, and the mode keeps that user out",
  async (sockets, root) => {
    const path = `${root}/s`;
    await Deno.chmod(root, 0o755);
    const server = await sockets.serveUnix(
      path,
      0o666,
      (stream) => void answerOnce(stream).catch(() => {}),
    );
    assert.equal(await askAs(NOBODY, path), `heard hi from ${NOBODY}:${NOBODY}`);
    await server.close();
    const closed = await sockets.serveUnix(path, 0o660, () => assert.fail("let in"));
    assert.equal(await askAs(NOBODY, path), "refused 13");
    await closed.close();
  },
  !isRoot,
);

unixTest(
  "serveUnix sets the mode whatever the umask is, and restores the umask",
  async (sockets, root) => {
    const before = Deno.umask(0o027);
    try {
      const server = await sockets.serveUnix(`${root}/s`, 0o666, () => {});
      assert.equal((await Deno.lstat(`${root}/s`)).mode ?? 0 & 0o777, 0o140666);
      assert.equal(Deno.umask(0o027), 0o027);
      await server.close();
    } finally {
      Deno.umask(before);
    }
  },
);

unixTest(
  "serveUnix lets no other account connect, not even for a moment",
  async (sockets, root) => {
    await Deno.chmod(root, 0o755);
    const path = `${root}/s`;
    // Connects without pause while the socket is created and removed, and prints each accepted
    // connection.
    const script = `
    $| = 1; print "go"; while (1) { print "in" if IO::Socket::UNIX->new(Peer => $ARGV[0]); }`;
    const knocker = perlAs(NOBODY, script, path).spawn();
    const reader = knocker.stdout.getReader();
    await reader.read();
    for (let round = 0; round < 100; round++) {
      const server = await sockets.serveUnix(path, 0o600, () => {});
      await server.close();
    }
    knocker.kill("SIGKILL");
    assert.equal((await reader.read()).done, true);
    await knocker.status;
  },
  !isRoot,
);

unixTest("serveUnix replaces a socket without a listener", async (sockets, root) => {
  const path = `${root}/s`;
  // A killed process leaves its socket behind.
  const { code } = await new Deno.Command("/usr/bin/perl", {
    args: ["-MIO::Socket::UNIX", "-e", "IO::Socket::UNIX->new(Local => $ARGV[0])", path],
  }).output();
  assert.equal(code, 0);
  assert.equal((await Deno.lstat(path)).isSocket, true);
  const server = await sockets.serveUnix(
    path,
    0o600,
    (stream) => void answerOnce(stream).catch(() => {}),
  );
  assert.match(await ask(sockets, path, "hello"), /^heard hello/);
  await server.close();
  await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
});

unixTest("serveUnix does not replace a socket that has a listener", async (sockets, root) => {
  const path = `${root}/s`;
  const first = await sockets.serveUnix(
    path,
    0o600,
    (stream) => void answerOnce(stream).catch(() => {}),
  );
  const fault = await sockets.serveUnix(path, 0o600, () => {}).catch((thrown) => thrown);
  assert.ok(fault instanceof FileFault);
  assert.equal(fault.code, "EEXIST");
  assert.equal(fault.message, `Cannot listen on "${path}": another process answers on it`);
  assert.match(await ask(sockets, path, "still here"), /^heard still here/);
  await first.close();
});

unixTest("serveUnix does not replace a file that is not a socket", async (sockets, root) => {
  const path = `${root}/file`;
  await Deno.writeTextFile(path, "keep");
  await Deno.symlink("/none", `${root}/link`);
  for (const at of [path, `${root}/link`]) {
    const fault = await sockets.serveUnix(at, 0o600, () => {}).catch((thrown) => thrown);
    assert.ok(fault instanceof FileFault && fault.code === "EEXIST", String(fault));
  }
  assert.equal(await Deno.readTextFile(path), "keep");
});

unixTest("serveUnix names what is wrong with a path", async (sockets, root) => {
  const long = `${root}/${"x".repeat(108)}`;
  const rows = [[`${root}/none/s`, "ENOENT"], [long, "EIO"]] as const;
  for (const [path, code] of rows) {
    const fault = await sockets.serveUnix(path, 0o600, () => {}).catch((thrown) => thrown);
    assert.ok(fault instanceof FileFault, String(fault));
    assert.equal(fault.code, code, fault.message);
  }
});

unixTest("serveUnix close removes the socket, once", async (sockets, root) => {
  const path = `${root}/s`;
  const server = await sockets.serveUnix(path, 0o600, () => {});
  await server.close();
  await assert.rejects(Deno.lstat(path), Deno.errors.NotFound);
  const next = await sockets.serveUnix(path, 0o600, () => {});
  await server.close();
  assert.equal((await Deno.lstat(path)).isSocket, true);
  await next.close();
});

unixTest("connectUnix rejects without a listener", async (sockets, root) => {
  await assert.rejects(sockets.connectUnix(`${root}/none`), { code: "ENOENT" });
});

unixTest(
  "streams carry large data in both directions with back-pressure",
  async (sockets, root) => {
    const path = `${root}/s`;
    const server = await sockets.serveUnix(path, 0o600, (stream) => {
      void stream.readable.pipeTo(stream.writable);
    });
    const stream = await sockets.connectUnix(path);
    const block = new Uint8Array(1_000_000).fill(65);
    const sending = (async () => {
      const writer = stream.writable.getWriter();
      for (let round = 0; round < 30; round++) await writer.write(block);
      await writer.close();
    })();
    let received = 0;
    for await (const chunk of stream.readable) received += chunk.length;
    await sending;
    assert.equal(received, 30_000_000);
    await server.close();
  },
);

unixTest("a writer waits while the peer does not read", async (sockets, root) => {
  const path = `${root}/s`;
  const accepted = Promise.withResolvers<PeerStream>();
  const server = await sockets.serveUnix(path, 0o600, accepted.resolve);
  const client = await sockets.connectUnix(path);
  const peer = await accepted.promise;
  const writer = peer.writable.getWriter();
  const block = new Uint8Array(8_000_000).fill(65);
  let isWritten = false;
  const writing = writer.write(block).then(() => isWritten = true);
  const reader = client.readable.getReader();
  let received = (await reader.read()).value?.length ?? 0;
  assert.equal(isWritten, false);
  while (received < block.length) received += (await reader.read()).value?.length ?? Infinity;
  await writing;
  peer.close();
  assert.equal((await reader.read()).done, true);
  client.close();
  client.close();
  await server.close();
});

unixTest("a peer that disconnects ends only its own streams", async (sockets, root) => {
  const path = `${root}/s`;
  const accepted = Promise.withResolvers<PeerStream>();
  const server = await sockets.serveUnix(path, 0o600, accepted.resolve);
  const client = await sockets.connectUnix(path);
  const peer = await accepted.promise;
  client.close();
  assert.equal(await readAll(peer.readable), "");
  const writer = peer.writable.getWriter();
  await assert.rejects(async () => {
    for (;;) await writer.write(new Uint8Array(100_000));
  });
  await server.close();
});

unixTest("a peer is cut off when the server closes", async (sockets, root) => {
  const path = `${root}/s`;
  const server = await sockets.serveUnix(path, 0o600, () => {});
  const client = await sockets.connectUnix(path);
  await server.close();
  await readAll(client.readable).catch(() => {});
  client.close();
});
