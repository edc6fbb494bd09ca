/**
 * A small PDF for tests, with blank pages.
 *
 * @module
 */

/** Returns a PDF with this many pages; `extra` goes into its trailer. */
export function samplePdf(pages: number, extra = ""): Uint8Array<ArrayBuffer> {
  const kids = Array.from({ length: pages }, (_, index) => `${index + 3} 0 R`);
  const bodies = kids.map((_, index) =>
    `${index + 3} 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 72 72] >> endobj`
  );
  return new TextEncoder().encode([
    "%PDF-1.4",
    "1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj",
    `2 0 obj << /Type /Pages /Kids [${kids.join(" ")}] /Count ${pages} >> endobj`,
    ...bodies,
    `trailer << /Root 1 0 R ${extra}>>`,
    "%%EOF",
    "",
  ].join("\n"));
}
