/**
 * Links, with permission for every path and with permission for one folder.
 *
 * @module
 */

import assert from "node:assert/strict";
import { makeLink } from "core/os/link.ts";

const folder = await Deno.makeTempDir();
const wide: Deno.PermissionOptionsObject = { read: true, write: true };
const narrow: Deno.PermissionOptionsObject = {
  read: true,
  write: [folder],
  run: ["/bin/ln"],
};

for (
  const [name, permissions] of [["with every path", wide], ["with one folder", narrow]] as const
) {
  Deno.test({
    name: `makeLink() makes links and reports EEXIST ${name}`,
    permissions,
    sanitizeOps: true,
    sanitizeResources: true,
    fn: () => {
      const path = `${folder}/${name.replaceAll(" ", "-")}`;
      makeLink("-n odd; target", path);
      assert.equal(Deno.readLinkSync(path), "-n odd; target");
      assert.throws(
        () => makeLink("other", path),
        (thrown: unknown) =>
          thrown instanceof Deno.errors.AlreadyExists ||
          (thrown as { code?: string }).code === "EEXIST",
      );
      assert.equal(Deno.readLinkSync(path), "-n odd; target");
    },
  });
}

Deno.test({
  name: "makeLink() makes no link outside the folders of the set",
  permissions: { read: true, write: [`${folder}/inner`], run: ["/bin/ln"] },
  sanitizeOps: true,
  sanitizeResources: true,
  fn: () => {
    assert.throws(() => makeLink("x", `${folder}/outside`), Deno.errors.NotCapable);
  },
});
