/**
 * Renders markdown tokens. No text becomes HTML, a URL that is fetched, or a script: raw HTML is
 * shown as text, images as links, and links go only to http, https and mailto.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { useMemo, useRef } from "preact/hooks";
import type { Tokens } from "marked";
import { clean } from "core/text/clean.ts";
import {
  decodeEntities,
  type GrowingMarkdown,
  growMarkdown,
  type MarkdownToken,
  parseMarkdown,
  safeHref,
} from "gateway/web/state/markdown.ts";
import { CodeBlock, LongText } from "gateway/web/view/long_text.tsx";

/** A finished text. */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }) {
  const cleaned = useMemo(() => clean(text), [text]);
  const tokens = useMemo(() => parseMarkdown(cleaned), [cleaned]);
  return tokens === undefined
    ? <LongText text={cleaned} />
    : <div class="prose">{tokens.map(block)}</div>;
});

/** A growing text; finished blocks are not rendered again. */
export function LiveMarkdown({ text }: { readonly text: string }) {
  const grown = useRef<GrowingMarkdown | undefined>(undefined);
  grown.current = growMarkdown(grown.current, clean(text));
  const { blocks, last, source, done } = grown.current;
  return (
    <div class="prose is-live">
      {blocks.map((tokens, index) => <Block tokens={tokens} key={index} />)}
      {last === undefined ? <LongText text={source.slice(done)} /> : last.map(block)}
    </div>
  );
}

const Block = memo(function Block({ tokens }: { readonly tokens: readonly MarkdownToken[] }) {
  return <>{tokens.map(block)}</>;
});

function block(token: MarkdownToken, index: number): ComponentChildren {
  switch (token.type) {
    case "heading":
      return heading(token as Tokens.Heading, index);
    case "paragraph":
      return <p key={index}>{inline(token.tokens)}</p>;
    case "text":
      return <p key={index}>{token.tokens === undefined ? plain(token) : inline(token.tokens)}</p>;
    case "code":
      return (
        <CodeBlock
          key={index}
          text={(token as Tokens.Code).text}
          language={(token as Tokens.Code).lang ?? ""}
        />
      );
    case "blockquote":
      return <blockquote key={index}>{token.tokens?.map(block)}</blockquote>;
    case "list":
      return list(token as Tokens.List, index);
    case "table":
      return table(token as Tokens.Table, index);
    case "hr":
      return <hr key={index} />;
    case "html":
      return <pre key={index} class="raw">{token.raw.trimEnd()}</pre>;
    case "space":
    case "def":
      return null;
    default:
      return <p key={index}>{token.raw}</p>;
  }
}

/** Headings of a message rank below those of the page. */
function heading(token: Tokens.Heading, key: number) {
  const Level = token.depth === 1 ? "h3" : token.depth === 2 ? "h4" : "h5";
  return <Level key={key}>{inline(token.tokens)}</Level>;
}

function list(token: Tokens.List, key: number) {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined}>
      {item.task ? <span class="task-box">{item.checked ? "☑" : "☐"}</span> : null}
      {item.tokens.filter(({ type }) =>
        type !== "checkbox"
      ).map((inner, at) =>
        !item.loose && inner.type === "text"
          ? <span key={at}>{inner.tokens === undefined ? plain(inner) : inline(inner.tokens)}</span>
          : block(inner, at)
      )}
    </li>
  ));
  if (!token.ordered) return <ul key={key}>{items}</ul>;
  return <ol key={key} start={token.start === "" ? 1 : token.start}>{items}</ol>;
}

function table(token: Tokens.Table, key: number) {
  return (
    <div class="table-scroll" key={key} tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {token.header.map((cell, at) => <th key={at} scope="col">{inline(cell.tokens)}</th>)}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => <td key={column}>{inline(cell.tokens)}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly MarkdownToken[] | undefined): ComponentChildren {
  return tokens?.map(span);
}

function plain(token: MarkdownToken): string {
  return decodeEntities("text" in token && typeof token.text === "string" ? token.text : token.raw);
}

function span(token: MarkdownToken, index: number): ComponentChildren {
  switch (token.type) {
    case "strong":
      return <strong key={index}>{inline(token.tokens)}</strong>;
    case "em":
      return <em key={index}>{inline(token.tokens)}</em>;
    case "del":
      return <del key={index}>{inline(token.tokens)}</del>;
    case "codespan":
      return <code key={index}>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br key={index} />;
    case "link":
      return link(token as Tokens.Link, index);
    case "image":
      return image(token as Tokens.Image, index);
    case "html":
      return <span key={index} class="raw">{token.raw}</span>;
    case "text":
      return token.tokens === undefined ? plain(token) : inline(token.tokens);
    case "escape":
      return plain(token);
    default:
      return token.raw;
  }
}

function link(token: Tokens.Link, key: number) {
  const href = safeHref(token.href);
  if (href === undefined) return <span key={key}>{token.raw}</span>;
  return (
    <a key={key} href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {inline(token.tokens)}
    </a>
  );
}

/** An image is never loaded: its URL alone can leak data. */
function image(token: Tokens.Image, key: number) {
  const href = safeHref(token.href);
  const words = `image: ${token.text === "" ? token.href.slice(0, 200) : token.text}`;
  if (href === undefined) return <span key={key} class="raw">{token.raw}</span>;
  return (
    <a
      key={key}
      class="image-link"
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      title={href}
    >
      {words}
    </a>
  );
}
