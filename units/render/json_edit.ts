/**
 * Edits members of one object inside a JSON text and keeps every other byte: other entries, the
 * order of keys, numbers too long for a double, the owner's formatting. No I/O. The text is checked
 * with `JSON.parse` first, so the scanner below only has to find spans. ADR 0024 explains why
 * fleetctl has its own editor.
 *
 * @module
 */

import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";

interface Member {
  readonly key: string;
  readonly start: number;
  readonly valueStart: number;
  readonly end: number;
}

interface ObjectSpan {
  /** Offset of `{`. */
  readonly start: number;
  /** Offset just after `}`. */
  readonly end: number;
  readonly members: readonly Member[];
}

/** Changes by member name; undefined removes the member. */
export type MemberChanges = ReadonlyMap<string, unknown>;

/**
 * Applies `changes` to the object at `path`, creating it when a member is set. An empty or absent
 * text counts as `{}`. Returns the text unchanged when it already has these values.
 */
export function editJson(
  text: string | undefined,
  path: readonly string[],
  changes: MemberChanges,
): Result<string> {
  let edited = text === undefined || text.trim() === "" ? "{}\n" : text;
  const checked = checkObjects(edited, path);
  if (!checked.ok) return checked;
  for (const [key, value] of changes) {
    edited = value === undefined ? removeMember(edited, path, key) : setMember(edited, path, {
      key,
      value,
    });
  }
  return ok(edited);
}

/** Returns the object at `path` as a value; empty when it does not exist. */
export function readJsonObject(
  text: string | undefined,
  path: readonly string[],
): Result<Readonly<Record<string, unknown>>> {
  if (text === undefined || text.trim() === "") return ok({});
  return checkObjects(text, path);
}

function checkObjects(
  text: string,
  path: readonly string[],
): Result<Readonly<Record<string, unknown>>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err(refusal("json-invalid", "Cannot edit JSON: the text does not parse"));
  }
  for (const [depth, key] of [undefined, ...path].entries()) {
    if (key !== undefined) value = (value as Record<string, unknown>)[key];
    if (value === undefined) return ok({});
    if (!isRecord(value)) {
      const where = depth === 0 ? "the text" : `"${path.slice(0, depth).join(".")}"`;
      return err(refusal("json-invalid", `Cannot edit JSON: ${where} must be an object`));
    }
  }
  return ok(value as Record<string, unknown>);
}

function setMember(
  text: string,
  path: readonly string[],
  member: { readonly key: string; readonly value: unknown },
): string {
  const { span, depth } = deepestObject(text, path);
  // Wrap the value in the missing objects of the path.
  let value = member.value;
  const missing = path.slice(depth);
  const key = missing[0] ?? member.key;
  for (const name of [...missing.slice(1), ...(missing.length > 0 ? [member.key] : [])].reverse()) {
    value = { [name]: value };
  }
  const existing = span.members.findLast((one) => one.key === key);
  if (existing !== undefined) {
    if (isSame(text.slice(existing.valueStart, existing.end), value)) return text;
    return splice(text, existing.valueStart, existing.end, printValue(value, depth + 1));
  }
  const line = `${indent(depth + 1)}${JSON.stringify(key)}: ${printValue(value, depth + 1)}`;
  const last = span.members.at(-1);
  return last === undefined
    ? splice(text, span.start, span.end, `{\n${line}\n${indent(depth)}}`)
    : splice(text, last.end, last.end, `,\n${line}`);
}

function removeMember(text: string, path: readonly string[], key: string): string {
  let edited = text;
  while (true) {
    const { span, depth } = deepestObject(edited, path);
    const index = depth < path.length ? -1 : span.members.findIndex((one) => one.key === key);
    const member = span.members[index];
    if (member === undefined) return edited;
    const before = span.members[index - 1];
    const after = span.members[index + 1];
    edited = before !== undefined
      ? splice(edited, before.end, member.end, "")
      : after !== undefined
      ? splice(edited, member.start, after.start, "")
      : splice(edited, span.start, span.end, "{}");
  }
}

/** Returns the deepest existing object on `path`. */
function deepestObject(
  text: string,
  path: readonly string[],
): { readonly span: ObjectSpan; readonly depth: number } {
  let span = scanObject(text, skipSpace(text, 0));
  let depth = 0;
  for (const key of path) {
    const member = span.members.findLast((one) => one.key === key);
    if (member === undefined) break;
    span = scanObject(text, member.valueStart);
    depth++;
  }
  return { span, depth };
}

function scanObject(text: string, start: number): ObjectSpan {
  const members: Member[] = [];
  let at = skipSpace(text, start + 1);
  while (text[at] !== "}") {
    const keyEnd = skipString(text, at);
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const end = skipValue(text, valueStart);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    members.push({ key, start: at, valueStart, end });
    at = skipSpace(text, end);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return { start, end: at + 1, members };
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (" \t\n\r".includes(text[at] ?? "x")) at++;
  return at;
}

function skipString(text: string, from: number): number {
  let at = from + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function skipValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  do {
    const char = text[at] ?? "";
    if (char === '"') {
      at = skipString(text, at);
      continue;
    }
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    else if (depth === 0) {
      while (at < text.length && !",}] \t\n\r".includes(text[at] ?? "")) at++;
      return at;
    }
    at++;
  } while (depth > 0);
  return at;
}

function splice(text: string, start: number, end: number, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

function indent(depth: number): string {
  return "  ".repeat(depth);
}

function printValue(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 2).replaceAll("\n", `\n${indent(depth)}`);
}

/** Compares by value and key order, so that formatting alone is not a change. */
function isSame(text: string, value: unknown): boolean {
  return JSON.stringify(JSON.parse(text)) === JSON.stringify(value);
}
