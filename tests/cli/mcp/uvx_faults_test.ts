/**
 * Hostile indexes and wheels, and interrupted installs. Each ends in one refusal, nothing outside
 * the host's folders is written, and a refusal pins nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pythonRefusal } from "core/catalog/python_faults.ts";
import { checkPythonLock, parsePythonLock } from "core/catalog/python_lock.ts";
import { resolvePin } from "core/catalog/resolve.ts";
import type { McpName } from "core/names.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { FileFault } from "core/ports/files.ts";
import { type FakeWheel, type OddMember, pythonIndex } from "tests/fakes/python_index.ts";
import { RPC_WHEEL } from "tests/fakes/python_server.ts";
import type { CatalogHost } from "tests/support/catalog_host.ts";
import { entryOf, pythonCatalog, wiki } from "tests/support/python_catalog.ts";

const MIB = 2 ** 20;
const LINK_MODE = 0o120777;

function withOdd(version: string, ...odd: readonly OddMember[]): FakeWheel {
  return wiki(version, { odd });
}

async function add(host: CatalogHost, pinned = "acme-wiki==1.0.0") {
  const ended = await host.run("mcp", "catalog", "add", "wiki", "--uvx", pinned, "--json");
  const answer = JSON.parse(ended.stdout);
  return { code: ended.code, error: answer.error?.code as string | undefined };
}

async function stages(host: CatalogHost): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(host.paths.deploy("wiki"))) found.push(entry.name);
  return found.filter((name) => name.startsWith(".stage-"));
}

Deno.test("anything but an exact pin of a wheel is refused, and nothing is pinned", async () => {
  await using scene = await pythonCatalog([
    { ...wiki("1.0.0"), isSource: true },
    wiki("1.1.0", { requires: ["acme-missing"] }),
    wiki("1.2.0", { requires: ["acme-rpc>=9"] }),
    wiki("1.3.0"),
  ]);
  const { host } = scene;
  for (
    const [pinned, want] of [
      ["acme-wiki>=1.0.0", "pin-invalid"],
      ["acme-wiki", "pin-invalid"],
      ["acme-wiki==1.*", "pin-invalid"],
      ["--index-url==1.0", "usage"],
      ["acme-nothing==1.0.0", "package-not-found"],
      ["acme-wiki==1.0.0", "package-not-found"],
      ["acme-wiki==1.1.0", "package-not-found"],
      ["acme-wiki==1.2.0", "package-not-found"],
      ["acme-wiki==1.3", "package-unusable"],
    ] as const
  ) {
    const { error } = await add(host, pinned);
    assert.equal(error, want, pinned);
  }
  assert.equal(await entryOf(host, "wiki"), undefined);
  assert.deepEqual(await stages(host), []);
});

Deno.test("a wheel with smuggled members is refused, or installed without them", async () => {
  const outside = "/tmp/fleetctl-smuggled-wheel";
  await using scene = await pythonCatalog([
    withOdd("1.0.0", { name: "../../../../smuggled.py", text: "x" }),
    withOdd("1.0.1", { name: outside, text: "x" }),
    withOdd("1.0.2", { name: "acme_wiki/link.py", text: "/etc/passwd", mode: LINK_MODE }),
    withOdd("1.0.3", { name: "acme_wiki/huge.bin", size: 300 * MIB }),
    withOdd("1.0.4", { name: "acme_wiki-1.0.4.data/scripts/../../../x", text: "x" }),
  ]);
  const { host } = scene;
  assert.equal((await add(host)).error, "package-unusable");
  assert.equal((await add(host, "acme-wiki==1.0.1")).error, "package-unusable");
  assert.equal((await add(host, "acme-wiki==1.0.3")).error, "package-too-large");
  assert.equal((await add(host, "acme-wiki==1.0.4")).error, "install-failed");
  assert.equal(await entryOf(host, "wiki"), undefined);
  await assert.rejects(Deno.stat(outside), Deno.errors.NotFound);
  // A member that is marked as a link becomes a file with the link's text.
  assert.deepEqual(await add(host, "acme-wiki==1.0.2"), { code: 0, error: undefined });
  const [tree = ""] = [...Deno.readDirSync(host.paths.deploy("wiki"))].map(({ name }) => name)
    .filter((name) => /^1\.0\.2-\w+$/.test(name));
  const link = `${host.paths.deploy("wiki")}/${tree}/site/acme_wiki/link.py`;
  assert.ok((await Deno.lstat(link)).isFile);
  assert.equal(await Deno.readTextFile(link), "/etc/passwd");
});

Deno.test("a wheel that requires a source by URL starts no build as root", async () => {
  const folder = await Deno.makeTempDir();
  const source = `${folder}/acme_evil-1.0`;
  await Deno.mkdir(source);
  const build = `open(${JSON.stringify(`${folder}/built`)}, "w").write("x")
from setuptools import setup
setup(name="acme-evil", version="1.0")
`;
  await Deno.writeTextFile(`${source}/setup.py`, build);
  const made = await new Deno.Command("/bin/sh", {
    args: [
      "-ec",
      `tar czf evil.tar.gz acme_evil-1.0; cd acme_evil-1.0; git init -q; git add .
      git -c user.name=a -c user.email=a@b commit -qm a`,
    ],
    cwd: folder,
  }).output();
  assert.ok(made.success);
  const archive = await Deno.readFile(`${folder}/evil.tar.gz`);
  await using own = await pythonIndex([RPC_WHEEL]);
  const wheel = await (await fetch(`${own.url}files/acme_rpc-2.0.1-py3-none-any.whl`)).bytes();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request) => new Response(request.url.endsWith(".whl") ? wheel : archive),
  );
  const at = [
    `http://127.0.0.1:${server.addr.port}/acme_evil-1.0.tar.gz`,
    `file://${folder}/evil.tar.gz`,
    `file://${source}`,
    `git+http://127.0.0.1:${server.addr.port}/acme_evil.git`,
    `http://127.0.0.1:${server.addr.port}/acme_rpc-2.0.1-py3-none-any.whl`,
  ];
  try {
    await using scene = await pythonCatalog(
      at.map((url, n) => {
        const name = url.endsWith(".whl") ? "acme-rpc" : "acme-evil";
        return wiki(`1.0.${n}`, { requires: [`${name} @ ${url}`] });
      }),
    );
    for (const [n, url] of at.entries()) {
      const { error } = await add(scene.host, `acme-wiki==1.0.${n}`);
      assert.equal(error, "package-unusable", url);
      await assert.rejects(Deno.stat(`${folder}/built`), Deno.errors.NotFound, url);
    }
    assert.equal(await entryOf(scene.host, "wiki"), undefined);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("files from a dishonest index fail the hash check", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const { host, index } = scene;
  index.alter("acme-rpc");
  assert.equal((await add(host)).error, "package-altered", "other bytes than announced");
  assert.equal(await entryOf(host, "wiki"), undefined);

  await using second = await pythonCatalog([wiki("1.0.0")]);
  assert.equal((await add(second.host)).error, undefined);
  await Deno.remove(`${second.host.paths.vendorCache}/wiki`, { recursive: true });
  await Deno.remove(second.host.paths.deploy("wiki"), { recursive: true });
  second.index.replace("acme-rpc");
  const wired = await second.host.run("mcp", "add", "wiki", "ada", "--json");
  assert.match(wired.stdout, /package-altered/, "the lock decides, not the index");
});

Deno.test("an index that never answers times out; an unreachable one is reported", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const { host, index } = scene;
  index.stall("acme-wiki/");
  const ports = {
    ...openHost({ log: { program: "test", level: "error" } }),
    trees: denoTrees(),
  };
  const stalled = await resolvePin(
    "wiki" as McpName,
    { kind: "uvx", package: "acme-wiki", version: "1.0.0" },
    ports,
    host.paths,
    { deno: host.paths.deno, env: host.env, onlineMsMax: 2_000 },
  );
  assert.ok(!stalled.ok && stalled.error.code === "registry-unreachable");
  assert.deepEqual(await stages(host), []);
  host.env = { ...host.env, PIP_INDEX_URL: "http://user:hush@127.0.0.1:1/simple/" };
  const gone = await host.run("mcp", "catalog", "add", "wiki", "--uvx", "acme-wiki==1.0.0");
  assert.match(gone.stderr, /the index cannot be reached/);
  assert.doesNotMatch(gone.stdout + gone.stderr, /hush/);
});

Deno.test("a lock that is not a list of pinned wheels is refused at once", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const { host, index } = scene;
  assert.equal((await add(host)).error, undefined);
  const file = `${host.paths.overlayCatalog}/wiki/requirements.lock`;
  const sound = await Deno.readTextFile(file);
  const manifest = await entryOf(host, "wiki");
  assert.ok(manifest !== undefined && (await checkPythonLock(manifest)).ok);
  const [header = "", first = ""] = sound.split("\n");
  for (
    const line of [
      "--index-url http://127.0.0.1:1/",
      "-e git+https://example.org/x.git",
      "acme-rpc>=2",
      "acme-rpc @ file:///etc",
      "acme-rpc==2.0.1",
      `${first} --hash=sha256:00`,
    ]
  ) {
    assert.equal(parsePythonLock(`${header}\n${line}\n`), undefined, line);
  }
  const asked = index.requests.length;
  await Deno.writeTextFile(file, sound.replace(/sha256:./, "sha256:0"));
  const wired = await host.run("mcp", "add", "wiki", "ada", "--json");
  assert.match(wired.stdout, /lock-invalid/);
  assert.equal(index.requests.length, asked);
});

Deno.test("two concurrent adds: one adds, the other is refused as a duplicate", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const [one, two] = await Promise.all([add(scene.host), add(scene.host)]);
  assert.deepEqual([one.error, two.error].sort(), ["mcp-exists", undefined]);
});

Deno.test("mcp catalog add on a full disk pins nothing, and reports the full disk", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const { host } = scene;
  const copy = (_: string, to: string) => Promise.reject(new FileFault("ENOSPC", to, "no space"));
  host.ports = { ...host.ports, trees: { ...denoTrees(), copy } };
  assert.equal((await add(host)).error, "disk-full");
  assert.equal(await entryOf(host, "wiki"), undefined);
  const failed = { mcp: "wiki", package: "acme-wiki", version: "1.0.0" };
  const output =
    "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device";
  const refusal = pythonRefusal(failed, {
    output,
    isLate: false,
    isTooLarge: false,
    isPortable: true,
  });
  assert.deepEqual([refusal.code, refusal.hints], ["disk-full", ["df -h"]]);
});

Deno.test("a verb that is killed while it vendors leaves nothing in use", async () => {
  await using scene = await pythonCatalog([wiki("1.0.0")]);
  const { host, index } = scene;
  index.stall("files/acme_rpc");
  const program = `
    import { systemMcpClient } from "cli/os/mcp_client.ts";
    import { openHost } from "core/os/host.ts";
    import { runFleetctl } from "tests/support/script.ts";
    const machine = openHost({ log: { program: "test", level: "error" } });
    const [root, env] = [Deno.args[0], JSON.parse(Deno.args[1])];
    const words = ["mcp", "catalog", "add", "wiki", "--uvx", "acme-wiki==1.0.0"];
    const ports = { openMcpClient: async () => systemMcpClient(machine) };
    await runFleetctl(words, { root, env, ports });
  `;
  const file = `${host.root}/killed.ts`;
  await Deno.writeTextFile(file, program);
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-q", "-A", "--no-check", "--cached-only", "--config", config, file]
      .concat([host.root, JSON.stringify(host.env)]),
    stdout: "null",
    stderr: "null",
  }).spawn();
  while (!index.requests.some((path) => path.startsWith("files/acme_rpc"))) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  child.kill("SIGKILL");
  await child.status;
  assert.equal((await stages(host)).length, 1, "it was cut short");
  assert.equal(await entryOf(host, "wiki"), undefined);
  index.stall("nothing more");
  assert.equal((await add(host)).error, undefined);
  assert.deepEqual(await stages(host), []);
  assert.equal((await host.run("mcp", "add", "wiki", "ada")).code, 0);
});

Deno.test("pythonRefusal() states that a lock is for another platform", () => {
  const failed = { mcp: "wiki", package: "acme-wiki", version: "1.0.0" };
  const output = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.";
  const end = { output, isLate: false, isTooLarge: false };
  const refused = pythonRefusal(failed, { ...end, isPortable: false });
  assert.match(refused.details?.[0] ?? "", /its lock names wheels for one platform/);
  assert.equal(pythonRefusal(failed, { ...end, isPortable: true }).details?.length, 1);
  // Wheel metadata may unpack to any size, so the installer has a memory limit.
  const bomb = {
    ...end,
    output: "MemoryError: Unable to allocate output buffer.",
    isPortable: true,
  };
  assert.equal(pythonRefusal(failed, bomb).code, "package-too-large");
});
