/**
 * The child process of `store_test.ts`: sets numbered secrets and prints each acknowledged key,
 * until it is done or is killed.
 *
 * @module
 */

import { openHost } from "core/os/host.ts";
import type { KeyName } from "core/names.ts";
import { pathsUnder } from "core/paths.ts";
import { openSecrets } from "core/secrets/store.ts";

/** The child's order, as JSON in its first argument. */
export interface StoreOrder {
  readonly root: string;
  /** Prefix of each key's name. */
  readonly prefix: string;
  readonly times: number;
}

async function run({ root, prefix, times }: StoreOrder): Promise<void> {
  const host = openHost({ log: { program: "child", level: "error" } });
  const store = await openSecrets(host, pathsUnder(root));
  if (!store.ok) throw new Error(JSON.stringify(store.error));
  for (let time = 0; time < times; time++) {
    const key = `${prefix}_${time}` as KeyName;
    const author = { verb: "secret set", caller: prefix.toLowerCase() };
    const done = await store.value.set({ key }, `value of ${key}`, author);
    if (!done.ok) throw new Error(JSON.stringify(done.error));
    console.log(key);
  }
}

if (import.meta.main) await run(JSON.parse(Deno.args[0] ?? "{}"));
