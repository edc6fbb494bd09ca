/**
 * Parses markdown to tokens, never to HTML, with `marked`'s lexer only. For a growing text it
 * keeps finished blocks and parses only the last block again. Pure. Why: ADR 0025.
 *
 * Text that would be slow to parse (too long, too deep) is shown verbatim: the result is
 * `undefined`.
 *
 * @module
 */

import { Lexer, type Token } from "marked";

/** A token of marked. */
export type MarkdownToken = Token;

/** Texts with more characters are not parsed as markdown. */
const MARKDOWN_CHARS_MAX = 65_536;
/** Runs of characters that make the lexer slow or deeply recursive. */
const DEEP = /(?:[>*_[\]()~`]\s?){200}|(?:^[ \t]*(?:[-+*]|\d+[.)])[ \t]+){30}/m;

/**
 * Characters whose pairs the lexer searches for; the time for a paragraph grows with the square of
 * their number.
 */
const PAIRED = /[*_~`[<]/g;
const PAIRED_PARAGRAPH_MAX = 600;
const PAIRED_MAX = 6_000;
/** The lexer does not search code for such pairs. */
const FENCED = /^ {0,3}(`{3,}|~{3,})[^]*?(?:^ {0,3}\1|(?![^]))/gm;

function isSlow(text: string): boolean {
  if (text.length > MARKDOWN_CHARS_MAX || DEEP.test(text)) return true;
  const counts = text.replace(FENCED, "").split(/\n[ \t]*\n/)
    .map((paragraph) => paragraph.match(PAIRED)?.length ?? 0);
  return counts.some((count) => count > PAIRED_PARAGRAPH_MAX) ||
    counts.reduce((sum, count) => sum + count, 0) > PAIRED_MAX;
}

/** Parses a text; undefined when it must be shown verbatim. */
export function parseMarkdown(text: string): readonly MarkdownToken[] | undefined {
  if (isSlow(text)) return undefined;
  try {
    return new Lexer({ gfm: true }).lex(text);
  } catch {
    // The lexer throws on nesting that is deeper than its stack.
    return undefined;
  }
}

/** State of parsing a growing text. */
export interface GrowingMarkdown {
  /** Characters of the finished blocks. */
  readonly done: number;
  readonly source: string;
  readonly blocks: readonly (readonly MarkdownToken[])[];
  /** Tokens of the last block; undefined when it must be shown verbatim. */
  readonly last: readonly MarkdownToken[] | undefined;
}

/** Parses a text. Reuses the earlier state if the text continues it. */
export function growMarkdown(before: GrowingMarkdown | undefined, text: string): GrowingMarkdown {
  const known = before !== undefined && text.startsWith(before.source.slice(0, before.done))
    ? before
    : { done: 0, blocks: [] };
  const rest = text.slice(known.done);
  const tokens = parseMarkdown(rest);
  if (tokens === undefined) return { ...known, source: text, last: undefined };
  // The last block may still grow, even when a blank line follows it.
  const open = tokens.findLastIndex(({ type }) => type !== "space");
  const finished = tokens.slice(0, Math.max(0, open));
  const length = finished.reduce((sum, token) => sum + token.raw.length, 0);
  // marked normalises some characters (tabs, line ends). Then the lengths differ: keep nothing.
  if (length === 0 || rest.slice(0, length) !== finished.map(({ raw }) => raw).join("")) {
    return { ...known, source: text, last: tokens };
  }
  return {
    done: known.done + length,
    source: text,
    blocks: [...known.blocks, finished],
    last: tokens.slice(Math.max(0, open)),
  };
}

const LINK_SCHEME = /^(?:https?:\/\/|mailto:)/i;

/** Returns the URL of a link if it is safe: http, https and mailto only. */
export function safeHref(href: string): string | undefined {
  // deno-lint-ignore no-control-regex -- a browser takes these out before it reads the scheme
  const bare = href.replace(/[\u0000-\u0020]/g, "");
  return LINK_SCHEME.test(bare) && bare.length <= 2_048 && URL.canParse(bare) ? bare : undefined;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
};

/** Decodes the few character references that models write. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,5}));/gi, (whole, ...of) => {
    const [decimal, hex, name] = of as (string | undefined)[];
    if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    return code >= 32 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
