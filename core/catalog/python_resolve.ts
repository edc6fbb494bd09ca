/**
 * Turns a Python pin into a lock. pip reports which wheel of each package it would install. The
 * lock contains the name, version and hash of each wheel. The installed files then show which
 * programs the package declares. All effects go through ports, and no code of a package runs.
 *
 * @module
 */

import { hashText } from "core/catalog/lock.ts";
import { parsePythonPin, type Pin } from "core/catalog/pin.ts";
import {
  installWheels,
  PACKAGES_FOLDER,
  type PythonInstall,
  type PythonPorts,
  reportOf,
} from "core/catalog/python_install.ts";
import { type LockedWheel, normalName, printPythonLock } from "core/catalog/python_lock.ts";
import type { ResolvedPin } from "core/catalog/resolved_pin.ts";
import { refusal } from "core/errors.ts";
import type { Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";

const SHA256 = /^[0-9a-f]{64}$/;
const WHEEL = /^[A-Za-z0-9_.+!-]+\.whl$/;
/** `name = module:function`. An extra in brackets may follow; pip ignores it too. */
const ENTRY_POINT = /^([A-Za-z0-9][A-Za-z0-9._-]*)\s*=\s*[\w.]+:[\w.]+/;

interface ResolvePorts extends PythonPorts {
  readonly files: PythonPorts["files"] & Pick<Files, "readText" | "list">;
}

/** Resolves a pin against the index, and installs its wheels by lock into the stage folder. */
export async function resolveWheels(
  ports: ResolvePorts,
  install: PythonInstall,
): Promise<Result<ResolvedPin>> {
  const { package: name, version } = install;
  const pin: Pin = { package: name, version };
  const report = await reportOf(ports, install);
  if (!report.ok) return report;
  const wheels = parseReport(report.value, pin);
  if (!wheels.ok) return wheels;
  const lock = printPythonLock(wheels.value);
  const installed = await installWheels(ports, install, { lock, isOffline: false });
  if (!installed.ok) return installed;
  const about = await readOwn(ports, `${install.folder}/${PACKAGES_FOLDER}`, pin);
  return ok({ kind: "uvx", pin, lock, lockIntegrity: await hashText(lock), ...about });
}

/** Reads pip's report: the packages it would install, and from which files. */
function parseReport(text: string, pin: Pin): Result<readonly LockedWheel[]> {
  const bad = (state: string) =>
    err(refusal("package-unusable", `Cannot pin "${pin.package}==${pin.version}": ${state}`));
  let found: unknown;
  try {
    found = (JSON.parse(text) as { install?: unknown }).install;
  } catch {
    return bad("the installer returned no readable report");
  }
  if (!Array.isArray(found)) return bad("the installer returned no readable report");
  const wheels: LockedWheel[] = [];
  for (const one of found) {
    const wheel = wheelOf(one);
    if (wheel === undefined) {
      return bad("a package is not from the index, must be a wheel of the index with a sha256");
    }
    wheels.push(wheel);
  }
  const own = wheels.find((one) => normalName(one.package) === normalName(pin.package));
  if (own === undefined) return bad("the installer's report does not contain it");
  if (own.version === pin.version) return ok(wheels);
  return bad(`the index spells its version "${own.version}", must be pinned with that spelling`);
}

function wheelOf(value: unknown): LockedWheel | undefined {
  const { metadata, download_info: from, is_direct: isDirect } = value as {
    /**
     * True when a package names this file by URL; then only that package vouches for its identity.
     */
    readonly is_direct?: unknown;
    readonly metadata?: { readonly name?: unknown; readonly version?: unknown };
    readonly download_info?: {
      readonly url?: unknown;
      readonly archive_info?: { readonly hashes?: { readonly sha256?: unknown } };
    };
  };
  const sha256 = from?.archive_info?.hashes?.sha256;
  const wheel = fileName(from?.url);
  const pin = parsePythonPin(`${String(metadata?.name)}==${String(metadata?.version)}`);
  if (!pin.ok || typeof sha256 !== "string" || !SHA256.test(sha256)) return undefined;
  return wheel === undefined || isDirect === true ? undefined : { ...pin.value, sha256, wheel };
}

function fileName(url: unknown): string | undefined {
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  const last = decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "");
  return WHEEL.test(last) ? last : undefined;
}

/** Reads the package's own metadata: `console_scripts` and its summary. */
async function readOwn(ports: ResolvePorts, site: string, pin: Pin) {
  const folder = (await ports.files.list(site)).find((name) => {
    const [, distribution = ""] = /^(.+)-[^-]+\.dist-info$/.exec(name) ?? [];
    return distribution !== "" && normalName(distribution) === normalName(pin.package);
  });
  const read = async (name: string) =>
    folder === undefined ? "" : await ports.files.readText(`${site}/${folder}/${name}`) ?? "";
  const summary = /^Summary: (.*)$/m.exec(await read("METADATA"))?.[1] ?? "";
  return {
    programs: programsOf(await read("entry_points.txt")),
    description: summary === "UNKNOWN" ? "" : summary,
  };
}

function programsOf(text: string): Readonly<Record<string, string>> {
  const programs: Record<string, string> = {};
  let section = "";
  for (const line of text.split("\n").map((one) => one.trim())) {
    section = /^\[(.+)\]$/.exec(line)?.[1] ?? section;
    const name = ENTRY_POINT.exec(line)?.[1];
    if (section === "console_scripts" && name !== undefined) {
      programs[name] = `${PACKAGES_FOLDER}/bin/${name}`;
    }
  }
  return programs;
}
