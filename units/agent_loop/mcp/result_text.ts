/**
 * Converts an MCP tool result to text for the model. Other content becomes a word, and the text is
 * cut to the limit with the cut stated. Pure.
 *
 * @module
 */

import { imageWords, readBase64Image } from "core/images/image.ts";
import { MCP_LIMITS } from "core/limits/mcp.ts";
import { isRecord } from "core/text/json_object.ts";
import { cutMiddle } from "core/text/cut_text.ts";
import { embeddedPdf } from "units/agent_loop/media/prompt_pdfs.ts";
import type { ToolOutcome } from "units/agent_loop/tools/tool.ts";

/** The fields of a `tools/call` result that are used. */
export interface CallResult {
  readonly content?: readonly unknown[] | undefined;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** Converts a tool result to text and status. */
export function toOutcome(result: CallResult): ToolOutcome {
  const texts = (result.content ?? []).map(blockText).filter((text) => text !== "");
  const text = texts.length > 0
    ? texts.join("\n")
    : result.structuredContent === undefined
    ? "[no output]"
    : JSON.stringify(result.structuredContent, null, 2);
  const status = result.isError === true
    ? isDenied(result._meta) ? "denied" : "failed"
    : "completed";
  const pdfs = (result.content ?? []).flatMap((block) => embeddedPdf(block) ?? []);
  const images = (result.content ?? []).flatMap((block) => imageOf(block)?.base64 ?? []);
  return {
    status,
    text: cutMiddle(text, MCP_LIMITS.modelResultBytesMax).text,
    ...(images.length === 0 ? {} : { images }),
    ...(pdfs.length === 0 ? {} : { pdfs }),
  };
}

/** Returns an image that people can be shown; undefined for anything else. */
function imageOf(block: unknown) {
  if (!isRecord(block) || block.type !== "image" || typeof block.data !== "string") {
    return undefined;
  }
  const image = readBase64Image(block.data);
  return image.ok ? image.value : undefined;
}

/** The gate in `fleetctl-mcp` marks its refusals, so that they are not reported as failures. */
function isDenied(meta: Readonly<Record<string, unknown>> | undefined): boolean {
  const mark = meta?.fleetctl;
  return typeof mark === "object" && mark !== null &&
    (mark as { denied?: unknown }).denied === true;
}

function blockText(block: unknown): string {
  if (typeof block !== "object" || block === null) return "";
  const { type, text, data, mimeType, uri, name, resource } = block as Record<string, unknown>;
  switch (type) {
    case "text":
      return typeof text === "string" ? text : "";
    case "image":
    case "audio": {
      const image = imageOf(block);
      if (image !== undefined) return `[image ${imageWords(image)}]`;
      const bytes = typeof data === "string" ? Math.floor(data.length * 3 / 4) : 0;
      return `[${type} ${String(mimeType)}, ${bytes} bytes]`;
    }
    case "resource_link":
      return `[resource ${String(name ?? uri)}: ${String(uri)}]`;
    case "resource": {
      const inner = (resource ?? {}) as Record<string, unknown>;
      return typeof inner.text === "string" ? inner.text : `[resource ${String(inner.uri)}]`;
    }
    default:
      return `[${String(type)}]`;
  }
}
