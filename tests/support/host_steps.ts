/**
 * Steps of a test on booted hosts: each builds on the ones before it, and one that fails shows the
 * failed units and the journal of every host.
 *
 * @module
 */

import type { BootedHost } from "tests/support/booted_host.ts";

/** Runs one step; throws when it fails, since nothing after it could hold. */
export type HostStep = (name: string, work: () => Promise<void>) => Promise<void>;

/** Binds steps to a test and to the hosts that they look at. */
export function hostSteps(t: Deno.TestContext, hosts: readonly BootedHost[]): HostStep {
  return async (name, work) => {
    const passed = await t.step(name, () => withReports(hosts, work));
    if (!passed) throw new Error(`cannot go on after: ${name}`);
  };
}

/** Runs work, and adds what the hosts have to say to what it throws. */
export async function withReports<T>(
  hosts: readonly BootedHost[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const said = thrown instanceof Error ? thrown.stack : String(thrown);
    const reports: string[] = [];
    for (const host of hosts) {
      const report = await host.report().catch((fault) => `no report: ${fault}`);
      reports.push(`== ${host.name}\n${report}`);
    }
    throw new Error([said, ...reports].join("\n\n"), { cause: thrown });
  }
}
