/**
 * The sources of an answer. A model writes them in Markdown: `[1]` in the text and a line `[1]:
 * https://… "Title"` below. The platform shows them as references of the message. Pure.
 *
 * | Line | Becomes |
 * |---|---|
 * | number 1 to 20, https, `[n]` appears in the text, the first of its number | a citation, and is removed from the text |
 * | anything else, and everything inside a code fence | unchanged |
 *
 * Source: Teams "Bot messages with AI-generated content", Citations: at most 20, `name` 80 and
 * `abstract` 160 characters, `position` is the number in the text.
 *
 * @module
 */

import { TEAMCHAT_LIMITS } from "core/limits/teamchat.ts";

/** One source. */
export interface Citation {
  readonly position: number;
  readonly name: string;
  readonly url: string;
  readonly abstract: string;
}

const DEFINITION =
  /^ {0,3}\[(\d{1,2})\]:[ \t]+<?(https:\/\/[^\s<>]{1,2000})>?(?:[ \t]+(?:"([^"]*)"|'([^']*)'|\(([^()]*)\)))?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/** Extracts the sources from a text. */
export function parseCitations(
  text: string,
): { readonly text: string; readonly citations: readonly Citation[] } {
  const lines = text.split("\n");
  const isCode = codeLines(lines);
  const found = new Map<number, Citation & { readonly line: number }>();
  lines.forEach((each, line) => {
    const citation = isCode[line] === true ? undefined : parseDefinition(each);
    if (citation !== undefined && !found.has(citation.position)) {
      found.set(citation.position, { ...citation, line });
    }
  });
  const definitions = new Set([...found.values()].map(({ line }) => line));
  const prose = lines.filter((_, line) => !definitions.has(line)).join("\n");
  const cited = [...found.values()].filter(({ position }) => prose.includes(`[${position}]`));
  if (cited.length === 0) return { text, citations: [] };
  const removed = new Set(cited.map(({ line }) => line));
  return {
    text: lines.filter((_, line) => !removed.has(line)).join("\n").trimEnd(),
    citations: cited.map(({ line: _, ...citation }) => citation)
      .sort((a, b) => a.position - b.position),
  };
}

/** Returns the citations whose number appears in one message of an answer. */
export function citationsIn(
  message: string,
  citations: readonly Citation[],
): readonly Citation[] {
  return citations.filter(({ position }) => message.includes(`[${position}]`));
}

/**
 * Returns the part of an unfinished text that may be shown: without its sources, and without a
 * last line that may become one. Text that was shown cannot be withdrawn.
 */
export function withoutSources(text: string): string {
  const lines = text.split("\n");
  const isCode = codeLines(lines);
  const last = lines.length - 1;
  const isOpen = isCode[last] !== true &&
    /^ {0,3}\[(?:\d{0,2}|\d{1,2}\](?::.*)?)$/.test(lines[last] ?? "");
  return lines.filter((line, at) => {
    if (at === last && isOpen) return false;
    return isCode[at] === true || parseDefinition(line) === undefined;
  }).join("\n");
}

function parseDefinition(line: string): Citation | undefined {
  const [, number = "", url = "", ...titles] = DEFINITION.exec(line) ?? [];
  const position = Number(number);
  if (!(position >= 1 && position <= TEAMCHAT_LIMITS.citationsMax) || !URL.canParse(url)) {
    return undefined;
  }
  const parsed = new URL(url);
  // A user name before the host can be mistaken for the host.
  if (parsed.username !== "" || parsed.password !== "") return undefined;
  const place = `${parsed.host}${parsed.pathname === "/" ? "" : parsed.pathname}`;
  const title = oneLine(titles.find((each) => each !== undefined) ?? "") || place;
  const { citationNameMax, citationAbstractMax } = TEAMCHAT_LIMITS;
  return {
    position,
    url: parsed.href,
    name: cut(title, citationNameMax),
    abstract: cut(title.length > citationNameMax ? title : place, citationAbstractMax),
  };
}

/** Reports for each line whether it is in a code fence, or one of its markers. */
function codeLines(lines: readonly string[]): readonly boolean[] {
  let fence: string | undefined;
  return lines.map((line) => {
    const mark = FENCE.exec(line)?.[1];
    if (fence === undefined) {
      fence = mark;
      return mark !== undefined;
    }
    if (mark !== undefined && mark[0] === fence[0] && mark.length >= fence.length) {
      fence = undefined;
    }
    return true;
  });
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\s]+/gu, " ").trim();
}

function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return `${text.slice(0, max - 1).toWellFormed().replace(/\ufffd$/, "")}…`;
}
