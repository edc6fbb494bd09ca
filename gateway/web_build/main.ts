/**
 * Builds the page: writes `main.ts`, its parts and the styles into hashed files, each with a gzip
 * and a brotli form, and `web.json`, which lists what the gateway serves. Does nothing when the
 * existing build has the same sources. Downloads nothing.
 *
 * Argument: the folder to write, absolute. It is replaced as a whole.
 *
 * @module
 */

import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const WEB = new URL("../web/", import.meta.url).pathname;
const TREE = new URL("../..", import.meta.url).pathname;
/** Order matters: `base.css` declares the layers. */
const STYLES = [
  "base",
  "layout",
  "list",
  "transcript",
  "prose",
  "composer",
  "approvals",
  "questions",
  "hosts",
  "forms",
  "modes",
];

const decoder = new TextDecoder();
const encoder = new TextEncoder();

function fail(line: string): never {
  console.error(`dev: ${line}`);
  Deno.exit(1);
}

async function hash(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory) found.push(...await listFiles(`${path}/`));
    else found.push(path);
  }
  return found.sort();
}

/** Files outside the page's folder that its scripts import. A part also imports the page. */
async function sharedFiles(): Promise<readonly string[]> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", `${WEB}hosts/main.ts`],
    cwd: TREE,
    env: { NO_COLOR: "1" },
  }).output();
  if (!output.success) {
    fail(`Cannot list the page's files: ${decoder.decode(output.stderr).trim()}`);
  }
  const { modules } = JSON.parse(decoder.decode(output.stdout)) as {
    readonly modules: readonly { readonly specifier: string }[];
  };
  return modules.filter(({ specifier }) => specifier.startsWith("file:"))
    .map(({ specifier }) => new URL(specifier).pathname)
    .filter((path) => path.startsWith(TREE) && !path.startsWith(WEB)).sort();
}

/** Lists all files that the result depends on. */
export async function sourceFiles(): Promise<readonly string[]> {
  const builder = new URL(import.meta.url).pathname;
  return [...await listFiles(WEB), ...await sharedFiles(), builder, `${TREE}deno.lock`];
}

async function sourceHash(): Promise<string> {
  const parts: string[] = [Deno.version.deno];
  for (const path of await sourceFiles()) {
    parts.push(`${path.slice(TREE.length)} ${await hash(await Deno.readFile(path))}`);
  }
  return await hash(encoder.encode(parts.join("\n")));
}

interface Scripts {
  /**
   * The page's script, with all code that other parts share, so that the page starts from one
   * file.
   */
  readonly page: Uint8Array<ArrayBuffer>;
  /** The hosts part, which imports the page by `PAGE_NAME`. */
  readonly hosts: string;
}

/** Placeholder in the parts for the URL of the page's script. */
const PAGE_NAME = "{page}";

/**
 * Bundles the page and its parts. Each part imports `main.ts`, so all of the page is shared code.
 * The bundler puts shared code into one chunk, which is the script that the page loads.
 */
