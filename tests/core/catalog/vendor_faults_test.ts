/**
 * Vendoring with altered packages, killed installers, full disks and wrong input: the tree in use
 * stays.
 *
 * @module
 */

import assert from "node:assert/strict";
import { hashText } from "core/catalog/lock.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { checkTree, treePath, vendorEntry } from "core/catalog/vendor.ts";
import { FileFault } from "core/ports/files.ts";
import { bench, CHECKS, DENO, leftovers, serverText } from "tests/core/catalog/vendor_scene.ts";

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
  "vendorEntry() rebuilds an altered tree, and checkTree() refuses it before",
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

Deno.test(
  "vendorEntry() deletes remains of a killed run, and never shows a partial tree",
  CHECKS,
  async () => {
    await using b = await bench();
    assert.ok((await b.vendor(await b.manifest("1.0.0"))).ok);
    const two = await b.manifest("2.0.0");
    const deno = `${b.root}/slow-deno`;
    await Deno.writeTextFile(
      deno,
      `#!/bin/sh\nmkdir node_modules\necho \$\$ >"${b.root}/begun.pid"\n` +
        `mv "${b.root}/begun.pid" "${b.root}/begun"\nexec sleep 60\n`,
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
    const two = Deno.readTextFileSync(Deno.args[0] + "/two.json");
    const manifest = Object.fromEntries(JSON.parse(two));
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
    // The installer's stand-in outlives the killed verb.
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
