/**
 * An index of Python packages on loopback (PEP 503 and PEP 691) with wheels made in memory, and the
 * faults of a real index. It records the requests.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";

/** One version of a package. */
export interface FakeWheel {
  readonly name: string;
  readonly version: string;
  /** Files of the wheel by path. */
  readonly files: Readonly<Record<string, string>>;
  readonly requires?: readonly string[];
  /** `console_scripts`: name and `module:function`. */
  readonly scripts?: Readonly<Record<string, string>>;
  readonly summary?: string;
  /** Served as a source distribution, which cannot be installed without running its build. */
  readonly isSource?: boolean;
  /** Archive members with names, modes and sizes that no builder writes. */
  readonly odd?: readonly OddMember[];
}

/** A member of the archive; `name` is written verbatim. */
export interface OddMember {
  readonly name: string;
  readonly text?: string;
  /** Unpacked size in bytes; the content is all zeros. */
  readonly size?: number;
  /** Unix mode, which can also mark a link. */
  readonly mode?: number;
}

/** A running index. */
export interface PythonIndex extends AsyncDisposable {
  /** Base URL with a final slash. */
  readonly url: string;
  /** Requested paths, in order. */
  readonly requests: readonly string[];
  /** From now on, serves other bytes for a package under the same name and announced hash. */
  alter(name: string): void;
  /** From now on, serves other bytes and announces their hash. */
  replace(name: string): void;
  /** Never answers requests whose path contains `path`. */
  stall(path: string): void;
}

const encoder = new TextEncoder();

