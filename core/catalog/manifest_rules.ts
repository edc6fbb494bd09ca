/**
 * Rules for single values of a manifest, and the `permissions` block. A permission names what a
 * server may access under Deno. Where Deno would take an empty list as "all", it means "none" here;
 * "all" must be written out. No I/O.
 *
 * @module
 */

import type { FieldReader } from "core/text/field_reader.ts";
import type { ServerPermissions } from "core/catalog/manifest.ts";

/** The tool name in a gate rule that stands for every tool, listed or not. */
export const EVERY_TOOL = "*";

/** Kinds of permission, in the order of Deno's flags. */
export const PERMISSION_KINDS = ["net", "read", "write", "env", "run", "sys"] as const;

/** Placeholders for folders whose path depends on the host. */
const FOLDER_PLACEHOLDERS = ["tree", "home", "workdir", "project", "lib"] as const;

const TOOL_NAME = /^[A-Za-z0-9_][A-Za-z0-9_./-]{0,127}$/;
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;
/** A host, optionally with a port; `*` alone is every host, and the catalog shows it as such. */
const NET_TARGET = /^(\*|(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?)$/;
const PROGRAM = /^([A-Za-z0-9][A-Za-z0-9._+-]*|(\{lib\})?\/[^\s,{}]+)$/;
/** The names that `Deno.permissions` accepts for "sys". */
const SYS_NAMES: ReadonlySet<string> = new Set([
  "cpus",
  "getegid",
  "geteuid",
  "getgid",
  "getPriority",
  "getuid",
  "gid",
  "homedir",
  "hostname",
  "loadavg",
  "networkInterfaces",
  "osRelease",
  "osUptime",
  "setPriority",
  "statfs",
  "systemMemoryInfo",
  "uid",
  "userInfo",
  "username",
]);

/** Checks a tool name as a server declares it. */
export function checkToolName(text: string): string | undefined {
  return TOOL_NAME.test(text)
    ? undefined
    : "must be a tool name of at most 128 letters, digits, _ . / -";
}

/** Checks the name of an environment variable; refuses names of `Object.prototype`. */
export function checkVariableName(text: string): string | undefined {
  return VARIABLE_NAME.test(text) && !(text in Object.prototype)
    ? undefined
    : "must be the name of an environment variable";
}

/** Checks an argument or a fixed value: one line, known placeholders only. */
export function checkArgument(text: string): string | undefined {
  if (/\p{Cc}/u.test(text)) return "must not contain control characters";
  return unknownPlaceholder(text);
}

/** Checks the server's own file: a relative path below the tree, without "." and "..". */
export function checkServerPath(text: string): string | undefined {
  return /^[\w@.+/-]+$/.test(text) && !text.startsWith("/") && isPlain(text)
    ? undefined
    : "must be a relative path inside the package tree without ..";
}

function checkFolder(text: string): string | undefined {
  if (/[\p{Cc},]/u.test(text)) return "must not contain commas or control characters";
  if (!/^(\/|\{(tree|home|workdir|project|lib)\}(\/|$))/.test(text)) {
    return "must start with {tree}, {home}, {workdir}, {project}, {lib} or /";
  }
  return isPlain(text) ? unknownPlaceholder(text) : "must not contain . or .. parts";
}

function isPlain(path: string): boolean {
  return path.split("/").every((part) => part !== ".." && part !== ".");
}

function unknownPlaceholder(text: string): string | undefined {
  for (const [, name = ""] of text.matchAll(/\{([^{}]*)\}/g)) {
    if (!(FOLDER_PLACEHOLDERS as readonly string[]).includes(name)) {
      return `contains {${name}}, must use only {tree}, {home}, {workdir}, {project} and {lib}`;
    }
  }
  return undefined;
}

/** Reads the `permissions` block; an absent list grants nothing. */
export function parsePermissions(read: FieldReader): ServerPermissions {
  read.onlyKeys(["permissions"], PERMISSION_KINDS);
  const path = (kind: string) => ["permissions", kind];
  return {
    net: read.strings(
      path("net"),
      (text) => NET_TARGET.test(text) ? undefined : 'must be host, host:port, *.host or "*"',
    ),
    read: read.strings(path("read"), checkFolder),
    write: read.strings(path("write"), checkFolder),
    env: read.strings(path("env"), checkVariableName),
    run: read.strings(
      path("run"),
      (text) =>
        PROGRAM.test(text) ? undefined : "must be a program name, an absolute path or {lib}/…",
    ),
    sys: read.strings(
      path("sys"),
      (text) => SYS_NAMES.has(text) ? undefined : "must be one of Deno's sys names",
    ),
  };
}
