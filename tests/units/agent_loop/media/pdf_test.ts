/**
 * What the bytes of a PDF say, and which PDFs no model could read.
 *
 * @module
 */

import assert from "node:assert/strict";
import { PDF_LIMITS, readPdf } from "units/agent_loop/media/pdf.ts";
import { samplePdf } from "tests/support/sample_pdf.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text);

Deno.test("readPdf() counts the pages", () => {
  for (const pages of [1, PDF_LIMITS.pagesMax]) {
    const read = readPdf(samplePdf(pages));
    assert.ok(read.ok);
    assert.equal(read.value.pages, pages);
  }
  const packed = readPdf(bytesOf("%PDF-1.7\n1 0 obj << /Type /ObjStm >> endobj\n%%EOF\n"));
  assert.ok(packed.ok);
  assert.equal(packed.value.pages, undefined);
});

const UNFIT: readonly (readonly [string, Uint8Array, RegExp])[] = [
  ["a web page", bytesOf("<html>%%EOF"), /not a PDF/],
  ["half a file", samplePdf(1).subarray(0, 60), /cut off/],
  ["an encrypted file", samplePdf(1, "/Encrypt 9 0 R "), /password/],
  ["too many pages", samplePdf(PDF_LIMITS.pagesMax + 1), /101 pages, must have at most 100/],
  ["too many bytes", new Uint8Array(PDF_LIMITS.bytesMax + 1), /bytes, must have at most/],
];

for (const [name, bytes, state] of UNFIT) {
  Deno.test(`readPdf() refuses ${name}`, () => {
    const read = readPdf(bytes);
    assert.ok(!read.ok);
    assert.match(read.error, state);
  });
}
