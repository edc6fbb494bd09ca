/**
 * The folder that `up` was started for: git may read it, and a name with a comma grants no other
 * folder.
 *
 * @module
 */

import assert from "node:assert/strict";
import { defined } from "core/defined.ts";
import { desire } from "units/reconcile/desired.ts";
import { facts, MANIFESTS } from "tests/units/reconcile/fixture.ts";

/** Returns what ada's server may read and write, according to its command line. */
function allowed(project: string | undefined): readonly (string | undefined)[] {
  const catalog = new Map(MANIFESTS.map((each) => [each.name, {
    ...each,
    permissions: { ...each.permissions, read: ["{workdir}", "{project}"], write: ["{workdir}"] },
  }]));
  const given = facts({ ada: ["git"] }, { catalog, workspace: "~/ws", ...defined({ project }) });
  const unit = desire(given).files.find(({ file }) => file.path.endsWith("/mcp-git-ada@.service"));
  const text = unit?.file.content ?? "";
  return ["read", "write"].map((kind) => new RegExp(`--allow-${kind}=(\\S+)`).exec(text)?.[1]);
}

Deno.test("git reads the project beside the workspace, and writes only the workspace", () => {
  const [tree, work] = ["/r/var/lib/fleetctl/deploy/git", "/r/home/ada/ws"];
  assert.deepEqual(allowed(undefined), [`${tree},${work},${work}`, work]);
  assert.deepEqual(allowed("/srv/here"), [`${tree},${work},/srv/here`, work]);
  assert.deepEqual(allowed("/srv/here,/etc"), [`${tree},${work},${work}`, work]);
});
