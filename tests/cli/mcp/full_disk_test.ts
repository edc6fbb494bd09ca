/**
 * A really full file system under the deploy folder or the package cache. There is one clear
 * refusal, nothing is pinned or left behind, and the same command works once there is room. Needs
 * the right to mount.
 *
 * @module
 */

import assert from "node:assert/strict";
import { serverPackage, tool } from "tests/fakes/mcp_package.ts";
import { catalogHost } from "tests/support/catalog_host.ts";

const READ = tool("read_page", "Reads a page", { annotations: { readOnlyHint: true } });
const LARGE = {
  ...serverPackage({ name: "@acme/wiki", version: "1.0.0", tools: [READ] }),
  odd: [{ name: "package/data.bin", kind: "file" as const, size: 12 * 2 ** 20 }],
};
const ADD = ["mcp", "catalog", "add", "wiki", "--npm", "@acme/wiki@1.0.0", "--json"];

async function mounted(...args: readonly string[]): Promise<void> {
  const ended = await new Deno.Command("mount", { args: [...args] }).output();
  assert.ok(ended.success, new TextDecoder().decode(ended.stderr));
}

for (const full of ["deployDir", "vendorCache"] as const) {
  Deno.test({
    name: `mcp catalog add on a full disk (${full}) pins nothing, and works once there is space`,
    ignore: Deno.uid() !== 0,
    fn: async () => {
      await using host = await catalogHost([LARGE], { ledger: false });
      const folder = host.paths[full];
      await Deno.mkdir(folder, { recursive: true });
      await mounted("-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", folder);
      try {
        const refused = await host.run(...ADD);
        const { error } = JSON.parse(refused.stdout);
        assert.deepEqual([refused.code, error.code, error.hints], [1, "disk-full", ["df -h"]]);
        await assert.rejects(Deno.stat(`${host.paths.runtimeCatalog}/wiki`), Deno.errors.NotFound);
        await mounted("-o", "remount,size=256m", folder);
        assert.equal((await host.run(...ADD)).code, 0);
      } finally {
        await new Deno.Command("umount", { args: ["-l", folder] }).output();
      }
    },
  });
}
