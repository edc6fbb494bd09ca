/**
 * A host in memory on which facts are reconciled, with queries about the result.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { Manifest } from "core/catalog/manifest.ts";
import { refusal } from "core/errors.ts";
import type { User } from "core/ports/users.ts";
import { err, ok, type Result } from "core/result.ts";
import { type FakeClock, fakeClock } from "tests/fakes/clock.ts";
import { type MemoryFiles, memoryFiles } from "tests/fakes/files.ts";
import { memoryHomes } from "tests/units/reconcile/memory_homes.ts";
import { type MemoryServices, memoryServices } from "tests/fakes/services.ts";
import { memoryUsers } from "tests/fakes/users.ts";
import type { Facts } from "units/reconcile/facts.ts";
import type { Report } from "units/reconcile/report.ts";
import { reconcile, type ReconcileOptions, type ReconcilePorts } from "units/reconcile/run.ts";

/** A host in memory. */
export interface Rig {
  readonly files: MemoryFiles;
  readonly services: MemoryServices;
  readonly ports: ReconcilePorts;
  /** Agents with a running turn. */
  readonly busy: Set<string>;
  /** Requests to dial units, in order, such as `ada` or `ada due`. */
  readonly asked: string[];
  readonly clock: FakeClock;
  /** MCPs whose vendoring fails from now on. */
  readonly broken: Set<string>;
  /** MCPs whose trees move to another version at their next vendoring. */
  readonly upgrade: Set<string>;
  run(facts: Facts, options?: ReconcileOptions): Promise<Result<Report>>;
  /** Like `run`, but fails the test when the run is refused. */
  done(facts: Facts, options?: ReconcileOptions): Promise<Report>;
  /** Path → mode and text of everything except locks and the record. */
  snapshot(): Promise<Readonly<Record<string, string>>>;
}

/** Creates an empty host. */
export function createRig(
  options: {
    readonly files?: Readonly<Record<string, string>>;
    readonly isManagerRunning?: boolean;
    readonly root?: string;
    readonly users?: Parameters<typeof memoryUsers>[0];
    readonly openHomes?: ReconcilePorts["openHomes"];
  } = {},
): Rig {
  const root = options.root ?? "/r";
  const files = memoryFiles(options.files);
  const services = memoryServices(files, `${root === "/" ? "" : root}/etc/systemd/system`, {
    isRunning: options.isManagerRunning ?? true,
  });
  const broken = new Set<string>();
  const busy = new Set<string>();
  const asked: string[] = [];
  const clock = fakeClock();
  const upgrade = new Set<string>();
  const ports: ReconcilePorts = {
    clock,
    dials: {
      isIdle: async (agent, { isDue }) => {
        asked.push(isDue ? `${agent} due` : agent);
        return !busy.has(agent);
      },
    },
    files,
    services,
    users: memoryUsers(options.users),
    openHomes: options.openHomes ?? (() => memoryHomes(files)),
    vendor: { ensure: (manifest) => ensure(manifest, { files, root, broken, upgrade }) },
  };
  const run = (facts: Facts, given?: ReconcileOptions) => reconcile(facts, ports, given);
  return {
    files,
    services,
    ports,
    broken,
    busy,
    asked,
    clock,
    upgrade,
    run,
    done: async (facts, given) => {
      const report = await run(facts, given);
      assert.ok(report.ok, report.ok ? "" : `${report.error.code}: ${report.error.message}`);
      return report.value;
    },
    snapshot: () => snapshot(files),
  };
}

/** Represents the tree of an MCP by a link, as vendoring does. */
async function ensure(
  manifest: Manifest,
  on: {
    readonly files: MemoryFiles;
    readonly root: string;
    readonly broken: ReadonlySet<string>;
    readonly upgrade: Set<string>;
  },
): Promise<Result<{ readonly changed: boolean }>> {
  if (on.broken.has(manifest.name)) {
    return err(refusal("package-missing", `Cannot install MCP "${manifest.name}": not there`));
  }
  const folder = `${on.root === "/" ? "" : on.root}/var/lib/fleetctl/deploy/${manifest.name}`;
  const link = `${folder}/current`;
  const before = await on.files.readLink(link);
  const after = on.upgrade.has(manifest.name) ? "v2" : before ?? "v1";
  if (before === after) return ok({ changed: false });
  await on.files.ensureDir(folder);
  await on.files.symlink(after, link);
  return ok({ changed: true });
}

async function snapshot(files: MemoryFiles): Promise<Readonly<Record<string, string>>> {
  const taken: Record<string, string> = {};
  for (const path of files.paths()) {
    if (/\/locks\/|\/rendered\.json$|\/deploy\//.test(path)) continue;
    const stat = await files.stat(path);
    const text = stat?.kind === "symlink" ? await files.readLink(path) : files.text(path);
    taken[path] = `${stat?.mode.toString(8)} ${text}`;
  }
  return taken;
}

/** Returns accounts of a real host with the given agents. */
export function accounts(...agents: readonly string[]): readonly User[] {
  const teamchat = ["fleetctl-teamchat", "fleetctl-teamchat-receiver"];
  return ["root", "fleetctl-gateway", ...agents, "fleetctl-login", ...teamchat].map((
    name,
    index,
  ) => ({
    name,
    uid: index === 0 ? 0 : 999 + index,
    gid: index === 0 ? 0 : 999 + index,
    home: index === 0 ? "/root" : `/home/${name}`,
  }));
}
