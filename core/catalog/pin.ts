/**
 * Exact pins: `pkg@1.2.3` for npm, `pkg==1.2.3` for Python. Ranges and tags are refused. Every
 * entry names one version, and its lock names every dependency. No I/O.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** One package at one version. */
export interface Pin {
  readonly package: string;
  readonly version: string;
}

/** A pin and the kind of index that serves it. */
export interface PackageSource extends Pin {
  readonly kind: "npm" | "uvx";
}

/** Parses a pin of one kind. */
export function parsePin(kind: PackageSource["kind"], text: string): Result<PackageSource> {
  const pin = kind === "npm" ? parseNpmPin(text) : parsePythonPin(text);
  return pin.ok ? ok({ kind, ...pin.value }) : pin;
}

/** Prints a pin in the form of its kind of index. */
export function printPin({ kind, ...pin }: PackageSource): string {
  return `${pin.package}${kind === "uvx" ? "==" : "@"}${pin.version}`;
}

const NPM_NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
/** Semantic Versioning 2.0.0, without the leading `v` that npm would strip. */
const NPM_VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?$/;
const PYTHON_NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
/** PEP 440, without the forms that an index never serves. */
const PYTHON_VERSION =
  /^(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+([.][a-z0-9]+)*)?$/;
const NAME_LENGTH_MAX = 214;
const VERSION_LENGTH_MAX = 128;

/** Parses `name@version` in npm's form; refuses a range, a tag or a URL. */
export function parseNpmPin(text: string): Result<Pin> {
  const at = text.lastIndexOf("@");
  const name = at > 0 ? text.slice(0, at) : text;
  const version = at > 0 ? text.slice(at + 1) : "";
  return checkPin(text, { package: name, version }, {
    isName: NPM_NAME.test(name),
    isVersion: NPM_VERSION.test(version),
    form: "name@1.2.3",
  });
}

/** Parses `name==version` in pip's form. */
export function parsePythonPin(text: string): Result<Pin> {
  const [name = "", version = "", ...rest] = text.split("==");
  return checkPin(text, { package: name, version }, {
    isName: rest.length === 0 && PYTHON_NAME.test(name),
    isVersion: PYTHON_VERSION.test(version),
    form: "name==1.2.3",
  });
}

function checkPin(
  text: string,
  pin: Pin,
  found: { readonly isName: boolean; readonly isVersion: boolean; readonly form: string },
): Result<Pin> {
  const isShort = pin.package.length <= NAME_LENGTH_MAX && pin.version.length <= VERSION_LENGTH_MAX;
  if (found.isName && found.isVersion && isShort) return ok(pin);
  const state = !found.isName
    ? "the package name is not valid"
    : pin.version === ""
    ? "there is no version"
    : `${JSON.stringify(pin.version.slice(0, 60))} is a range or a tag, not a version`;
  return err(refusal(
    "pin-invalid",
    `Cannot pin ${JSON.stringify(text.slice(0, 120))}: ${state}, must have the form ${found.form}`,
    { kind: "usage" },
  ));
}
