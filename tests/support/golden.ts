/**
 * Compares text with a golden file. With `FLEETCTL_GOLDEN=rewrite` (`./dev golden`) it writes the
 * file instead; CI never does.
 *
 * @module
 */

import assert from "node:assert/strict";

const FOLDER = new URL("../golden/", import.meta.url);

/** Asserts that `actual` equals the content of `tests/golden/<name>`. */
export async function assertGolden(name: string, actual: string): Promise<void> {
  const file = new URL(name, FOLDER);
  if (Deno.env.get("FLEETCTL_GOLDEN") === "rewrite") {
    await Deno.mkdir(new URL(".", file), { recursive: true });
    await Deno.writeTextFile(file, actual);
    return;
  }
  const wanted = await Deno.readTextFile(file).catch(() => "");
  assert.equal(actual, wanted, `tests/golden/${name} differs; ./dev golden rewrites it`);
}
