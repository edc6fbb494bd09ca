/**
 * The HTTPS fronts of docs/login.md, as they stand there, before the real login proxy: Debian's nginx and
 * Caddy, asked through TLS by curl. What the described rules for a front want holds through both.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Listener } from "core/ports.ts";
import { systemClock } from "core/os/clock.ts";
import { systemProcesses } from "core/os/processes.ts";
import { systemRandom } from "core/os/random.ts";
import { systemSockets } from "core/os/sockets.ts";
import { memoryHost } from "tests/fakes/host.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { BOB, startTestLogin } from "tests/support/login_fixture.ts";
import { TREE } from "tests/support/module_graph.ts";

const HOST = "cockpit.example.org";
const decoder = new TextDecoder();
const ME = ["-u", `${BOB.name}:${BOB.password}`] as const;

interface Front {
  readonly name: string;
  readonly language: string;
  config(block: string, at: { folder: string; port: number; upstream: string }): string;
  command(file: string): readonly [string, ...string[]];
}

const FRONTS: readonly Front[] = [
  {
    name: "nginx",
    language: "nginx",
    config: (block, { folder, port, upstream }) =>
      `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b;
  fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
  ${
        block.replace("listen 443", `listen 127.0.0.1:${port}`)
          .replaceAll("/etc/ssl/cockpit", `${folder}/cockpit`)
          .replaceAll("127.0.0.1:8736", upstream)
      }
}
`,
    command: (file) => ["nginx", "-c", file],
  },
  {
    name: "Caddy",
    language: "caddyfile",
    config: (block, { folder, port, upstream }) =>
      `{
  admin off
  auto_https off
  skip_install_trust
}
${
        block.replace(
          `${HOST} {`,
          `https://${HOST}:${port} {\n  bind 127.0.0.1\n  tls ${folder}/cockpit.pem ${folder}/cockpit.key`,
        ).replaceAll("127.0.0.1:8736", upstream)
      }
`,
    command: (file) => ["caddy", "run", "--adapter", "caddyfile", "--config", file],
  },
];

async function documented(language: string): Promise<string> {
  const text = await Deno.readTextFile(`${TREE}docs/login.md`);
  const blocks = [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language);
  assert.equal(blocks.length, 1, `blocks in ${language}`);
  return blocks[0]?.[2] ?? "";
}

async function output(command: string, args: readonly string[]) {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    ...{ args: [...args], stdin: "null", stdout: "piped", stderr: "piped" },
  }).output();
  return { code, text: decoder.decode(stdout), error: decoder.decode(stderr) };
}

/** A cockpit that streams, takes a socket, and says what it was asked. */
async function startCockpit(): Promise<Listener> {
  const sockets = systemSockets({ processes: systemProcesses(), log: recordingLog() });
  return await sockets.serveFrames({ hostname: "127.0.0.1", port: 0 }, {
    frameBytesMax: 1024,
    upgrade: () => ({ accept: true, onOpen: (connection) => connection.send("hello") }),
    handler: (request) => {
      if (!request.url.endsWith("/events")) {
        const state = request.headers.get("x-webauthn-state") ?? "";
        return Response.json(Object.fromEntries(request.headers), {
          headers: { "x-webauthn-state": `${state}-back` },
        });
      }
      const first = new TextEncoder().encode("data: first\n\n");
      return new Response(
        new ReadableStream<Uint8Array<ArrayBuffer>>({ start: (made) => made.enqueue(first) }),
        { headers: { "content-type": "text/event-stream" } },
      );
    },
  });
}

async function listening(child: Deno.ChildProcess, port: number): Promise<void> {
  let isOver = false;
  const ended = child.status.then(() => isOver = true);
  for (;;) {
    const open = await Deno.connect({ hostname: "127.0.0.1", port })
      .then((connection) => connection.close(), () => "closed");
    if (open === undefined) return;
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 50))]);
    if (isOver) throw new Error("the front has ended");
  }
}

