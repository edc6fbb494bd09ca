/**
 * The downloads of the preparation step, each once: what tests need later without a network.
 *
 * @module
 */

import { installSuite } from "tests/support/conformance/suite.ts";
import { installSdks } from "tests/bench/teamchat/subjects.ts";
import { installPlayground } from "tests/support/playground.ts";
import { fillVendorCache } from "tests/support/prepare_vendor.ts";

/** Fetches everything; says a line for what takes long. */
export async function prepareDownloads(say: (line: string) => void): Promise<void> {
  await fillVendorCache(say, Deno.env.get("FLEETCTL_CATALOG") === "all" ? "all" : "tested");
  await fetchBundler();
  await installSuite(say);
  await installPlayground(say);
  await installSdks(say);
}

/** `deno bundle` fetches its bundler once, when it is first used. */
async function fetchBundler(): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/main.js`, "");
    const made = await new Deno.Command(Deno.execPath(), {
      args: ["bundle", "-q", "--no-config", `--output=${folder}/out.js`, `${folder}/main.js`],
    }).output();
    if (!made.success) throw new Error(new TextDecoder().decode(made.stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