async function bundleScripts(parent: string): Promise<Scripts> {
  const folder = await Deno.makeTempDir({ dir: parent, prefix: "web-" });
  try {
    const output = await new Deno.Command(Deno.execPath(), {
      args: [
        "bundle",
        "-q",
        "--platform",
        "browser",
        "--minify",
        "--code-splitting",
        "--outdir",
        folder,
        `${WEB}main.ts`,
        `${WEB}hosts/main.ts`,
      ],
      cwd: TREE,
      env: { NO_COLOR: "1" },
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (!output.success) fail(`Cannot bundle the page: ${decoder.decode(output.stderr).trim()}`);
    const chunks = [...Deno.readDirSync(folder)].map(({ name }) => name)
      .filter((name) => name.startsWith("chunk-"));
    const chunk = chunks[0] ?? "";
    const main = await Deno.readTextFile(`${folder}/main.js`);
    if (chunks.length !== 1 || main.trim() !== `import"./${chunk}";`) {
      fail(`Cannot bundle the page: it is ${chunks.length} chunks, must be one`);
    }
    const hosts = await Deno.readTextFile(`${folder}/hosts/main.js`);
    return {
      page: await Deno.readFile(`${folder}/${chunk}`),
      hosts: hosts.replaceAll(`"../${chunk}"`, `"${PAGE_NAME}"`),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Joins the styles without comments and needless space. Strings in them must not contain either.
 */
async function joinStyles(): Promise<string> {
  const texts = await Promise.all(
    STYLES.map((name) => Deno.readTextFile(`${WEB}style/${name}.css`)),
  );
  return texts.join("\n")
    .replace(/\/\*[^]*?\*\//g, "")
    .replace(/\s+/g, " ")
    .replace(/\s*([{};,])\s*/g, "$1")
    .replace(/;}/g, "}")
    .trim();
}

interface Built {
  /** Path of its URL. */
  readonly path: string;
  /** Name below the folder; its compressed forms end in `.gz` and `.br`. */
  readonly file: string;
  readonly type: string;
  /** Its name contains a hash of its content, so the content never changes. */
  readonly isHashed: boolean;
}

async function build(out: string, source: string): Promise<void> {
  const stage = `${out}.new`;
  await Deno.remove(stage, { recursive: true }).catch(() => {});
  await Deno.mkdir(stage, { recursive: true });
  const files: Built[] = [];
  const add = async (built: Omit<Built, "file">, bytes: Uint8Array<ArrayBuffer>) => {
    const file = built.path.split("/").at(-1) ?? "";
    await Deno.writeFile(`${stage}/${file}`, bytes);
    await Deno.writeFile(`${stage}/${file}.gz`, gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    await Deno.writeFile(`${stage}/${file}.br`, brotliCompressSync(bytes, { params }));
    files.push({ ...built, file });
    return built.path;
  };
  const { page: script, hosts } = await bundleScripts(out.slice(0, out.lastIndexOf("/")));
  const style = encoder.encode(await joinStyles());
  const icon = (await Deno.readTextFile(`${WEB}icon.svg`)).trim();
  const scriptPath = await add({
    path: `/assets/page-${(await hash(script)).slice(0, 16)}.js`,
    type: "text/javascript; charset=utf-8",
    isHashed: true,
  }, script);
  const part = encoder.encode(
    hosts.replaceAll(PAGE_NAME, `.${scriptPath.slice("/assets".length)}`),
  );
  const hostsPath = await add({
    path: `/assets/hosts-${(await hash(part)).slice(0, 16)}.js`,
    type: "text/javascript; charset=utf-8",
    isHashed: true,
  }, part);
  const stylePath = await add({
    path: `/assets/page-${(await hash(style)).slice(0, 16)}.css`,
    type: "text/css; charset=utf-8",
    isHashed: true,
  }, style);
  await add(
    { path: "/icon.svg", type: "image/svg+xml", isHashed: false },
    encoder.encode(`${icon}\n`),
  );
  await add({
    path: "/manifest.webmanifest",
    type: "application/manifest+json",
    isHashed: false,
  }, encoder.encode(manifest()));
  const page = (await Deno.readTextFile(`${WEB}page.html`))
    .replace("{icon}", `data:image/svg+xml,${encodeURIComponent(icon)}`)
    .replace("{style}", stylePath)
    .replace("{script}", scriptPath)
    .replace("{hosts}", hostsPath);
  await Deno.writeTextFile(`${stage}/page.html`, page);
  // Written last, so that a folder with this file is complete.
  await Deno.writeTextFile(`${stage}/web.json`, `${JSON.stringify({ source, files }, null, 2)}\n`);
  await Deno.remove(out, { recursive: true }).catch(() => {});
  await Deno.rename(stage, out);
}

function manifest(): string {
  return JSON.stringify({
    name: "fleetctl",
    short_name: "fleetctl",
    start_url: "/",
    display: "standalone",
    background_color: "#161614",
    theme_color: "#161614",
    icons: [{ src: "/icon.svg", sizes: "any", type: "image/svg+xml" }],
  });
}

async function main(): Promise<void> {
  const out = Deno.args[0];
  if (out === undefined || !out.startsWith("/") || Deno.args.length !== 1) {
    console.error("usage: gateway/web_build/main.ts FOLDER");
    Deno.exit(2);
  }
  const source = await sourceHash();
  const before = await Deno.readTextFile(`${out}/web.json`).catch(() => "{}");
  if ((JSON.parse(before) as { readonly source?: string }).source !== source) {
    await build(out, source);
  }
}

if (import.meta.main) await main();
