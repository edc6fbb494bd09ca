/**
 * The downloads that tests later need offline. Each is a separate preparation. A run makes those
 * that its groups name, in parallel, and each group waits only for its own.
 *
 * @module
 */

import { installSuite } from "tests/support/conformance/suite.ts";
import { installSdks } from "tests/teamchat/sdks/subjects.ts";
import { TREE } from "tests/support/module_graph.ts";
import { installPlayground } from "tests/support/playground.ts";
import type { PreparationName } from "tests/support/test_groups.ts";
import { fillVendorCache, vendorKey } from "tests/support/prepare_vendor.ts";
import { installPrograms } from "tests/support/runtime_programs.ts";

/** Shows a progress line. */
export type Say = (line: string) => void;

const STAMPS = `${TREE}.cache/prepared`;

/** Starts each preparation at its first request; later calls wait for the same work. */
export function openPreparations(say: Say): (name: PreparationName) => Promise<void> {
  const begun = new Map<PreparationName, Promise<void>>();
  const prepare = (name: PreparationName): Promise<void> => {
    const known = begun.get(name);
    if (known !== undefined) return known;
    const work = start(name);
    begun.set(name, work);
    return work;
  };
  const start = async (name: PreparationName): Promise<void> => {
    switch (name) {
      case "vendor": {
        const which = Deno.env.get("FLEETCTL_CATALOG") === "all" ? "all" : "tested";
        return await once(
          `vendor-${which}`,
          () => vendorKey(which),
          () => fillVendorCache(say, which),
        );
      }
      case "bundler":
        return await fetchBundler();
      case "suite":
        return await installSuite(say);
      case "playground":
        await prepare("suite");
        return await installPlayground(say);
      case "sdks":
        await prepare("suite");
        return await installSdks(say);
      case "programs":
        return await installPrograms(say);
    }
  };
  return prepare;
}

/** Does the work unless this checkout has done it and its key has not changed. */
async function once(
  name: string,
  key: () => Promise<string>,
  work: () => Promise<void>,
): Promise<void> {
  const stamp = `${STAMPS}/${name}`;
  const known = await Deno.readTextFile(stamp).catch(() => undefined);
  if (known === await key()) return;
  await work();
  await Deno.mkdir(STAMPS, { recursive: true });
  await Deno.writeTextFile(stamp, await key());
}

/** `deno bundle` downloads its bundler at its first use; later calls take no time. */
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
