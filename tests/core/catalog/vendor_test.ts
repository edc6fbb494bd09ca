/**
 * Vendoring against a registry on loopback that can fail in every way that matters.
 *
 * @module
 */

import assert from "node:assert/strict";
import { isIdleFile } from "core/catalog/idle_files.ts";
import { installConfig } from "core/catalog/install.ts";
import { hashText, lockedIntegrity, portableLock } from "core/catalog/lock.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { parseManifest } from "core/catalog/parse_manifest.ts";
import { checkTree, treePath, vendorEntry } from "core/catalog/vendor.ts";
import { openHost } from "core/os/host.ts";
import { denoTrees } from "core/os/vendor.ts";
import { type Paths, pathsUnder } from "core/paths.ts";
import { FileFault, type ProcessSpec } from "core/ports.ts";
import { type FakePackage, type NpmRegistry, npmRegistry } from "tests/fakes/npm_registry.ts";

const CHECKS = { sanitizeOps: true, sanitizeResources: true };
const DENO = Deno.execPath();

const LEFT: FakePackage = { name: "left", version: "1.0.0", files: { "index.js": "// left 1\n" } };
const PACKAGES: readonly FakePackage[] = [
  {
    name: "@acme/server",
    version: "1.0.0",
    dependencies: { left: "1.0.0" },
    scripts: { postinstall: "touch ../../../postinstall-ran; touch postinstall-ran" },
    files: {
      "main.js": "console.log(1);\n",
      "extra.txt": "one\n",
      "main.js.map": "{}",
      "main.d.ts": "export {};",
    },
  },
  {
    name: "@acme/server",
    version: "2.0.0",
    dependencies: { left: "1.0.0" },
    files: { "main.js": "console.log(2);\n" },
  },
  LEFT,
];

/** A root, a registry, and what was started. */
interface Bench extends AsyncDisposable {
  readonly root: string;
  readonly paths: Paths;
  readonly registry: NpmRegistry;
  readonly ports: Parameters<typeof vendorEntry>[1];
  readonly started: ProcessSpec[];
  env: Record<string, string>;
  manifest(version: string, change?: (text: string) => string): Promise<Manifest>;
  vendor(manifest: Manifest, deno?: string): ReturnType<typeof vendorEntry>;
}

async function bench(): Promise<Bench> {
  const root = await Deno.makeTempDir();
  const registry = await npmRegistry(PACKAGES);
  const host = openHost({ log: { program: "test", level: "error" } });
  const started: ProcessSpec[] = [];
  const ports = {
    files: host.files,
    random: host.random,
    trees: denoTrees(),
    processes: {
      which: host.processes.which,
      run: (spec: Parameters<typeof host.processes.run>[0]) => {
        started.push(spec);
        return host.processes.run(spec);
      },
    },
  };
  const paths = pathsUnder(root);
  const self: Bench = {
    root,
    paths,
    registry,
    ports,
    started,
    env: { PATH: "/usr/bin:/bin", HOME: root, NPM_CONFIG_REGISTRY: registry.url },
    manifest: (version, change = (text) => text) => makeManifest(registry.url, version, change),
    vendor: (manifest, deno = DENO) => vendorEntry(manifest, ports, paths, { deno, env: self.env }),
    async [Symbol.asyncDispose]() {
      await registry[Symbol.asyncDispose]();
      await Deno.remove(root, { recursive: true });
    },
  };
  return self;
}

/** Writes the lock with the installer itself, as `mcp catalog add` does. */
async function makeManifest(
  registry: string,
  version: string,
  change: (text: string) => string,
): Promise<Manifest> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(
      `${folder}/deno.json`,
      installConfig({ package: "@acme/server", version }),
    );
    const { success, stderr } = await new Deno.Command(DENO, {
      args: ["install", "-q"],
      cwd: folder,
      env: { NPM_CONFIG_REGISTRY: registry, DENO_DIR: `${folder}/cache`, NO_COLOR: "1" },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    const lock = portableLock(await Deno.readTextFile(`${folder}/deno.lock`));
    const text = change(
      `name: acme
summary: A server
source: {npm: "@acme/server@${version}"}
integrity:
  package: ${lockedIntegrity(lock, `@acme/server@${version}`)}
  lock: ${await hashText(lock)}
command: node_modules/@acme/server/main.js
`,
    );
    const site = { name: "acme", file: "acme/mcp.yaml", origin: "overlay", lock } as const;
    const parsed = parseManifest(text, site);
    assert.ok(parsed.ok, JSON.stringify(parsed));
    return parsed.value;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function serverText(paths: Paths): Promise<string> {
  return await Deno.readTextFile(`${treePath(paths, "acme")}/node_modules/@acme/server/main.js`);
}

async function leftovers(paths: Paths): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(paths.deploy("acme"))) names.push(entry.name);
  return names.filter((name) => name.startsWith(".")).sort();
}

