/**
 * Golden files `tests/golden/units/*.txt`: facts, `----`, and every file rendered from them, with
 * mode and owner. `./dev golden` rewrites the part below the line; read the diff before you commit
 * it.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { RenderedFile } from "core/files/rendered_file.ts";
import { assertGolden } from "tests/support/golden.ts";
import { facts } from "tests/units/reconcile/fixture.ts";
import { packageFiles } from "units/package/package_files.ts";
import { desire, type Desired } from "units/reconcile/desired.ts";
import { editClientConfig } from "units/render/client_config.ts";

interface Given {
  readonly wired: Readonly<Record<string, readonly string[]>>;
  readonly root: string;
  readonly shape: "tree" | "bundle";
  /** Files whose path contains one of these words; all when empty. */
  readonly only: readonly string[];
}

const FOLDER = new URL("../../golden/units/", import.meta.url);
const SEPARATOR = "----\n";

/** Returns the files of a packaged host. */
function packaged({ root, only }: Given): readonly RenderedFile[] {
  if (root !== "/" || only.length === 0) return [];
  const files = packageFiles();
  assert.ok(files.ok);
  return files.value;
}

function printFiles(desired: Desired, given: Given): string {
  const { only } = given;
  const files = [...desired.files.map(({ file }) => file), ...packaged(given)].map((file) => ({
    head: `${file.path} ${file.mode.toString(8)} ${file.owner.user}:${file.owner.group}`,
    text: file.content,
  }));
  const clients = desired.clients.map((client) => {
    const text = editClientConfig(undefined, client, { recorded: new Set(), held: new Set() });
    assert.ok(text.ok);
    return { head: `${client.path} 600 ${client.agent}:${client.agent}`, text: text.value };
  });
  return [...files, ...clients]
    .filter((file) => only.length === 0 || only.some((word) => file.head.includes(word)))
    .sort((a, b) => a.head < b.head ? -1 : 1)
    .map((file) => `==== ${file.head}\n${file.text}`).join("\n");
}

for (const entry of [...Deno.readDirSync(FOLDER)].sort((a, b) => a.name < b.name ? -1 : 1)) {
  Deno.test(`desire() renders golden ${entry.name}`, async () => {
    const text = await Deno.readTextFile(new URL(entry.name, FOLDER));
    const head = text.split(SEPARATOR)[0] ?? "";
    const given = JSON.parse(head) as Given;
    const base = facts(given.wired, { root: given.root });
    const shape = { ...base.shape, kind: given.shape, dir: "/srv/tree" };
    const desired = desire({ ...base, shape });
    assert.deepEqual(desired.faults, []);
    await assertGolden(
      `units/${entry.name}`,
      `${head}${SEPARATOR}${printFiles(desired, given)}`,
    );
  });
}
