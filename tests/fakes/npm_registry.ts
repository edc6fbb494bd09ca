/**
 * A package registry on loopback with packages made in memory: packuments, tarballs, and the faults
 * of a real registry. It records the requests.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** One version of a package: its files by path inside the package. */
export interface FakePackage {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly description?: string;
  readonly files: Readonly<Record<string, string>>;
  /** Tarball entries with names and types that no packer writes. */
  readonly odd?: readonly OddEntry[];
}

/** One tarball entry; `name` is written verbatim. */
export interface OddEntry {
  readonly name: string;
  readonly kind: "file" | "link" | "hard-link" | "folder";
  readonly target?: string;
  /** Size in bytes; the content is all zeros. */
  readonly size?: number;
}

/** A running registry. */
export interface NpmRegistry extends AsyncDisposable {
  /** Base URL with a final slash. */
  readonly url: string;
  /** Requested paths, in order. */
  readonly requests: readonly string[];
  /** From now on, serves bytes that do not match the packument. */
  alter(name: string, version: string): void;
  /** Never answers requests whose path contains `path`. */
  stall(path: string): void;
  /** From now on, replaces metadata of a version. */
  lie(name: string, version: string, about: Readonly<Record<string, unknown>>): void;
}

const BLOCK = 512;
const encoder = new TextEncoder();

/** Starts a registry with these packages. */
export async function npmRegistry(packages: readonly FakePackage[]): Promise<NpmRegistry> {
  const tarballs = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const one of packages) {
    tarballs.set(`${one.name}@${one.version}`, await tarballOf(one));
  }
  const altered = new Set<string>();
  const requests: string[] = [];
  const lies = new Map<string, Readonly<Record<string, unknown>>>();
  let stalled: string | undefined;
  const integrity = new Map(
    [...tarballs].map(([key, bytes]) => [
      key,
      `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
    ]),
  );
  const stop = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: stop.signal, onListen() {} },
    (request) => {
      const { pathname, origin } = new URL(request.url);
      const path = decodeURIComponent(pathname).slice(1);
      requests.push(path);
      if (stalled !== undefined && path.includes(stalled)) return new Promise<Response>(() => {});
      const tarball = /^(.+)\/-\/[^/]+-(\d[^/]*)\.tgz$/.exec(path);
      if (tarball !== null) {
        const key = `${tarball[1]}@${tarball[2]}`;
        const bytes = tarballs.get(key);
        if (bytes === undefined) return new Response("no such tarball", { status: 404 });
        return new Response(altered.has(key) ? flipped(bytes) : bytes);
      }
      const versions = packages.filter((one) => one.name === path);
      if (versions.length === 0) return new Response("{}", { status: 404 });
      return Response.json({
        name: path,
        "dist-tags": { latest: versions.at(-1)?.version },
        versions: Object.fromEntries(versions.map((one) => [one.version, {
          ...metadata(one),
          dist: {
            tarball: `${origin}/${one.name}/-/${one.name.split("/").at(-1)}-${one.version}.tgz`,
            integrity: integrity.get(`${one.name}@${one.version}`),
            ...lies.get(`${one.name}@${one.version}`),
          },
        }])),
      });
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    requests,
    alter: (name, version) => void altered.add(`${name}@${version}`),
    stall: (path) => void (stalled = path),
    lie: (name, version, about) => void lies.set(`${name}@${version}`, about),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.finished;
    },
  };
}

function metadata(one: FakePackage) {
  const { name, version, dependencies = {}, scripts = {}, bin, description } = one;
  const about = { ...(bin ? { bin } : {}), ...(description ? { description } : {}) };
  return {
    name,
    version,
    dependencies,
    scripts,
    ...about,
    hasInstallScript: "postinstall" in scripts,
  };
}

/**
 * Returns the gzip file with one bit of its trailer flipped. A changed header comment would go
 * unnoticed.
 */
function flipped(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes);
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
}

async function tarballOf(one: FakePackage): Promise<Uint8Array<ArrayBuffer>> {
  const files = { "package.json": JSON.stringify(metadata(one)), ...one.files };
  const parts = Object.entries(files).flatMap(([path, text]) => {
    const data = encoder.encode(text);
    return [header(`package/${path}`, data.length), padded(data)];
  });
  const odd = (one.odd ?? []).flatMap((entry) => [
    header(entry.name, entry.size ?? 0, entry),
    new Uint8Array(Math.ceil((entry.size ?? 0) / BLOCK) * BLOCK),
  ]);
  const tar = new Blob([...parts, ...odd, new Uint8Array(2 * BLOCK)]);
  const gzip = tar.stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(gzip).arrayBuffer());
}

function padded(data: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(Math.ceil(data.length / BLOCK) * BLOCK);
  whole.set(data);
  return whole;
}

/** Returns a ustar header. */
function header(path: string, size: number, odd?: OddEntry): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(BLOCK);
  const put = (text: string, at: number) => bytes.set(encoder.encode(text), at);
  put(path, 0);
  put("0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${size.toString(8).padStart(11, "0")}\0`, 124);
  put("00000000000\0", 136);
  put("        ", 148);
  put({ file: "0", "hard-link": "1", link: "2", folder: "5" }[odd?.kind ?? "file"], 156);
  put(odd?.target ?? "", 157);
  put("ustar\x0000", 257);
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return bytes;
}
