/**
 * The bytes of images in conversations: `~/.runtime-b/agent/media/<sha256>`, mode 0600. Equal bytes
 * are stored once. A file is on the disk before a record refers to it. When the files exceed a
 * limit, the oldest ones are removed; the model then reads a text in their place.
 *
 * @module
 */

import { errorText } from "core/errors.ts";
import { readBase64Image } from "core/images/image.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { type MediaRef } from "units/agent_loop/media/media.ts";

/** Bytes and files that are kept for all conversations of an agent. */
export const STORE_LIMITS = { bytesMax: 256 * 1024 * 1024, filesMax: 1_000 } as const;

/** The stored media of an agent. */
export interface MediaStore {
  /**
   * Stores images in base64 and returns references to them. Leaves out what is not a usable image,
   * and images beyond the limits of one message. Rejects when the disk refuses.
   */
  keepImages(images: readonly string[]): Promise<readonly MediaRef[]>;
  /** Returns the media that are still stored, by digest, in base64. */
  load(refs: readonly MediaRef[]): Promise<ReadonlyMap<string, string>>;
}

/** Opens the store. */
export function createMediaStore(
  folder: string,
  { files, log }: { readonly files: Files; readonly log: Log },
): MediaStore {
  const pathOf = ({ sha256 }: MediaRef) => `${folder}/${sha256}`;

  async function trim(): Promise<void> {
    const dated = (await Promise.all((await files.list(folder)).map(async (name) => {
      const stat = await files.stat(`${folder}/${name}`);
      return { name, at: stat?.mtimeMs ?? 0, bytes: stat?.size ?? 0 };
    }))).sort((a, b) => b.at - a.at);
    let bytes = 0;
    for (const [index, file] of dated.entries()) {
      bytes += file.bytes;
      const isKept = index < STORE_LIMITS.filesMax && bytes <= STORE_LIMITS.bytesMax;
      if (!isKept) await files.remove(`${folder}/${file.name}`);
    }
  }

  /** Writes the file again if it exists, so that it becomes the newest. */
  async function keep(ref: MediaRef, bytes: Uint8Array): Promise<MediaRef> {
    await files.ensureDir(folder, { mode: 0o700 });
    await files.write(pathOf(ref), bytes, { mode: 0o600 });
    return ref;
  }

  return {
    async keepImages(images) {
      const kept: MediaRef[] = [];
      let total = 0;
      for (const base64 of images) {
        const image = readBase64Image(base64);
        if (!image.ok || kept.length === IMAGE_LIMITS.perMessageMax) continue;
        const { type, width, height, bytes } = image.value;
        if (total + bytes > IMAGE_LIMITS.messageBytesMax) continue;
        total += bytes;
        const data = Uint8Array.fromBase64(base64);
        const sha256 = await digestOf(data);
        const ref = { kind: "image", media_type: type, sha256, bytes, width, height } as const;
        kept.push(await keep(ref, data));
      }
      if (kept.length > 0) await trim();
      return kept;
    },
    async load(refs) {
      const loaded = new Map<string, string>();
      for (const ref of refs) {
        if (loaded.has(ref.sha256)) continue;
        try {
          // A file that was changed is not what the record describes.
          if ((await files.stat(pathOf(ref)))?.size !== ref.bytes) continue;
          const bytes = await files.readBytes(pathOf(ref));
          if (bytes === undefined || await digestOf(bytes) !== ref.sha256) continue;
          loaded.set(ref.sha256, bytes.toBase64());
        } catch (error) {
          log.warning("medium not read", { sha256: ref.sha256, reason: errorText(error) });
        }
      }
      return loaded;
    },
  };
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
