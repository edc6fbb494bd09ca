/**
 * The frame of every page that the login proxy draws itself: plain HTML, one style sheet, no script,
 * and the headers that hold it to that. Text is escaped here and nowhere else.
 *
 * @module
 */

/** Where the style sheet is. */
export const STYLE_PATH = "/auth/style.css";

/** Nothing but our own style sheet, forms and the empty icon; in nobody's frame. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** HTML that is safe to insert; made by `html` only. */
export interface Html {
  readonly markup: string;
}

/** Joins markup and values; values that are not `Html` themselves are escaped. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  let markup = parts[0] ?? "";
  for (const [index, value] of values.entries()) {
    markup += (typeof value === "string" ? escapeHtml(value) : value.markup) +
      (parts[index + 1] ?? "");
  }
  return { markup };
}

/** Nothing. */
export const NO_HTML: Html = { markup: "" };

/** Draws a page. */
export function page(
  content: { readonly title: string; readonly main: Html; readonly isWide?: boolean },
  how: { readonly status?: number; readonly headers?: Headers } = {},
): Response {
  const headers = new Headers(how.headers);
  headers.set("content-type", "text/html; charset=utf-8");
  headers.set("content-security-policy", PAGE_POLICY);
  headers.set("cache-control", "no-store");
  const { markup } = html`
    <!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="robots" content="noindex">
        <title>${content.title}</title>
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="${STYLE_PATH}">
      </head>
      <body>
        <main${content.isWide === true
          ? html`
            class="wide"
          `
          : NO_HTML}>
    ${content.main}
    </main>
    </body>
    </html>
  `;
  return new Response(markup.trimStart(), { status: how.status ?? 200, headers });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
