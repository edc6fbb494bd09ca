/**
 * Steps of a test on booted hosts. Each step builds on the previous ones. A failed step reports the
 * failed units and the journal of every host.
 *
 * @module
 */

import type { BootedHost } from "tests/support/booted_host.ts";

/** Runs one step. Throws when it fails, because later steps depend on it. */
export type HostStep = (name: string, work: () => Promise<void>) => Promise<void>;

/** Binds steps to a test and to the hosts that they report on. */
export function hostSteps(t: Deno.TestContext, hosts: readonly BootedHost[]): HostStep {
  return async (name, work) => {
    const passed = await t.step(name, () => withReports(hosts, work));
    if (!passed) throw new Error(`cannot continue after: ${name}`);
  };
}

/** Runs `work`, and adds the hosts' reports to an error that it throws. */
export async function withReports<T>(
  hosts: readonly BootedHost[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const text = thrown instanceof Error ? thrown.stack : String(thrown);
    const reports: string[] = [];
    for (const host of hosts) {
      const report = await host.report().catch((fault) => `no report: ${fault}`);
      reports.push(`== ${host.name}\n${report}`);
    }
    throw new Error([text, ...reports].join("\n\n"), { cause: thrown });
  }
}
