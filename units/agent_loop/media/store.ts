/**
 * The bytes of images and PDFs in conversations: `~/.runtime-b/agent/media/<sha256>`, mode 0600.
 * Equal bytes are stored once. A file is on the disk before a record refers to it. When the files
 * exceed a limit, the oldest ones are removed; the model then reads a text in their place.
 *
 * @module
 */

import { defined } from "core/defined.ts";
import { errorText } from "core/errors.ts";
import { readBase64Image } from "core/images/image.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import type { Files } from "core/ports/files.ts";
import type { Log } from "core/ports/log.ts";
import { err, ok, type Result } from "core/result.ts";
import type { MediaRef } from "units/agent_loop/media/media.ts";
import { PDF_LIMITS, readPdf } from "units/agent_loop/media/pdf.ts";

/** Bytes and files that are kept for all conversations of an agent. */
export const STORE_LIMITS = { bytesMax: 256 * 1024 * 1024, filesMax: 1_000 } as const;

/** A PDF of a message or result: a file of the agent, or bytes in base64. */
export type NewPdf =
  & { readonly name: string }
  & ({ readonly path: string } | { readonly base64: string });

/** PDFs that are stored, and notes about others. */
export interface KeptPdfs {
  readonly media: readonly MediaRef[];
  readonly notes: readonly string[];
}

/** The stored media of an agent. */
export interface MediaStore {
  /**
   * Stores images in base64 and returns references to them. Leaves out what is not a usable image,
   * and images beyond the limits of one message. Rejects when the disk refuses.
   */
  keepImages(images: readonly string[]): Promise<readonly MediaRef[]>;
  /**
   * Stores PDFs. Leaves out those that no model could read, with a note for the model and people.
   * Rejects when the disk refuses.
   */
  keepPdfs(pdfs: readonly NewPdf[]): Promise<KeptPdfs>;
  /** Returns the media that are still stored, by digest, in base64. */
  load(refs: readonly MediaRef[]): Promise<ReadonlyMap<string, string>>;
}

/** Opens the store. */
export function createMediaStore(
  folder: string,
  { files, log }: { readonly files: Files; readonly log: Log },
): MediaStore {
  const store = openFolder(folder, files);

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
        kept.push(await store.keep(ref, data));
      }
      if (kept.length > 0) await store.trim();
      return kept;
    },
    async keepPdfs(pdfs) {
      const media: MediaRef[] = [];
      const notes: string[] = [];
      for (const pdf of pdfs) {
        const kept = media.length === PDF_LIMITS.perMessageMax
          ? err(`the model sees at most ${PDF_LIMITS.perMessageMax} PDFs at once`)
          : await keepPdf(pdf, store, files);
        if (kept.ok) media.push(kept.value);
        else notes.push(`[The model does not see the PDF ${nameOf(pdf)}: ${kept.error}]`);
      }
      if (media.length > 0) await store.trim();
      return { media, notes };
    },
    async load(refs) {
      const loaded = new Map<string, string>();
      for (const ref of refs) {
        if (loaded.has(ref.sha256)) continue;
        try {
          // A file that was changed is not what the record describes.
          if ((await files.stat(store.pathOf(ref)))?.size !== ref.bytes) continue;
          const bytes = await files.readBytes(store.pathOf(ref));
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

/** The folder of the media. */
interface MediaFolder {
  pathOf(ref: Pick<MediaRef, "sha256">): string;
  /** Writes the file again if it exists, so that it becomes the newest. */
  keep(ref: MediaRef, bytes: Uint8Array): Promise<MediaRef>;
  /** Removes the oldest files beyond the limits. */
  trim(): Promise<void>;
}

function openFolder(folder: string, files: Files): MediaFolder {
  const pathOf = ({ sha256 }: Pick<MediaRef, "sha256">) => `${folder}/${sha256}`;
  return {
    pathOf,
    keep: async (ref, bytes) => {
      await files.ensureDir(folder, { mode: 0o700 });
      await files.write(pathOf(ref), bytes, { mode: 0o600 });
      return ref;
    },
    trim: async () => {
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
    },
  };
}

async function keepPdf(
  pdf: NewPdf,
  store: MediaFolder,
  files: Files,
): Promise<Result<MediaRef, string>> {
  const bytes = await bytesOf(pdf, files);
  if (!bytes.ok) return bytes;
  const info = readPdf(bytes.value);
  if (!info.ok) return info;
  const sha256 = await digestOf(bytes.value);
  const path = "path" in pdf ? pdf.path : store.pathOf({ sha256 });
  const ref = { kind: "pdf", media_type: "application/pdf", sha256, name: pdf.name } as const;
  const { pages } = info.value;
  const kept = { ...ref, bytes: info.value.bytes, ...defined({ pages }), path };
  return ok(await store.keep(kept, bytes.value));
}

/** Names a PDF in a note, with its path if there is one. */
function nameOf(pdf: NewPdf): string {
  return "path" in pdf ? `${pdf.name} (${pdf.path})` : pdf.name;
}

async function bytesOf(
  pdf: NewPdf,
  files: Files,
): Promise<Result<Uint8Array<ArrayBuffer>, string>> {
  const { bytesMax } = PDF_LIMITS;
  const tooLarge = err(`it must have at most ${bytesMax} bytes`);
  if ("path" in pdf) {
    try {
      const stat = await files.stat(pdf.path);
      if (stat?.kind !== "file") return err("there is no such file");
      if (stat.size > bytesMax) return tooLarge;
      return ok(await files.readBytes(pdf.path) ?? new Uint8Array());
    } catch (error) {
      return err(`it cannot be read: ${errorText(error)}`);
    }
  }
  if (pdf.base64.length > Math.ceil(bytesMax / 3) * 4 + 4) return tooLarge;
  try {
    return ok(Uint8Array.fromBase64(pdf.base64));
  } catch {
    return err("its content is not base64");
  }
}

async function digestOf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