Deno.test("vendorEntry() installs by lock, once, and runs no install script", CHECKS, async () => {
  await using b = await bench();
  const manifest = await b.manifest("1.0.0");
  const first = await b.vendor(manifest);
  assert.ok(first.ok, JSON.stringify(first));
  assert.equal(first.value.changed, true);
  assert.equal(await serverText(b.paths), "console.log(1);\n");
  const runs = b.started.length;
  const second = await b.vendor(manifest);
  assert.deepEqual(second, { ok: true, value: { ...first.value, changed: false } });
  assert.equal(b.started.length, runs, "nothing is started when nothing changed");
  assert.deepEqual(await leftovers(b.paths), []);
  for await (
    const entry of Deno.readDir(`${treePath(b.paths, "acme")}/node_modules/@acme/server`)
  ) {
    assert.notEqual(entry.name, "postinstall-ran");
  }
  const checked = await checkTree("acme", b.ports, b.paths);
  assert.ok(checked.ok && checked.value.installedHash === first.value.treeHash);
});

Deno.test(
  "vendorEntry() keeps no file that nothing reads, and pins what was installed",
  CHECKS,
  async () => {
    await using b = await bench();
    const plain = await b.vendor(await b.manifest("1.0.0"));
    assert.ok(plain.ok);
    const own = `${treePath(b.paths, "acme")}/node_modules/@acme/server`;
    const names = [...Deno.readDirSync(own)].map(({ name }) => name);
    assert.equal(names.includes("main.js") && names.includes("extra.txt"), true);
    assert.deepEqual(names.filter((name) => /map$|d\.ts$/.test(name)), []);
    const rows: readonly (readonly [path: string, isIdle: boolean])[] = [
      ...[["a/b.d.ts", true], ["a/b.d.mts", true], ["a/b.js.map", true]] as const,
      ...[["a/b.ts", false], ["a/map", false], ["a/d.ts", false], ["a/data.map", false]] as const,
      ...[["x/typescript/lib/lib.es5.d.ts", false], ["x/my-typescript/a.d.ts", true]] as const,
      ["n/.deno/typescript@5.1.0/node_modules/typescript/lib/lib.d.ts", false],
    ];
    for (const [path, isIdle] of rows) assert.equal(isIdleFile(path), isIdle, path);
  },
);

Deno.test("vendorEntry() gives the same hash on another host", CHECKS, async () => {
  await using a = await bench();
  await using b = await bench();
  const one = await a.vendor(await a.manifest("1.0.0"));
  const other = await b.vendor(await b.manifest("1.0.0"));
  assert.ok(one.ok && other.ok && one.value.treeHash === other.value.treeHash);
});

Deno.test("vendorEntry() says which package the registry does not have", CHECKS, async () => {
  await using b = await bench();
  const manifest = await b.manifest("1.0.0");
  await using empty = await npmRegistry([LEFT]);
  b.env = { ...b.env, NPM_CONFIG_REGISTRY: empty.url };
  const refused = await b.vendor(manifest);
  assert.ok(!refused.ok);
  assert.equal(refused.error.code, "package-not-found", JSON.stringify(refused.error));
  assert.equal(
    refused.error.message,
    'Cannot install MCP "acme": the registry has no package "@acme/server@1.0.0"',
  );
  assert.deepEqual(refused.error.hints[0], "npm view @acme/server versions");
  assert.deepEqual(await leftovers(b.paths), []);
});

Deno.test(
  "vendorEntry() refuses an altered tarball and keeps the tree in use",
  CHECKS,
  async () => {
    await using b = await bench();
    assert.ok((await b.vendor(await b.manifest("1.0.0"))).ok);
    const next = await b.manifest("2.0.0");
    b.registry.alter("@acme/server", "2.0.0");
    const refused = await b.vendor(next);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "package-altered", JSON.stringify(refused.error));
    assert.equal(await serverText(b.paths), "console.log(1);\n");
    assert.deepEqual(await leftovers(b.paths), []);
  },
);

Deno.test(
  "vendorEntry() installs again from its cache while the registry is down",
  CHECKS,
  async () => {
    await using b = await bench();
    const manifest = await b.manifest("1.0.0");
    assert.ok((await b.vendor(manifest)).ok);
    await Deno.remove(b.paths.deploy("acme"), { recursive: true });
    const asked = b.registry.requests.length;
    const again = await b.vendor(manifest);
    assert.ok(again.ok && again.value.changed, JSON.stringify(again));
    assert.equal(b.registry.requests.length, asked);
  },
);

