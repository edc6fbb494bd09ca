/**
 * The template of every login page: plain HTML, one style sheet, no script, and the headers that
 * enforce this. Text is escaped only here.
 *
 * @module
 */

/** Path of the style sheet. */
export const STYLE_PATH = "/auth/style.css";

/** Allows only the login pages' style sheet, forms and the empty icon; forbids framing. */
const PAGE_POLICY = [
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

/** Joins markup and values; escapes values that are not `Html`. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  let markup = parts[0] ?? "";
  for (const [index, value] of values.entries()) {
    markup += (typeof value === "string" ? escapeHtml(value) : value.markup) +
      (parts[index + 1] ?? "");
  }
  return { markup };
}

/** Empty markup. */
export const NO_HTML: Html = { markup: "" };

/** Renders a page. */
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
