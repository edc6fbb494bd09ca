/**
 * Images of turns: those of a message, which the model sees, and those that programs and tools
 * produce, which the transcript shows. What is an image follows from its bytes only.
 *
 * @module
 */

import type { AttachmentInfo } from "core/dial/event.ts";
import type { TurnFile } from "core/dial/frames.ts";
import { claimsImage, imageName, imageWords, readImage } from "core/images/image.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import type { ProducedImage, PromptImage, PromptPdf } from "units/dial/runtimes/driver.ts";
import { oneLine } from "units/dial/turn_files.ts";
import type { TurnFolder } from "units/dial/turn_folder.ts";

/** The images of a message. */
export interface MessageImages {
  readonly images: readonly PromptImage[];
  /** The files that claim to be PDFs; the program reads them. */
  readonly pdfs: readonly PromptPdf[];
  /** Why the model does not see others, for the model and the person. */
  readonly notes: readonly string[];
}

/** A produced image that is kept. */
export type KeptImage = AttachmentInfo & { readonly path: string };

/** Images of turns. */
export interface TurnImages {
  /** Reads the images among the files of a message. */
  forPrompt(turnId: string, files: readonly TurnFile[]): Promise<MessageImages>;
  /** Describes the files of a message for its transcript. */
  describe(turnId: string, files: readonly TurnFile[]): Promise<readonly AttachmentInfo[]>;
  /** Stores a produced image. The error is a clause. */
  keep(turnId: string, image: ProducedImage): Promise<KeptImage | string>;
}

/** Number of the first produced image of a turn; those before it belong to the message. */
const PRODUCED_FROM = 65;

/** Creates the reader and keeper of images. */
export function createTurnImages(folder: TurnFolder): TurnImages {
  let produced = { turnId: "", count: 0 };

  async function read(turnId: string, { n, name }: TurnFile) {
    const path = folder.pathOf({ turnId, n, name });
    const bytes = await folder.read(path, IMAGE_LIMITS.bytesMax);
    return { path, bytes, info: bytes === undefined ? undefined : readImage(bytes) };
  }

  return {
    forPrompt: async (turnId, files) => {
      const images: PromptImage[] = [];
      const notes: string[] = [];
      let total = 0;
      for (const file of files) {
        if (file.fault !== undefined) continue;
        const { path, bytes, info } = await read(turnId, file);
        const claims = claimsImage(file.name, file.content_type);
        const note = (state: string) =>
          notes.push(`The model does not see the image ${oneLine(file.name, 120)}: ${state}`);
        if (bytes === undefined || info === undefined) {
          if (claims) note(`it is missing or has more than ${IMAGE_LIMITS.bytesMax} bytes`);
        } else if (!info.ok) {
          if (claims || info.error.kind !== "other") note(info.error.state);
        } else if (images.length === IMAGE_LIMITS.perMessageMax) {
          note(`a message has at most ${IMAGE_LIMITS.perMessageMax} images`);
        } else if (total + bytes.length > IMAGE_LIMITS.messageBytesMax) {
          note(`the images of a message have at most ${IMAGE_LIMITS.messageBytesMax} bytes`);
        } else {
          total += bytes.length;
          images.push({ path, type: info.value.type, base64: bytes.toBase64() });
        }
      }
      return { images, pdfs: pdfsOf(folder, turnId, files), notes };
    },
    describe: async (turnId, files) =>
      await Promise.all(files.map(async (file) => {
        const { n, name, size = 0 } = file;
        const info = file.fault === undefined ? (await read(turnId, file)).info : undefined;
        if (info?.ok !== true) return { n, name, size };
        const { type, width, height } = info.value;
        return { n, name, size, media_type: type, width, height };
      })),
    keep: async (turnId, image) => {
      const count = produced.turnId === turnId ? produced.count : await keptOf(folder, turnId);
      if (count === IMAGE_LIMITS.producedPerTurnMax) {
        return `a turn keeps at most ${IMAGE_LIMITS.producedPerTurnMax} images`;
      }
      const data = "base64" in image
        ? Uint8Array.fromBase64(image.base64)
        : await folder.read(image.path, IMAGE_LIMITS.bytesMax);
      if (data === undefined) {
        return `it is missing or has more than ${IMAGE_LIMITS.bytesMax} bytes`;
      }
      const info = readImage(data);
      if (!info.ok) return info.error.state;
      const { type, width, height } = info.value;
      produced = { turnId, count: count + 1 };
      const n = PRODUCED_FROM + count;
      const name = imageName(type);
      const path = await folder.keep({ turnId, n, name }, data);
      if (path === undefined) return "it could not be stored";
      return { n, name, size: data.length, media_type: type, width, height, path };
    },
  };
}

function pdfsOf(folder: TurnFolder, turnId: string, files: readonly TurnFile[]) {
  return files.flatMap(({ n, name, content_type: type, fault }) =>
    fault === undefined && claimsPdf(name, type)
      ? [{ name, path: folder.pathOf({ turnId, n, name }) }]
      : []
  );
}

/** Whether a file claims, by its name or declared type, to be a PDF. */
function claimsPdf(name: string, declared = ""): boolean {
  return /\.pdf$/i.test(name) || declared.toLowerCase() === "application/pdf";
}

/** Returns how many images an earlier process of the dial unit has kept for the turn. */
async function keptOf(folder: TurnFolder, turnId: string): Promise<number> {
  return Math.max(0, await folder.highest(turnId) - PRODUCED_FROM + 1);
}

/** Describes an image that is not kept, for the transcript. */
export function lostImage(image: ProducedImage, state: string): string {
  const words = "base64" in image ? imageWords(image) : image.path.slice(0, 500);
  return `The image (${words}) is not in the transcript: ${state}`;
}
