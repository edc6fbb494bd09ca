/**
 * The peers of `./dev bench login`: proxies from Debian and npm in front of one upstream, each with
 * the sign-in that its users choose. The bench installs them; tests never do.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { programPath } from "tests/support/machine.ts";
import { freePort } from "tests/support/free_port.ts";

/** A running peer. */
export interface Peer {
  readonly name: string;
  readonly port: number;
  readonly pids: readonly number[];
  /** Headers of a signed-in user. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The inputs for starting peers. */
export interface Ground {
  readonly folder: string;
  readonly upstream: number;
  /** Address of an OpenID provider that admits everyone at once. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Registers a cleanup for the end of the bench. */
  readonly onEnd: (end: () => void) => void;
}

const PACKAGES = [
  ["nginx", "nginx"],
  ["apache2", "apache2"],
  ["caddy", "caddy"],
  ["node", "nodejs"],
] as const;

/** Installs what is missing, without starting any service. */
export async function installPeers(): Promise<void> {
  const missing: string[] = [];
  for (const [program, name] of PACKAGES) {
    if (await programPath(program) === undefined) missing.push(name);
  }
  const module = "/usr/lib/apache2/modules/mod_auth_openidc.so";
  if (!await Deno.stat(module).then(() => true, () => false)) {
    missing.push("libapache2-mod-auth-openidc");
  }
  if (missing.length === 0) return;
  const { success } = await new Deno.Command("apt-get", {
    args: ["install", "-y", "--no-install-recommends", ...missing],
    env: { DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
    stdout: "null",
  }).output();
  if (!success) console.error(`not installed: ${missing.join(" ")}`);
}

/** Starts a program and waits until its port answers. */
export async function start(
  command: string,
  args: readonly string[],
  of: {
    readonly port: number;
    readonly ground: Pick<Ground, "onEnd" | "folder">;
    readonly env?: Readonly<Record<string, string>>;
  },
): Promise<number> {
  const child = new Deno.Command(command, {
    args: [...args],
    cwd: of.ground.folder,
    ...defined({ env: of.env }),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  of.ground.onEnd(() => {
    try {
      child.kill("SIGTERM");
    } catch {
      // The program has ended.
    }
  });
  for (let tries = 0; tries < 200; tries++) {
    try {
      (await Deno.connect({ hostname: "127.0.0.1", port: of.port })).close();
      return child.pid;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  throw new Error(`${command} does not listen`);
}

/** A typical verifier for `auth_request`: an HMAC over a cookie, on Node. */
const VERIFIER = `
const http = require("node:http"), crypto = require("node:crypto");
const key = "a-key-of-the-bench";
http.createServer((request, response) => {
  const value = /(?:^|; )s=([^;]*)/.exec(request.headers.cookie ?? "")?.[1] ?? "";
  const [text = "", mac = ""] = value.split(".");
  const want = crypto.createHmac("sha256", key).update(text).digest("base64url");
  const isGood = mac.length === want.length &&
    crypto.timingSafeEqual(Buffer.from(mac), Buffer.from(want));
  response.writeHead(isGood ? 200 : 401, { "x-user-email": text }).end();
}).listen(Number(process.argv[2]), "127.0.0.1");
`;

async function verifierCookie(): Promise<string> {
  const key = await crypto.subtle.importKey(
    "raw",
    new TextEncoder().encode("a-key-of-the-bench"),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["sign"],
  );
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode("mia"));
  return `s=mia.${new Uint8Array(mac).toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

async function startVerifier(ground: Ground): Promise<{ port: number; pid: number }> {
  const file = `${ground.folder}/verifier.cjs`;
  await Deno.writeTextFile(file, VERIFIER);
  const port = freePort();
  return { port, pid: await start("node", [file, String(port)], { port, ground }) };
}

/** nginx without and with `auth_request`. */
export async function startNginx(ground: Ground, isGuarded: boolean): Promise<Peer> {
  const port = freePort();
  const verifier = isGuarded ? await startVerifier(ground) : undefined;
  const folder = await Deno.makeTempDir({ dir: ground.folder });
  await Deno.writeTextFile(
    `${folder}/nginx.conf`,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 1024; }
http {
  access_log off; keepalive_requests 100000000; client_body_temp_path ${folder}/a;
  proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d;
  scgi_temp_path ${folder}/e;
  upstream cockpit { server 127.0.0.1:${ground.upstream}; keepalive 64; }
  upstream verifier { server 127.0.0.1:${verifier?.port ?? 1}; keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    proxy_http_version 1.1; proxy_set_header Connection "";
    location / {
      ${
      isGuarded
        ? "auth_request /verify; auth_request_set $who $upstream_http_x_user_email; " +
          "proxy_set_header X-User-Email $who;"
        : ""
    }
      proxy_pass http://cockpit;
    }
    location = /verify {
      internal; proxy_pass http://verifier; proxy_pass_request_body off;
      proxy_set_header Content-Length ""; proxy_set_header Connection "";
    }
  }
}`,
  );
  const pid = await start("nginx", ["-c", `${folder}/nginx.conf`, "-p", folder], { port, ground });
  return {
    name: isGuarded ? "nginx `auth_request` with a Node verifier" : "nginx, plain",
    port,
    pids: verifier === undefined ? [pid] : [pid, verifier.pid],
    headers: isGuarded ? { cookie: await verifierCookie() } : {},
  };
}

/** Apache without and with mod_auth_openidc. */
export async function startApache(ground: Ground, isGuarded: boolean): Promise<Peer> {
  const port = freePort();
  const folder = await Deno.makeTempDir({ dir: ground.folder });
  await Deno.chmod(folder, 0o755);
  const modules = [
    "mpm_event",
    "authz_core",
    "authn_core",
    "authz_user",
    "proxy",
    "proxy_http",
    ...(isGuarded ? ["auth_openidc"] : []),
  ];
  const oidc = `
OIDCProviderMetadataURL ${ground.issuer}/.well-known/openid-configuration
OIDCClientID ${ground.clientId}
OIDCClientSecret ${ground.clientSecret}
OIDCRedirectURI http://localhost:${port}/auth/callback
OIDCCryptoPassphrase a-passphrase-of-the-bench
OIDCSSLValidateServer Off
OIDCPKCEMethod S256
OIDCCacheType shm
<Location />
  AuthType openid-connect
  Require valid-user
</Location>`;
  await Deno.writeTextFile(
    `${folder}/httpd.conf`,
    `ServerRoot ${folder}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${folder}/pid
ErrorLog ${folder}/error.log
LogLevel warn
User www-data
Group www-data
${
      modules.map((one) => `LoadModule ${one}_module /usr/lib/apache2/modules/mod_${one}.so`).join(
        "\n",
      )
    }
KeepAlive On
MaxKeepAliveRequests 0
ProxyPass / http://127.0.0.1:${ground.upstream}/
${isGuarded ? oidc : "<Location />\n  Require all granted\n</Location>"}
`,
  );
  const pid = await start("apache2", ["-f", `${folder}/httpd.conf`, "-DFOREGROUND"], {
    port,
    ground,
  });
  return {
    name: isGuarded ? "Apache with mod_auth_openidc" : "Apache, plain",
    port,
    pids: [pid],
    headers: isGuarded ? { cookie: await signedIn(port) } : {},
  };
}

/** Caddy without and with `forward_auth`. */
export async function startCaddy(ground: Ground, isGuarded: boolean): Promise<Peer> {
  const port = freePort();
  const verifier = isGuarded ? await startVerifier(ground) : undefined;
  const folder = await Deno.makeTempDir({ dir: ground.folder });
  const guard = `forward_auth 127.0.0.1:${verifier?.port ?? 1} {
    uri /verify
    copy_headers X-User-Email
  }`;
  await Deno.writeTextFile(
    `${folder}/Caddyfile`,
    `{
  admin off
  auto_https off
}
http://127.0.0.1:${port}, http://localhost:${port} {
  ${isGuarded ? guard : ""}
  reverse_proxy 127.0.0.1:${ground.upstream}
}
`,
  );
  const pid = await start("caddy", ["run", "--config", `${folder}/Caddyfile`], {
    port,
    ground,
    env: { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  return {
    name: isGuarded ? "Caddy `forward_auth` with a Node verifier" : "Caddy, plain",
    port,
    pids: verifier === undefined ? [pid] : [pid, verifier.pid],
    headers: isGuarded ? { cookie: await verifierCookie() } : {},
  };
}

/** `express-openid-connect` in front of `http-proxy`, both from npm, on Node. */
export async function startExpress(ground: Ground): Promise<Peer> {
  const port = freePort();
  const folder = await Deno.makeTempDir({ dir: ground.folder });
  await Deno.writeTextFile(`${folder}/package.json`, '{"private":true}');
  const install = await new Deno.Command("npm", {
    args: [
      ..."install --no-audit --no-fund --ignore-scripts".split(" "),
      ..."express@4.22.1 express-openid-connect@3.4.0 http-proxy@1.18.1".split(" "),
    ],
    cwd: folder,
    stdout: "null",
    stderr: "null",
  }).output();
  if (!install.success) throw new Error("npm could not install express-openid-connect");
  await Deno.writeTextFile(
    `${folder}/app.cjs`,
    `
const express = require("express"), { auth } = require("express-openid-connect");
const http = require("node:http");
const agent = new http.Agent({ keepAlive: true });
const proxy = require("http-proxy").createProxyServer({ agent });
const app = express();
app.use(auth({
  issuerBaseURL: ${JSON.stringify(ground.issuer)},
  baseURL: "http://localhost:${port}",
  clientID: ${JSON.stringify(ground.clientId)},
  clientSecret: ${JSON.stringify(ground.clientSecret)},
  secret: "a-long-secret-of-the-bench-0000000000",
  idTokenSigningAlg: "ES256",
  authorizationParams: { response_type: "code", scope: "openid email" },
  routes: { callback: "/auth/callback" },
}));
app.use((request, response) => {
  request.headers["x-user-email"] = request.oidc.user.email;
  proxy.web(request, response, { target: "http://127.0.0.1:${ground.upstream}" });
});
app.listen(${port}, "127.0.0.1");
`,
  );
  const pid = await start("node", [`${folder}/app.cjs`], {
    port,
    ground,
    env: { NODE_ENV: "production" },
  });
  return {
    name: "express-openid-connect with http-proxy",
    port,
    pids: [pid],
    headers: { cookie: await signedIn(port) },
  };
}

/** Signs in like a browser: follows every redirect and keeps every cookie; returns the cookies. */
export async function signedIn(port: number, at = "/"): Promise<string> {
  const jar = new Map<string, string>();
  let address = `http://localhost:${port}${at}`;
  for (let hop = 0; hop < 12; hop++) {
    const isOwn = new URL(address).port === String(port);
    const answer = await fetch(address, {
      redirect: "manual",
      headers: {
        accept: "text/html",
        ...(isOwn
          ? { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") }
          : {}),
      },
    });
    await answer.body?.cancel();
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") jar.delete(name);
      else jar.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location === null) {
      if (answer.status !== 200) throw new Error(`the sign-in ends with ${answer.status}`);
      return [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    }
    address = new URL(location, address).href;
  }
  throw new Error("the sign-in never ends");
}
