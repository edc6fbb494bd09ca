/**
 * Reads the PDFs of an ACP prompt or of a tool result: a link to a file, or embedded bytes. Pure.
 *
 * @module
 */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { isRecord } from "core/text/json_object.ts";
import type { NewPdf } from "units/agent_loop/media/store.ts";

const PDF_TYPE = "application/pdf";

/** Returns the PDFs of a prompt. */
export function promptPdfs(blocks: readonly ContentBlock[]): readonly NewPdf[] {
  return blocks.flatMap((block) => pdfOf(block) ?? []);
}

/** Returns the PDF of a block of a prompt; undefined for other blocks. */
export function pdfOf(block: ContentBlock): NewPdf | undefined {
  if (block.type !== "resource_link") return embeddedPdf(block);
  if (block.mimeType !== PDF_TYPE || !block.uri.startsWith("file:///")) return undefined;
  try {
    return { name: block.name, path: decodeURIComponent(new URL(block.uri).pathname) };
  } catch {
    // An invalid escape: the model gets the link as text.
    return undefined;
  }
}

/** Returns the embedded PDF of a block of ACP or MCP; undefined for other blocks. */
export function embeddedPdf(
  block: unknown,
): { readonly name: string; readonly base64: string } | undefined {
  if (!isRecord(block) || block.type !== "resource" || !isRecord(block.resource)) return undefined;
  const { mimeType, blob, uri } = block.resource;
  if (mimeType !== PDF_TYPE || typeof blob !== "string") return undefined;
  return { name: String(uri).split(/[/\\]/).at(-1)?.slice(0, 120) || "document.pdf", base64: blob };
}
