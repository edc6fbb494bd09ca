/**
 * Images and PDFs of a conversation. A record of the session file only refers to them: the bytes
 * are in separate files (`media/store.ts`). Pure.
 *
 * @module
 */

import * as z from "zod";
import { IMAGE_TYPES, imageWords, sizeWords } from "core/images/image.ts";

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const count = z.number().int().nonnegative();

/** A reference to stored bytes. */
const mediaRef = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("image"),
    media_type: z.enum(IMAGE_TYPES),
    sha256: digest,
    bytes: count,
    width: count,
    height: count,
  }),
  z.object({
    kind: z.literal("pdf"),
    media_type: z.literal("application/pdf"),
    sha256: digest,
    bytes: count,
    /** Absent when the list of pages is compressed. */
    pages: count.optional(),
    name: z.string(),
    /** Where tools can read it. */
    path: z.string(),
  }),
]);
/** One of `mediaRef`. */
export type MediaRef = z.infer<typeof mediaRef>;
/** Kind of a medium. */
export type MediaKind = MediaRef["kind"];

/** References in a record. Those of a newer version are ignored: the text names each medium. */
export const mediaRefs = z.array(mediaRef).optional().catch(undefined);

/** A message that can refer to media. */
interface WithMedia {
  readonly text: string;
  readonly media?: readonly MediaRef[];
}

/** Why the model does not see a medium. */
export type HiddenWhy = "model" | "endpoint" | "window" | "lost";

const WHY: Readonly<Record<HiddenWhy, string>> = {
  model: "not shown, because this model accepts no such content",
  endpoint: "not shown, because the model endpoint refused it",
  window: "left out to fit the model's window",
  lost: "not shown, because it is no longer stored",
};

/** Names a medium for the model: `image 640×480 PNG, 12 KB` or `PDF a.pdf, 3 pages, 12 KB`. */
function mediaWords(ref: MediaRef): string {
  if (ref.kind === "pdf") {
    const pages = ref.pages === undefined ? "" : `, ${ref.pages} pages`;
    return `PDF ${ref.name}${pages}, ${sizeWords(ref.bytes)}`;
  }
  return `image ${imageWords({ ...ref, type: ref.media_type })}`;
}

/** Most tokens that a model counts for an image; endpoints scale larger ones down. */
const IMAGE_TOKENS_MAX = 4_800;
const IMAGE_TOKENS_MIN = 256;
/** Pixels per token, as the endpoints document them. */
const PIXELS_PER_TOKEN = 750;

/** Text and picture of a page, as endpoints count them. */
const PAGE_TOKENS = 3_000;
/** Size of a page, where the number of pages is unknown. */
const PAGE_BYTES = 32 * 1024;

/** Estimates the tokens of a medium. The estimate errs on the high side. */
export function mediaTokens(ref: MediaRef): number {
  if (ref.kind === "pdf") {
    return (ref.pages ?? Math.ceil(ref.bytes / PAGE_BYTES)) * PAGE_TOKENS;
  }
  const tokens = Math.ceil(ref.width * ref.height / PIXELS_PER_TOKEN);
  return Math.min(IMAGE_TOKENS_MAX, Math.max(IMAGE_TOKENS_MIN, tokens));
}

/** Replaces the media that `why` hides by a text in the message that says so. */
export function hideMedia<Message extends WithMedia>(
  message: Message,
  why: (ref: MediaRef, place: number) => HiddenWhy | undefined,
): Message {
  const { media = [], ...rest } = message;
  let { text } = message;
  const shown: MediaRef[] = [];
  for (const [place, ref] of media.entries()) {
    const hidden = why(ref, place);
    if (hidden === undefined) shown.push(ref);
    else text = withPlaceholder(text, ref, hidden);
  }
  if (shown.length === media.length) return message;
  const kept = shown.length === 0 ? {} : { media: shown };
  return { ...rest, text, ...kept } as unknown as Message;
}

function withPlaceholder(text: string, ref: MediaRef, why: HiddenWhy): string {
  const named = `[${mediaWords(ref)}]`;
  const where = ref.kind === "pdf" ? `; the file is ${ref.path}` : "";
  const placeholder = `[${mediaWords(ref)}: ${WHY[why]}${where}]`;
  if (text.includes(named)) return text.replace(named, () => placeholder);
  return text === "" ? placeholder : `${text}\n${placeholder}`;
}
