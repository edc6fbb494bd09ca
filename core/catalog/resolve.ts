/**
 * Turns a pin into a lock: what the registry serves for one exact version and its whole dependency
 * tree, with the integrity of each package. Only this step trusts the registry; afterwards the lock
 * decides. Effects through ports only; no script of a package runs.
 *
 * @module
 */

import { type Install, installConfig, runInstall } from "core/catalog/install.ts";
import { hashText, lockedIntegrity, portableLock } from "core/catalog/lock.ts";
import type { PackageSource, Pin } from "core/catalog/pin.ts";
import { resolveWheels } from "core/catalog/python_resolve.ts";
import type { ResolvedPin } from "core/catalog/resolved_pin.ts";
import type { VendorOptions, VendorPorts } from "core/catalog/vendor.ts";
import { refusal } from "core/errors.ts";
import type { McpName } from "core/names.ts";
import type { Paths } from "core/paths.ts";
import { FileFault } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import { parseJsonObject } from "core/text/json_object.ts";

/** Requests a pin from the registry and returns its lock. */
export async function resolvePin(
  mcp: McpName,
  source: PackageSource,
  ports: VendorPorts,
  paths: Paths,
  options: VendorOptions,
): Promise<Result<ResolvedPin>> {
  const { files } = ports;
  const stage = `${paths.deploy(mcp)}/.stage-${ports.random.uuid()}`;
  const cache = `${paths.vendorCache}/${mcp}`;
  try {
    await files.ensureDir(stage, { mode: 0o700 });
    await files.ensureDir(cache, { mode: 0o700 });
    const { kind, ...pin } = source;
    const install: Install = { mcp, ...pin, folder: stage, cache, ...options };
    if (kind === "uvx") return await resolveWheels(ports, install);
    await files.write(`${stage}/deno.json`, installConfig(pin));
    const installed = await runInstall(ports.processes, install, { frozen: false, offline: false });
    if (!installed.ok) return installed;
    return await readResolved(pin, stage, ports);
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    const isFull = thrown.code === "ENOSPC";
    return err(refusal(
      isFull ? "disk-full" : "vendor-failed",
      `Cannot install MCP "${mcp}": ${
        isFull ? "no space left on the disk" : `"${thrown.path}" cannot be used, ${thrown.code}`
      }; nothing was pinned`,
      { hints: isFull ? ["df -h"] : [] },
    ));
  } finally {
    await files.remove(stage, { recursive: true });
  }
}

async function readResolved(
  pin: Pin,
  stage: string,
  ports: VendorPorts,
): Promise<Result<ResolvedPin>> {
  const bad = (state: string) =>
    err(refusal("package-unusable", `Cannot pin "${pin.package}@${pin.version}": ${state}`, {
      hints: ["fleetctl mcp catalog add --help"],
    }));
  const text = await ports.files.readText(`${stage}/deno.lock`);
  if (text === undefined) return bad("the installer wrote no lock");
  const lock = portableLock(text);
  const integrity = lockedIntegrity(lock, `${pin.package}@${pin.version}`);
  if (integrity === undefined) return bad("the registry gives no integrity for it");
  const folder = `node_modules/${pin.package}`;
  const described = await ports.files.readText(`${stage}/${folder}/package.json`);
  const about = parseJsonObject(described ?? "");
  if (about === undefined) return bad("it has no readable package.json");
  return ok({
    kind: "npm",
    pin,
    lock,
    integrity,
    lockIntegrity: await hashText(lock),
    programs: programsOf(about["bin"], pin.package, folder),
    description: typeof about["description"] === "string" ? about["description"] : "",
  });
}

function programsOf(
  bin: unknown,
  name: string,
  folder: string,
): Readonly<Record<string, string>> {
  const at = (file: string) => `${folder}/${file.replace(/^(\.\/)+/, "")}`;
  if (typeof bin === "string") return { [name.split("/").at(-1) ?? name]: at(bin) };
  if (typeof bin !== "object" || bin === null) return {};
  return Object.fromEntries(
    Object.entries(bin).flatMap(([program, file]) =>
      typeof file === "string" ? [[program, at(file)]] : []
    ),
  );
}