Deno.test(
  "vendorEntry() says that the registry cannot be reached when the cache is empty",
  CHECKS,
  async () => {
    await using b = await bench();
    const manifest = await b.manifest("1.0.0");
    b.env = { ...b.env, NPM_CONFIG_REGISTRY: "http://user:hunter2@127.0.0.1:1/" };
    const refused = await b.vendor(manifest);
    assert.ok(!refused.ok);
    assert.equal(refused.error.code, "registry-unreachable", JSON.stringify(refused.error));
    assert.equal(JSON.stringify(refused.error).includes("hunter2"), false);
  },
);

Deno.test(
  "vendorEntry() makes an altered tree anew, and checkTree() refuses it before",
  CHECKS,
  async () => {
    await using b = await bench();
    const manifest = await b.manifest("1.0.0");
    const first = await b.vendor(manifest);
    const file = `${treePath(b.paths, "acme")}/node_modules/@acme/server/main.js`;
    const attacks: readonly (() => Promise<void>)[] = [
      () => Deno.writeTextFile(file, "evil();\n"),
      () => Deno.chmod(file, 0o777),
      () => Deno.remove(file),
      () => Deno.writeTextFile(`${file}.more`, "x"),
      () => Deno.symlink("/etc/passwd", `${file}.link`),
    ];
    for (const attack of attacks) {
      await attack();
      const checked = await checkTree("acme", b.ports, b.paths);
      assert.ok(!checked.ok && checked.error.code === "tree-altered");
      const again = await b.vendor(manifest);
      assert.ok(again.ok && again.value.changed, JSON.stringify(again));
      assert.ok(first.ok && again.value.treeHash === first.value.treeHash);
      assert.equal(await serverText(b.paths), "console.log(1);\n");
    }
  },
);

Deno.test(
  "vendorEntry() never installs from a cache that was tampered with, when the tree is pinned",
  CHECKS,
  async () => {
    await using b = await bench();
    const plain = await b.vendor(await b.manifest("1.0.0"));
    assert.ok(plain.ok);
    const pinned = await b.manifest(
      "1.0.0",
      (text) => text.replace("  lock:", `  tree: ${plain.value.treeHash}\n  lock:`),
    );
    await Deno.remove(b.paths.deploy("acme"), { recursive: true });
    let tampered = 0;
    const walk = async (folder: string): Promise<void> => {
      for await (const entry of Deno.readDir(folder)) {
        const path = `${folder}/${entry.name}`;
        if (entry.isDirectory) await walk(path);
        else if (entry.name === "main.js") {
          await Deno.writeTextFile(path, "evil();\n");
          tampered++;
        }
      }
    };
    await walk(b.paths.vendorCache);
    assert.ok(tampered > 0);
    const again = await b.vendor(pinned);
    assert.ok(again.ok, JSON.stringify(again));
    assert.equal(await serverText(b.paths), "console.log(1);\n");
  },
);

Deno.test("vendorEntry() refuses a tree that is not the pinned one", CHECKS, async () => {
  await using b = await bench();
  const wrong = `sha256-${"A".repeat(43)}=`;
  const pinned = await b.manifest(
    "1.0.0",
    (text) => text.replace("  lock:", `  tree: ${wrong}\n  lock:`),
  );
  const refused = await b.vendor(pinned);
  assert.ok(!refused.ok && refused.error.code === "tree-altered", JSON.stringify(refused));
  assert.deepEqual(await leftovers(b.paths), []);
});

Deno.test(
  "vendorEntry() goes to the next version and back without the registry",
  CHECKS,
  async () => {
    await using b = await bench();
    const one = await b.manifest("1.0.0");
    const two = await b.manifest("2.0.0");
    assert.ok((await b.vendor(one)).ok);
    assert.ok((await b.vendor(two)).ok);
    assert.equal(await serverText(b.paths), "console.log(2);\n");
    const runs = b.started.length;
    const back = await b.vendor(one);
    assert.ok(back.ok && back.value.changed);
    assert.equal(await serverText(b.paths), "console.log(1);\n");
    assert.equal(b.started.length, runs, "the kept tree is used");
  },
);

