/**
 * Reads the images of an ACP prompt. The bytes decide what is an image. Pure.
 *
 * @module
 */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { refusal } from "core/errors.ts";
import { readBase64Image } from "core/images/image.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import { err, ok, type Result } from "core/result.ts";

/** Returns the images in base64; refuses a prompt with an image that no model could see. */
export function promptImages(blocks: readonly ContentBlock[]): Result<readonly string[]> {
  const images: string[] = [];
  let bytes = 0;
  for (const block of blocks) {
    if (block.type !== "image") continue;
    const image = readBase64Image(block.data);
    if (!image.ok) return unfit(image.error.state);
    bytes += image.value.bytes;
    images.push(block.data);
  }
  const { perMessageMax, messageBytesMax } = IMAGE_LIMITS;
  if (images.length > perMessageMax) {
    return unfit(`the message has ${images.length} images, must have at most ${perMessageMax}`);
  }
  if (bytes > messageBytesMax) {
    return unfit(`the images have ${bytes} bytes together, must have at most ${messageBytesMax}`);
  }
  return ok(images);
}

function unfit(state: string): Result<never> {
  return err(refusal("image-unfit", `Cannot show the image to the model: ${state}`));
}
