/**
 * The HTTPS front of the login proxy as text, for the two Debian servers of docs/login.md.
 * `webview-login front` and `webview-login install --front` print it. Writes nothing and manages no
 * server. No I/O.
 *
 * @module
 */

/** The supported servers. */
export type FrontKind = "nginx" | "caddy";

/** The inputs of a front. */
export interface FrontInputs {
  /** Address of the cockpit in browsers, https. */
  readonly url: URL;
  /** `host:port` of the login proxy, seen from the same host. */
  readonly upstream: string;
}

/** Returns whether a text names a supported server. */
export function isFrontKind(text: string | undefined): text is FrontKind {
  return text === "nginx" || text === "caddy";
}

/**
 * Returns the address of a listener for a front on the same host: loopback if it listens on all
 * addresses.
 */
export function frontUpstream(listen: string): string {
  return listen.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:");
}

/** Returns the block for a server, ready to paste into its site configuration. */
export function printFront(kind: FrontKind, inputs: FrontInputs): string {
  return kind === "nginx" ? nginx(inputs) : caddy(inputs);
}

function nginx({ url, upstream }: FrontInputs): string {
  const [name = ""] = url.hostname.split(".");
  return `map $http_upgrade $connection_upgrade {
  default upgrade;
  "" "";
}
server {
  listen ${url.port === "" ? "443" : url.port} ssl http2;
  server_name ${url.hostname};
  ssl_certificate /etc/ssl/${name}.pem;
  ssl_certificate_key /etc/ssl/${name}.key;
  client_max_body_size 16m;
  location / {
    proxy_pass http://${upstream};
    proxy_http_version 1.1;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header X-Forwarded-Proto https;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection $connection_upgrade;
    proxy_buffering off;
    proxy_request_buffering off;
    proxy_read_timeout 1h;
    gzip off;
  }
}
`;
}

function caddy({ url, upstream }: FrontInputs): string {
  return `${url.host} {
  reverse_proxy ${upstream} {
    flush_interval -1
  }
}
`;
}
