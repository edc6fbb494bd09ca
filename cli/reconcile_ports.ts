/**
 * Builds the ports of a reconcile from a verb's context. This is the only place, so that `up` and
 * every other verb vendor and write in the same way.
 *
 * @module
 */

import type { VerbContext } from "cli/context.ts";
import { vendorEntry } from "core/catalog/vendor.ts";
import { readRegistryEnv } from "core/catalog/registry_env.ts";
import type { ServiceManager } from "units/manager/service_manager.ts";
import { ok } from "core/result.ts";
import { dialUnits } from "units/reconcile/dial_units.ts";
import { openHomeHelper } from "units/reconcile/home_helper.ts";
import type { ReconcilePorts, Vendor } from "units/reconcile/run.ts";

/** Returns the ports of a reconcile with this service manager. */
export function reconcilePorts(context: VerbContext, services: ServiceManager): ReconcilePorts {
  return {
    ...context.ports,
    services,
    dials: dialUnits(context.ports, context.paths),
    vendor: vendorOf(context),
    openHomes: (homeMsMax) => openHomeHelper(context.ports, homeMsMax),
  };
}

function vendorOf(context: VerbContext): Vendor {
  const { ports, paths } = context;
  return {
    ensure: async (manifest) => {
      // The installer keeps only the variables of the caller that reach a package registry.
      const env = { ...await readRegistryEnv(ports.files, paths), ...context.env };
      const done = await vendorEntry(manifest, ports, paths, { deno: paths.deno, env });
      return done.ok ? ok({ changed: done.value.changed }) : done;
    },
  };
}
