/**
 * The HTTPS fronts of docs/teamchat.md, as they stand there, before a real gateway: Debian's nginx and
 * Caddy, asked through TLS by curl and by hand. Only `/api/messages*` reaches the gateway; whatever
 * else a request says or hides is answered 404, or not at all.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";
import { type ServedKit, serveKit } from "tests/teamchat/connector/kit.ts";
import { messageOf } from "tests/teamchat/fixture.ts";
import { makeTeamchatRoot, startTeamchatProcess } from "tests/teamchat/gateway_process.ts";

const HOST = "teams.example.org";
const decoder = new TextDecoder();

/** A front of the documentation, changed in nothing but addresses and certificate. */
interface Front {
  readonly name: string;
  readonly language: string;
  /** What it may say to a body that is too large; Caddy's limit ends the request to the gateway. */
  readonly tooLarge: readonly number[];
  config(block: string, at: Place): string;
  command(file: string): readonly [string, ...string[]];
}

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly upstream: string;
}

const FRONTS: readonly Front[] = [
  {
    name: "nginx",
    language: "nginx",
    tooLarge: [413],
    config: (block, { folder, port, upstream }) =>
      `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b;
  fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
${
        block.replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
          .replaceAll("/etc/ssl/teams", `${folder}/teams`).replaceAll("127.0.0.1:3978", upstream)
      }
}
`,
    command: (file) => ["nginx", "-c", file],
  },
  {
    name: "Caddy",
    language: "caddyfile",
    tooLarge: [413, 502],
    config: (block, { folder, port, upstream }) =>
      `{
  admin off
  auto_https off
  skip_install_trust
}
${
        block.replace(
          `${HOST} {`,
          `https://${HOST}:${port} {\n  bind 127.0.0.1\n  tls ${folder}/teams.pem ${folder}/teams.key`,
        ).replaceAll("127.0.0.1:3978", upstream)
      }
`,
    command: (file) => ["caddy", "run", "--adapter", "caddyfile", "--config", file],
  },
];

/** The fenced block of docs/teamchat.md in a language. */
async function documented(language: string): Promise<string> {
  const text = await Deno.readTextFile(`${TREE}docs/teamchat.md`);
  const blocks = [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language);
  assert.equal(blocks.length, 1, `blocks in ${language}`);
  return blocks[0]?.[2] ?? "";
}

async function run(command: string, args: readonly string[]): Promise<string> {
  const output = await new Deno.Command(command, {
    ...{ args: [...args], stdin: "null", stdout: "piped", stderr: "piped" },
  }).output();
  if (output.success) return decoder.decode(output.stdout);
  throw new Error(`${command} ${args.join(" ")}: ${decoder.decode(output.stderr)}`);
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

/** A front that listens. */
class Running implements AsyncDisposable {
  readonly port: number;
  readonly #folder: string;
  readonly #child: Deno.ChildProcess;
  readonly #errors: Promise<string>;

  private constructor(place: Place, child: Deno.ChildProcess) {
    this.port = place.port;
    this.#folder = place.folder;
    this.#child = child;
    this.#errors = new Response(child.stderr).text();
  }

  static async start(front: Front, upstream: string): Promise<Running> {
    const folder = await Deno.makeTempDir({ prefix: "front-" });
    await Deno.chmod(folder, 0o755);
    await run("openssl", [
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${HOST}`],
      ...["-addext", `subjectAltName=DNS:${HOST}`],
      ...["-addext", "basicConstraints=critical,CA:FALSE"],
      ...["-keyout", `${folder}/teams.key`, "-out", `${folder}/teams.pem`],
    ]);
    const place = { folder, port: freePort(), upstream };
    const file = `${folder}/front.conf`;
    await Deno.writeTextFile(file, front.config(await documented(front.language), place));
    const [command, ...args] = front.command(file);
    const child = new Deno.Command(command, {
      args,
      env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      ...{ stdin: "null", stdout: "null", stderr: "piped" },
    }).spawn();
    const running = new Running(place, child);
    await running.#listening();
    return running;
  }

  async #listening(): Promise<void> {
    const ended = this.#child.status.then(() => "ended");
    while (true) {
      const open = Deno.connect({ hostname: "127.0.0.1", port: this.port })
        .then((connection) => connection.close(), () => "closed");
      if (await open === undefined) return;
      const pause = new Promise((resolve) => setTimeout(resolve, 50));
      if (await Promise.race([ended, pause]) === "ended") throw new Error(await this.#errors);
    }
  }

  /** One request by curl: the status, the HTTP version and the body. */
  async curl(path: string, more: readonly string[] = []) {
    const text = await run("curl", [
      ...["-sS", "--path-as-is", "--max-time", "20", "--cacert", `${this.#folder}/teams.pem`],
      ...["--connect-to", `${HOST}:443:127.0.0.1:${this.port}`],
      ...["-w", "\n%{http_code} %{http_version}", ...more, `https://${HOST}${path}`],
    ]);
    const [, body = "", status = "", version = ""] = /^([^]*)\n(\d+) (\S+)$/.exec(text) ?? [];
    return { status: Number(status), version, body };
  }

  /** Bytes by hand over TLS, and everything that came back until the front closed. */
  async raw(text: string): Promise<string> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    const tls = await Deno.startTls(connection, {
      hostname: HOST,
      caCerts: [await Deno.readTextFile(`${this.#folder}/teams.pem`)],
      alpnProtocols: ["http/1.1"],
    });
    await tls.write(new TextEncoder().encode(text));
    const reading = new Response(tls.readable).text().catch(() => "");
    return await reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
    await this.#errors;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Paths that are nobody's business outside, and ways of writing them. */
