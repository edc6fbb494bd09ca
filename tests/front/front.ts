/**
 * The HTTPS fronts of the documentation as running programs: Debian's nginx and Caddy, with the
 * block of a page. Only addresses and certificate differ from the page. Requests go through TLS,
 * from curl and from hand-written bytes.
 *
 * @module
 */

import assert from "node:assert/strict";
import { TREE } from "tests/support/module_graph.ts";

/** The inputs of a front. */
export interface FrontSite {
  /** Page of the documentation with one block for each front. */
  readonly page: string;
  readonly host: string;
  /** Certificate and key in the block are `/etc/ssl/<certificate>.pem` and `.key`. */
  readonly certificate: string;
  /** The address to which the block passes requests. */
  readonly upstream: string;
}

/** A program that can be the front. */
export interface Front {
  readonly name: "nginx" | "Caddy";
  readonly language: string;
  readonly config: (block: string, site: FrontSite, at: Place) => string;
  readonly command: (file: string) => readonly [string, ...string[]];
}

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly upstream: string;
}

/** The fronts of the documentation. */
export const FRONTS: readonly Front[] = [
  {
    name: "nginx",
    language: "nginx",
    config: (block, site, { folder, port, upstream }) =>
      `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 256; }
http {
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b;
  fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
${
        block.replace("listen 443", `listen 127.0.0.1:${port}`)
          .replaceAll(`/etc/ssl/${site.certificate}`, `${folder}/${site.certificate}`)
          .replaceAll(site.upstream, upstream)
      }
}
`,
    command: (file) => ["nginx", "-c", file],
  },
  {
    name: "Caddy",
    language: "caddyfile",
    config: (block, { host, certificate, upstream: documented }, { folder, port, upstream }) =>
      `{
  admin off
  auto_https off
  skip_install_trust
}
${
        block.replace(
          `${host} {`,
          `https://${host}:${port} {\n  bind 127.0.0.1\n` +
            `  tls ${folder}/${certificate}.pem ${folder}/${certificate}.key`,
        ).replaceAll(documented, upstream)
      }
`,
    command: (file) => ["caddy", "run", "--adapter", "caddyfile", "--config", file],
  },
];

/** A running front; disposing of it stops it. */
export class RunningFront implements AsyncDisposable {
  readonly port: number;
  readonly #site: FrontSite;
  readonly #folder: string;
  readonly #child: Deno.ChildProcess;
  readonly #errors: Promise<string>;

  private constructor(site: FrontSite, place: Place, child: Deno.ChildProcess) {
    this.port = place.port;
    this.#site = site;
    this.#folder = place.folder;
    this.#child = child;
    this.#errors = new Response(child.stderr).text();
  }

  /** Starts a front of a page before `upstream`, a `host:port`. */
  static async start(front: Front, site: FrontSite, upstream: string): Promise<RunningFront> {
    const folder = await Deno.makeTempDir({ prefix: "front-" });
    await Deno.chmod(folder, 0o755);
    await run("openssl", [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-subj",
      `/CN=${site.host}`,
      "-addext",
      `subjectAltName=DNS:${site.host}`,
      "-addext",
      "basicConstraints=critical,CA:FALSE",
      "-keyout",
      `${folder}/${site.certificate}.key`,
      "-out",
      `${folder}/${site.certificate}.pem`,
    ]);
    const place = { folder, port: freePort(), upstream };
    const file = `${folder}/front.conf`;
    const block = await documented(site.page, front.language);
    await Deno.writeTextFile(file, front.config(block, site, place));
    const [command, ...args] = front.command(file);
    const child = new Deno.Command(command, {
      args,
      env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const running = new RunningFront(site, place, child);
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

  /**
   * Sends one request by curl with further arguments; returns curl's output, whatever its exit
   * code.
   */
  async curl(path: string, more: readonly string[]): Promise<string> {
    const { host, certificate } = this.#site;
    const { stdout } = await output("curl", [
      "-sS",
      "--path-as-is",
      "--cacert",
      `${this.#folder}/${certificate}.pem`,
      "--connect-to",
      `${host}:443:127.0.0.1:${this.port}`,
      ...more,
      `https://${host}${path}`,
    ]);
    return stdout;
  }

  /** Sends bytes over TLS; returns everything received until the front closed the connection. */
  async raw(text: string): Promise<string> {
    const { host, certificate } = this.#site;
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.port });
    const tls = await Deno.startTls(connection, {
      hostname: host,
      caCerts: [await Deno.readTextFile(`${this.#folder}/${certificate}.pem`)],
      alpnProtocols: ["http/1.1"],
    });
    await tls.write(new TextEncoder().encode(text));
    return await new Response(tls.readable).text().catch(() => "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
    await this.#errors;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

/** Returns the fenced block of a page in a language. */
async function documented(page: string, language: string): Promise<string> {
  const text = await Deno.readTextFile(`${TREE}${page}`);
  const blocks = [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)]
    .filter(([, name]) => name === language);
  assert.equal(blocks.length, 1, `blocks in ${language} of ${page}`);
  return blocks[0]?.[2] ?? "";
}

async function output(command: string, args: readonly string[]) {
  const decoder = new TextDecoder();
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const { success, stderr } = await output(command, args);
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}
