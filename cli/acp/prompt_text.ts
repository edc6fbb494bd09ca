/**
 * The text of a turn from the blocks of an editor's prompt. A turn carries text only, so files that
 * the editor embeds follow as text. Pure.
 *
 * @module
 */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { refusal } from "core/errors.ts";
import { err, ok, type Result } from "core/result.ts";

/** Returns the text; refuses images and audio. */
export function promptText(blocks: readonly ContentBlock[]): Result<string> {
  let text = "";
  const files: string[] = [];
  for (const [at, block] of blocks.entries()) {
    switch (block.type) {
      case "text":
        // Editors split a sentence around its links, so only adjacent texts begin on a new line.
        text += blocks[at - 1]?.type === "text" ? `\n${block.text}` : block.text;
        break;
      case "resource_link":
        text += link(block.name, block.uri);
        break;
      case "resource": {
        const { resource } = block;
        text += link(lastPart(resource.uri), resource.uri);
        files.push(
          "text" in resource
            ? embedded(resource.uri, resource.text)
            : `(${resource.uri} has binary content, which was left out.)`,
        );
        break;
      }
      default:
        return err(unfit(block));
    }
  }
  return ok([text, ...files].filter((part) => part !== "").join("\n\n"));
}

function link(name: string, uri: string): string {
  return `[${name}](${uri})`;
}

function embedded(uri: string, text: string): string {
  return `<context ref="${uri.replaceAll('"', "%22")}">\n${text}\n</context>`;
}

function lastPart(uri: string): string {
  return uri.split(/[#?]/, 1)[0]?.split("/").at(-1) || uri;
}

function unfit({ type }: ContentBlock) {
  return refusal(
    "prompt-unfit",
    `Cannot accept the prompt: it contains a block of type "${type}", must be text, links or ` +
      "embedded files",
    { kind: "usage" },
  );
}
