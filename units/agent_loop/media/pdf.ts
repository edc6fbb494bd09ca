/**
 * Reads what the bytes of a PDF say: whether it is whole, whether it needs a password, and its
 * pages. Pages are not decoded. Pure.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";

const MIB = 1024 * 1024;

/** PDFs in turns. */
export const PDF_LIMITS = {
  /** Size of a PDF. Two of them fit in one request, with room for images. */
  bytesMax: 5 * MIB,
  /** Pages of a PDF; model endpoints refuse more. */
  pagesMax: 100,
  /** PDFs of one message or tool result that the model sees. */
  perMessageMax: 2,
} as const;

/** What the bytes of a PDF say. */
export interface PdfInfo {
  readonly bytes: number;
  /** Undefined when the list of pages is compressed. */
  readonly pages: number | undefined;
}

/** The header may follow other data, and the end may precede some; readers accept this much. */
const EDGE_BYTES = 1024;

/** Reads a PDF; the error is a clause such as "its content is cut off". */
export function readPdf(bytes: Uint8Array): Result<PdfInfo, string> {
  const { bytesMax, pagesMax } = PDF_LIMITS;
  if (bytes.length > bytesMax) {
    return err(`it has ${bytes.length} bytes, must have at most ${bytesMax}`);
  }
  const text = new TextDecoder("latin1").decode(bytes);
  if (!text.slice(0, EDGE_BYTES).includes("%PDF-")) return err("its content is not a PDF");
  if (!text.slice(-EDGE_BYTES).includes("%%EOF")) return err("its content is cut off");
  if (/\/Encrypt[\s<\d]/.test(text)) return err("it is protected by a password");
  const pages = pagesOf(text);
  if (pages !== undefined && pages > pagesMax) {
    return err(`it has ${pages} pages, must have at most ${pagesMax}`);
  }
  return ok({ bytes: bytes.length, pages });
}

/** Returns the number of page objects. */
function pagesOf(text: string): number | undefined {
  const pages = text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0;
  return pages === 0 ? undefined : pages;
}
