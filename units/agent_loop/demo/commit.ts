/**
 * Extracts a commit from the result of a `git_log` tool: JSON with a list of commits, or the text
 * of `git log`. Prints only what the result contains. Pure.
 *
 * @module
 */

import { isRecord } from "core/text/json_object.ts";

/** Formats hash, subject, author and date as a short list; undefined when no commit is found. */
export function printCommit(result: string): string | undefined {
  const commit = fromJson(result) ?? fromText(result);
  if (commit === undefined) return undefined;
  const lines = [`- commit: ${commit.hash}`, `- subject: ${commit.subject}`];
  if (commit.author !== undefined) lines.push(`- author: ${commit.author}`);
  if (commit.date !== undefined) lines.push(`- date: ${commit.date}`);
  return lines.join("\n");
}

interface Commit {
  readonly hash: string;
  readonly subject: string;
  readonly author: string | undefined;
  readonly date: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function fromJson(result: string): Commit | undefined {
  let value: unknown;
  try {
    value = JSON.parse(result);
  } catch {
    return undefined;
  }
  const list = Array.isArray(value) ? value : isRecord(value) ? value.commits : undefined;
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  if (!isRecord(first)) return undefined;
  const hash = textIn(first, "hash", "sha", "id", "commit");
  const message = textIn(first, "subject", "message", "title");
  if (hash === undefined || message === undefined) return undefined;
  const author = first.author;
  const name = isRecord(author) ? textIn(author, "name") : textIn(first, "author", "authorName");
  const mail = isRecord(author) ? textIn(author, "email") : textIn(first, "authorEmail");
  return {
    hash,
    subject: message.split("\n", 1)[0] ?? "",
    author: name === undefined ? mail : mail === undefined ? name : `${name} <${mail}>`,
    date: dateIn(first),
  };
}

function dateIn(commit: Fields): string | undefined {
  const stamp = commit.timestamp ?? commit.date ?? commit.authorDate ?? commit.committedDate;
  if (typeof stamp === "number") {
    // Small numbers are seconds (until the year 5138), larger ones milliseconds.
    const ms = stamp < 1e11 ? stamp * 1000 : stamp;
    return new Date(ms).toISOString().replace(".000Z", "Z");
  }
  return typeof stamp === "string" && stamp !== "" ? stamp : undefined;
}

function fromText(result: string): Commit | undefined {
  const hash = /^(?:commit|hash:?|- \*\*hash:?\*\*:?)\s+([0-9a-f]{7,64})/im.exec(result)?.[1];
  if (hash === undefined) return undefined;
  const after = result.slice(result.indexOf(hash) + hash.length);
  const subject = /\n\s*\n\s+(\S.*)/.exec(after)?.[1] ?? /^\s*subject:\s*(.+)$/im.exec(after)?.[1];
  if (subject === undefined) return undefined;
  return {
    hash,
    subject: subject.trim(),
    author: /^\s*author:\s*(.+)$/im.exec(after)?.[1]?.trim(),
    date: /^\s*date:\s*(.+)$/im.exec(after)?.[1]?.trim(),
  };
}

function textIn(fields: Fields, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = fields[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return undefined;
}