const HIDDEN = [
  "/",
  "/register",
  "/healthz",
  "/metrics",
  "/api",
  "/api/message",
  "/API/messages",
  "/api/messages/../../register",
  "/api/messages/../../healthz",
  "/api/messages/%2e%2e/%2e%2e/metrics",
  "/api/messages%2f..%2f..%2fhealthz",
  "/api/messages/..%5c..%5c/healthz",
  "/api/messages\\..\\..\\healthz",
  "/api/messages/..;/..;/healthz",
  "/x/../register",
  "//register",
  "/register/",
  "/register?/api/messages",
  "/%72egister",
  "/api/messages/x",
  "/api/messagesx",
];

for (const front of FRONTS) {
  Deno.test({
    name: `${front.name} brings /api/messages to the gateway and nothing else`,
    fn: async (t) => {
      await using served: ServedKit = await serveKit({ rules: { streamGapMs: 0 } });
      const { kit } = served;
      const { root, env, register } = await makeTeamchatRoot(kit);
      const gateway = await startTeamchatProcess(env);
      const upstream = String(gateway.ready.messages);
      try {
        await using running = await Running.start(front, upstream);
        const token = await kit.keys.token(kit.serviceUrl);
        const post = (body: string, more: readonly string[] = []) =>
          running.curl("/api/messages", [
            ...["-H", "content-type: application/json", "-H", `authorization: Bearer ${token}`],
            ...["--data-binary", body, ...more],
          ]);
        await t.step("a message goes in and its answer comes back, over HTTP/2", async () => {
          const agent = await register(String(gateway.ready.register));
          const taken = await post(JSON.stringify(messageOf(kit, { text: "through" })));
          assert.deepEqual([taken.status, taken.version, taken.body], [202, "2", ""]);
          const turn = await agent.begin();
          assert.equal(turn.text, "through");
          agent.answer(turn.turnId, "and back");
          assert.equal((await agent.next("delivery")).outcome, "delivered");
          assert.equal(kit.conversation("a:bea").messages.at(-1)?.text, "and back");
          agent.connection.terminate();
          await agent.closed;
        });
        await t.step("a message without a token is the gateway's to refuse", async () => {
          const json = ["-H", "content-type: application/json", "--data-binary", "{}"];
          assert.equal((await running.curl("/api/messages", json)).status, 401);
        });
        await t.step("everything else is 404", async () => {
          for (const path of HIDDEN) {
            for (const more of [[], ["--http1.1"], ["--http1.1", "-d", "{}"]]) {
              const { status, body } = await running.curl(path, more);
              assert.ok(status === 404 || status === 400, `${path} ${more.join(" ")}: ${status}`);
              assert.doesNotMatch(body, /turns_open|fleetctl_teamchat/, path);
            }
          }
        });
        await t.step("no upgrade goes through", async () => {
          for (const path of ["/register", "/api/messages", "/api/messages/../../register"]) {
            const { status } = await running.curl(path, [
              ...["--http1.1", "-H", "connection: Upgrade", "-H", "upgrade: websocket"],
              ...["-H", "sec-websocket-version: 13"],
              ...["-H", "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ=="],
            ]);
            assert.ok(status >= 400, `${path}: ${status}`);
          }
        });
        await t.step("a request inside a request is never answered", async () => {
          const inner = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
          const head = `POST /api/messages HTTP/1.1\r\nHost: ${HOST}\r\nConnection: close\r\n` +
            "Content-Type: application/json\r\n";
          const chunked = `0\r\n\r\n${inner}`;
          const hidden = [
            `${head}Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
            `${head}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunked}`,
            `${head}Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
            `${head}Transfer-Encoding : chunked\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
            `${head}Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}${inner}`,
            `${head}X-A: b\r\n Content-Length: ${inner.length}\r\nContent-Length: 2\r\n\r\n{}${inner}`,
            `${head}Content-Length: +2\r\n\r\n{}${inner}`,
          ];
          for (const text of hidden) {
            const said = await running.raw(text);
            assert.doesNotMatch(said, /fleetctl_teamchat/, text);
            assert.ok(said.split("HTTP/1.1 ").length <= 2, said);
          }
        });
        await t.step("a header that a proxy sets cannot be taken away from outside", async () => {
          const { status } = await running.curl("/api/messages\\..\\..\\healthz", [
            ...["--http1.1", "-H", "connection: close, x-forwarded-for"],
          ]);
          assert.ok(status === 404 || status === 400, String(status));
        });
        await t.step("a body of more than 256 KiB ends at the front", async () => {
          const large = `{"text":"${"x".repeat(300_000)}"}`;
          await Deno.writeTextFile(`${root}/large.json`, large);
          const { status } = await post(`@${root}/large.json`);
          assert.ok(front.tooLarge.includes(status), String(status));
        });
        await t.step("without the gateway nothing is said to be taken", async () => {
          await gateway.kill();
          assert.equal((await post(JSON.stringify(messageOf(kit)))).status, 502);
        });
      } finally {
        await gateway.kill();
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}