for (const front of FRONTS) {
  Deno.test(`${front.name} as documented keeps all that the login proxy needs`, async (t) => {
    const cockpit = await startCockpit();
    const host = { ...memoryHost(), clock: systemClock(), random: systemRandom() };
    const { proxy } = await startTestLogin(host, `http://127.0.0.1:${cockpit.address.port}`, {
      WEBVIEW_URL: `https://${HOST}`,
    });
    const folder = await Deno.makeTempDir({ prefix: "front-" });
    await Deno.chmod(folder, 0o755);
    const made = await output("openssl", [
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${HOST}`],
      ...["-addext", `subjectAltName=DNS:${HOST}`],
      ...["-addext", "basicConstraints=critical,CA:FALSE"],
      ...["-keyout", `${folder}/cockpit.key`, "-out", `${folder}/cockpit.pem`],
    ]);
    assert.equal(made.code, 0, made.error);
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = free.addr as Deno.NetAddr;
    free.close();
    const upstream = `127.0.0.1:${proxy.address.port}`;
    const config = front.config(await documented(front.language), { folder, port, upstream });
    await Deno.writeTextFile(`${folder}/front.conf`, config);
    const [command, ...args] = front.command(`${folder}/front.conf`);
    const child = new Deno.Command(command, {
      args,
      env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      ...{ stdin: "null", stdout: "null", stderr: "null" },
    }).spawn();
    const curl = async (path: string, ...more: readonly string[]) =>
      (await output("curl", [
        ...["-sS", "-i", "--cacert", `${folder}/cockpit.pem`],
        ...["--connect-to", `${HOST}:443:127.0.0.1:${port}`],
        ...[...more, `https://${HOST}${path}`],
      ])).text;
    try {
      await listening(child, port);
      await t.step("a page over HTTP/2, told to stay with https", async () => {
        const page = await curl("/auth/login", "-H", "accept: text/html", "--max-time", "20");
        assert.match(page, /^HTTP\/2 200/);
        assert.match(page, /strict-transport-security: max-age=/);
        assert.match(page, /set-cookie: wv_login_csrf=[^\n]*; Secure/);
      });
      await t.step("state and request id go both ways, and the name is the front's", async () => {
        const state = ["-H", "x-webauthn-state: one", "-H", "x-request-id: mine-1"];
        const answer = await curl("/api/x", ...ME, ...state, "--max-time", "20");
        assert.match(answer, /x-webauthn-state: one-back/);
        assert.match(answer, /x-request-id: mine-1/);
        const [, seen = "{}"] = answer.split("\r\n\r\n");
        assert.equal(JSON.parse(seen)["x-forwarded-host"], HOST);
        assert.equal(JSON.parse(seen)["x-forwarded-proto"], "https");
        assert.equal(JSON.parse(seen)["x-user-email"], BOB.name);
      });
      await t.step("a stream begins at once, and is not packed", async () => {
        const stream = await curl("/events", ...ME, "-N", "--compressed", "--max-time", "6");
        assert.match(stream, /^HTTP\/2 200/);
        assert.match(stream, /data: first/);
        assert.doesNotMatch(stream, /content-encoding/i);
      });
      await t.step("a socket of our own page opens, one of another site does not", async () => {
        const upgrade = (origin: string) =>
          curl(
            "/terminal/x",
            ...ME,
            "--http1.1",
            "--max-time",
            "3",
            ...[
              "connection: Upgrade",
              "upgrade: websocket",
              "sec-websocket-version: 13",
              "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
              `origin: ${origin}`,
            ].flatMap((header) => ["-H", header]),
          );
        assert.match(await upgrade(`https://${HOST}`), /^HTTP\/1\.1 101 [^]*hello/);
        assert.match(await upgrade("https://evil.example"), /^HTTP\/1\.1 403 /);
      });
      await t.step("a forged address buys no ninth guess", async () => {
        const statuses: string[] = [];
        for (let guess = 0; guess < 9; guess++) {
          const answer = await curl(
            "/api/x",
            ...["-u", `${BOB.name}:wrong-${guess}`, "-H", `x-forwarded-for: 6.6.6.${guess}`],
            ...["-H", `x-real-ip: 6.6.6.${guess}`, "--max-time", "20"],
          );
          statuses.push(answer.slice(7, 10));
        }
        assert.deepEqual(statuses, [...Array(8).fill("401"), "429"]);
      });
    } finally {
      child.kill("SIGTERM");
      await child.status;
      await proxy.close();
      await cockpit.close(0);
      await Deno.remove(folder, { recursive: true });
    }
  });
}
