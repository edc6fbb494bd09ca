/**
 * The lock of a `uvx` entry, `requirements.lock`. It lists every package of the dependency tree
 * with the one wheel to install, in the form that pip and uv read with `--require-hashes`. No I/O.
 *
 * A line is `name==1.2.3 --hash=sha256:<64 hex> # name-1.2.3-py3-none-any.whl`. Any other line is
 * refused: no option (`--index-url`), no URL, no path, no range. So a lock can only narrow what pip
 * does.
 *
 * @module
 */

import { type CheckedLock, hashText } from "core/catalog/lock.ts";
import type { Manifest } from "core/catalog/manifest.ts";
import { parsePythonPin, type Pin } from "core/catalog/pin.ts";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** One package of a lock. */
export interface LockedWheel extends Pin {
  /** 64 hex digits. */
  readonly sha256: string;
  /** File name of the wheel (PEP 427). */
  readonly wheel: string;
}

const HEADER = "# Written by fleetctl: every package, and the one wheel of it that is taken.";
const LINE = /^(\S+==\S+) --hash=sha256:([0-9a-f]{64}) # ([A-Za-z0-9_.+!-]+\.whl)$/;
const PACKAGES_MAX = 1000;

/** Returns a package name as an index compares it (PEP 503). */
export function normalName(name: string): string {
  return name.replace(/[-_.]+/g, "-").toLowerCase();
}

/** Prints a lock, sorted by name. */
export function printPythonLock(wheels: readonly LockedWheel[]): string {
  const lines = wheels.map((one) =>
    `${normalName(one.package)}==${one.version} --hash=sha256:${one.sha256} # ${one.wheel}`
  );
  return `${[HEADER, ...lines.sort()].join("\n")}\n`;
}

/** Parses a lock; returns undefined if a line is not a pinned wheel. */
export function parsePythonLock(text: string): readonly LockedWheel[] | undefined {
  const [header, ...lines] = text.split("\n");
  if (header !== HEADER || lines.at(-1) !== "") return undefined;
  const wheels: LockedWheel[] = [];
  for (const line of lines.slice(0, -1)) {
    const [, pinned = "", sha256 = "", wheel = ""] = LINE.exec(line) ?? [];
    const pin = parsePythonPin(pinned);
    if (!pin.ok) return undefined;
    wheels.push({ ...pin.value, sha256, wheel });
  }
  return wheels;
}

/** Tells whether a text is meant as a lock of wheels, not as a lock of npm packages. */
export function isPythonLock(text: string): boolean {
  return !text.startsWith("{");
}

/** Tells whether every wheel fits every machine. If not, the trees of two machines may differ. */
export function isPortableLock(text: string): boolean {
  return parsePythonLock(text)?.every(({ wheel }) => wheel.endsWith("-none-any.whl")) ?? false;
}

/** Checks the lock of a `uvx` entry against its manifest. */
export async function checkPythonLock(manifest: Manifest): Promise<Result<CheckedLock>> {
  const bad = (state: string) =>
    err(refusal(
      "lock-invalid",
      `Cannot install MCP "${manifest.name}": its requirements.lock ${state}`,
      { hints: [`fleetctl mcp catalog upgrade ${manifest.name} --help`] },
    ));
  if (manifest.source.kind !== "uvx") return bad("is not allowed for its kind of source");
  const text = manifest.lock;
  if (text === undefined) return bad("is missing");
  const integrity = await hashText(text);
  if (integrity !== manifest.lockIntegrity) {
    return bad(`has the hash ${integrity}, must have ${manifest.lockIntegrity ?? "one"}`);
  }
  const wheels = parsePythonLock(text);
  if (wheels === undefined) return bad("has a line that is not a pinned wheel with its sha256");
  if (wheels.length > PACKAGES_MAX) return bad(`names more than ${PACKAGES_MAX} packages`);
  const names = new Set(wheels.map((one) => normalName(one.package)));
  if (names.size !== wheels.length) return bad("names a package twice");
  const { package: name, version } = manifest.source;
  const own = wheels.find((one) => normalName(one.package) === normalName(name));
  if (own?.version !== version) return bad(`does not name "${name}==${version}"`);
  return ok({ text, integrity, packages: wheels.length });
}