Deno.test(
  "vendorEntry() sweeps what a killed run left, and never shows half a tree",
  CHECKS,
  async () => {
    await using b = await bench();
    assert.ok((await b.vendor(await b.manifest("1.0.0"))).ok);
    const two = await b.manifest("2.0.0");
    const deno = `${b.root}/slow-deno`;
    await Deno.writeTextFile(
      deno,
      `#!/bin/sh\nmkdir node_modules\necho \$\$ >"${b.root}/begun.pid"\nmv "${b.root}/begun.pid" "${b.root}/begun"\nexec sleep 60\n`,
    );
    await Deno.chmod(deno, 0o755);
    const script = `${b.root}/run.ts`;
    await Deno.writeTextFile(
      `${b.root}/two.json`,
      JSON.stringify(
        [...Object.entries(two)],
        (_, value) => value instanceof Map ? { map: [...value] } : value,
      ),
    );
    await Deno.writeTextFile(
      script,
      `
    import { vendorEntry } from "core/catalog/vendor.ts";
    import { openHost } from "core/os/host.ts";
    import { denoTrees } from "core/os/vendor.ts";
    import { pathsUnder } from "core/paths.ts";
    const manifest = Object.fromEntries(JSON.parse(Deno.readTextFileSync(Deno.args[0] + "/two.json")));
    const host = openHost({ log: { program: "test" } });
    await vendorEntry(manifest, { ...host, trees: denoTrees() }, pathsUnder(Deno.args[0]), {
      deno: Deno.args[1], env: { PATH: "/usr/bin:/bin" },
    });`,
    );
    const child = new Deno.Command(DENO, {
      args: [
        "run",
        "-q",
        "-A",
        "--no-check",
        "-c",
        new URL("../../../deno.json", import.meta.url).pathname,
        script,
        b.root,
        deno,
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    const watcher = Deno.watchFs(b.root);
    for await (const _ of watcher) {
      if (await Deno.stat(`${b.root}/begun`).then(() => true, () => false)) break;
    }
    child.kill("SIGKILL");
    await child.status;
    assert.equal(await serverText(b.paths), "console.log(1);\n");
    assert.equal((await leftovers(b.paths)).length, 1);
    const again = await b.vendor(two);
    assert.ok(again.ok, JSON.stringify(again));
    assert.equal(await serverText(b.paths), "console.log(2);\n");
    assert.deepEqual(await leftovers(b.paths), []);
    // The installer's stand-in outlives the verb that was killed.
    Deno.kill(Number(await Deno.readTextFile(`${b.root}/begun`)), "SIGKILL");
  },
);

Deno.test("vendorEntry() keeps the tree in use when the disk is full", CHECKS, async () => {
  await using b = await bench();
  assert.ok((await b.vendor(await b.manifest("1.0.0"))).ok);
  const trees = {
    ...b.ports.trees,
    copy: (_: string, to: string) => Promise.reject(new FileFault("ENOSPC", to, "no space")),
  };
  const two = await b.manifest("2.0.0");
  const refused = await vendorEntry(two, { ...b.ports, trees }, b.paths, {
    deno: DENO,
    env: b.env,
  });
  assert.ok(!refused.ok && refused.error.code === "disk-full", JSON.stringify(refused));
  assert.equal(await serverText(b.paths), "console.log(1);\n");
  assert.deepEqual(await leftovers(b.paths), []);
});

Deno.test(
  "vendorEntry() refuses a manifest whose server file is not in the package",
  CHECKS,
  async () => {
    await using b = await bench();
    const manifest = await b.manifest("1.0.0", (text) => text.replace("main.js", "absent.js"));
    const refused = await b.vendor(manifest);
    assert.ok(!refused.ok && refused.error.code === "server-file-missing");
  },
);

Deno.test(
  "vendorEntry() refuses a lock that is not the pinned one, before anything is started",
  CHECKS,
  async () => {
    await using b = await bench();
    const good = await b.manifest("1.0.0");
    const lock = good.lock ?? "";
    const changed = async (text: string) => ({
      ...good,
      lock: text,
      lockIntegrity: await hashText(text),
    });
    const rows: readonly { name: string; manifest: Manifest; says: RegExp }[] = [
      { name: "other text", manifest: { ...good, lock: `${lock} ` }, says: /has the hash sha256-/ },
      { name: "no JSON", manifest: await changed("{"), says: /is not a lock file/ },
      {
        name: "foreign code",
        manifest: await changed(lock.replace('"npm":', '"remote": {}, "npm":')),
        says: /is not a lock file of npm packages/,
      },
      {
        name: "no integrity",
        manifest: await changed(lock.replace(/"integrity": "[^"]+",?/, "")),
        says: /has no sha512 integrity for/,
      },
      {
        name: "another package",
        manifest: await changed(lock.replaceAll("@acme/server@1.0.0", "@acme/server@1.0.1")),
        says: /does not name "@acme\/server@1.0.0"/,
      },
      {
        name: "another integrity",
        manifest: { ...good, integrity: `sha512-${"A".repeat(86)}==` },
        says: /has another integrity/,
      },
    ];
    for (const { name, manifest, says } of rows) {
      const refused = await b.vendor(manifest);
      assert.ok(!refused.ok && refused.error.code === "lock-invalid", name);
      assert.match(refused.error.message, says, name);
    }
    assert.equal(b.started.length, 0);
  },
);