/** Starts an index with these packages. */
export async function pythonIndex(packages: readonly FakeWheel[]): Promise<PythonIndex> {
  const archives = new Map<string, Uint8Array<ArrayBuffer>>();
  for (const one of packages) archives.set(fileOf(one), await archiveOf(one));
  const altered = new Set<string>();
  const replaced = new Set<string>();
  const requests: string[] = [];
  let stalled: string | undefined;
  const bytesOf = (one: FakeWheel, isServed: boolean) => {
    const bytes = archives.get(fileOf(one)) ?? new Uint8Array();
    const isOther = replaced.has(one.name) || (isServed && altered.has(one.name));
    return isOther ? commented(bytes) : bytes;
  };
  const stop = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, signal: stop.signal, onListen() {} },
    (request) => {
      const path = decodeURIComponent(new URL(request.url).pathname).slice(1);
      requests.push(path);
      if (stalled !== undefined && path.includes(stalled)) return new Promise<Response>(() => {});
      const wanted = packages.find((one) => path === `files/${fileOf(one)}`);
      if (wanted !== undefined) return new Response(bytesOf(wanted, true));
      const name = path.replace(/\/$/, "");
      const known = packages.filter((one) => one.name === name);
      if (known.length === 0) return new Response("not here", { status: 404 });
      return page(request, name, known.map((one) => ({ one, bytes: bytesOf(one, false) })));
    },
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}/`,
    requests,
    alter: (name) => void altered.add(name),
    replace: (name) => void replaced.add(name),
    stall: (path) => void (stalled = path),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await server.finished;
    },
  };
}

function page(
  request: Request,
  name: string,
  known: readonly { readonly one: FakeWheel; readonly bytes: Uint8Array }[],
): Response {
  const files = known.map(({ one, bytes }) => ({
    filename: fileOf(one),
    url: `../files/${fileOf(one)}`,
    hashes: { sha256: createHash("sha256").update(bytes).digest("hex") },
  }));
  const json = "application/vnd.pypi.simple.v1+json";
  if (request.headers.get("accept")?.includes(json)) {
    const body = { meta: { "api-version": "1.0" }, name, files };
    return new Response(JSON.stringify(body), { headers: { "content-type": json } });
  }
  const links = files.map(({ filename, url, hashes }) =>
    `<a href="${url}#sha256=${hashes.sha256}">${filename}</a>`
  );
  return new Response(`<!DOCTYPE html><body>${links.join("\n")}</body>`, {
    headers: { "content-type": "text/html" },
  });
}

function fileOf({ name, version, isSource }: FakeWheel): string {
  const stem = `${name.replaceAll("-", "_")}-${version}`;
  return isSource ? `${stem}.tar.gz` : `${stem}-py3-none-any.whl`;
}

/** Returns the same archive with a comment at its end: other bytes and hash, still valid. */
function commented(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const longer = new Uint8Array(bytes.length + 1);
  longer.set(bytes);
  longer[bytes.length - 2] = 1;
  longer[bytes.length] = 0x21;
  return longer;
}

async function archiveOf(one: FakeWheel): Promise<Uint8Array<ArrayBuffer>> {
  if (one.isSource) return new Uint8Array([0x1f, 0x8b, 8, 0]);
  const info = `${one.name.replaceAll("-", "_")}-${one.version}.dist-info`;
  const scripts = Object.entries(one.scripts ?? {}).map(([name, at]) => `${name} = ${at}\n`);
  const metadata = [
    "Metadata-Version: 2.1",
    `Name: ${one.name}`,
    `Version: ${one.version}`,
    `Summary: ${one.summary ?? "UNKNOWN"}`,
    ...(one.requires ?? []).map((text) => `Requires-Dist: ${text}`),
  ];
  const files: Record<string, string> = {
    ...one.files,
    [`${info}/METADATA`]: `${metadata.join("\n")}\n`,
    [`${info}/WHEEL`]:
      "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    ...(scripts.length === 0
      ? {}
      : { [`${info}/entry_points.txt`]: `[console_scripts]\n${scripts.join("")}` }),
  };
  const record = Object.entries(files).map(([path, text]) => {
    const hash = createHash("sha256").update(text).digest("base64url");
    return `${path},sha256=${hash},${encoder.encode(text).length}\n`;
  });
  files[`${info}/RECORD`] = `${record.join("")}${info}/RECORD,,\n`;
  const members = [
    ...Object.entries(files).map(([name, text]) => ({ name, text })),
    ...one.odd ?? [],
  ];
  return await zipOf(members);
}

/** Returns a ZIP archive (PKWARE APPNOTE 6.3) with every member deflated. */
async function zipOf(members: readonly OddMember[]): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { name, text = "", size, mode = 0o100644 } of members) {
    const data = size === undefined ? encoder.encode(text) : new Uint8Array(size);
    const packed = await deflate(data);
    const path = encoder.encode(name);
    const shared = fields([[20, 2], [0, 2], [8, 2], [0, 2], [0x21, 2]])
      .concat(fields([[crc32(data), 4], [packed.length, 4], [data.length, 4], [path.length, 2]]));
    const local = Uint8Array.from([0x50, 0x4b, 3, 4, ...shared, 0, 0, ...path]);
    directory.push(
      Uint8Array.from([
        0x50,
        0x4b,
        1,
        2,
        20,
        3,
        ...shared,
        ...fields([[0, 2], [0, 2], [0, 2], [0, 2], [mode * 0x10000, 4], [offset, 4]]),
        ...path,
      ]),
    );
    parts.push(local, packed);
    offset += local.length + packed.length;
  }
  const size = directory.reduce((sum, one) => sum + one.length, 0);
  const end = Uint8Array.from([
    0x50,
    0x4b,
    5,
    6,
    ...fields([[0, 2], [0, 2], [members.length, 2], [members.length, 2]]),
    ...fields([[size, 4], [offset, 4], [0, 2]]),
  ]);
  return new Uint8Array(await new Blob([...parts, ...directory, end]).arrayBuffer());
}

/** Returns the values as little-endian numbers of the given widths in bytes. */
function fields(values: readonly (readonly [value: number, bytes: number])[]): number[] {
  return values.flatMap(([value, bytes]) =>
    Array.from({ length: bytes }, (_, at) => Math.floor(value / 2 ** (8 * at)) % 256)
  );
}

async function deflate(data: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([data]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}
