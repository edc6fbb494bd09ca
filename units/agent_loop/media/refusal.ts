/**
 * Whether a model endpoint refused a request because of its images, and what to send instead. The
 * protocols have no code for that, so the endpoint's words decide. Pure.
 *
 * @module
 */

import type { MediaKind, MediaRef } from "units/agent_loop/media/media.ts";
import type { MediaRules } from "units/agent_loop/media/shown.ts";
import type { ModelFault } from "units/agent_loop/model/fault.ts";

/** What an endpoint refused: everything of a kind, or only the media of that request. */
export interface MediaRefusal {
  readonly kind: MediaKind;
  readonly scope: "kind" | "request";
}

/** Words by which endpoints name the refused content. */
const KIND_WORDS: Readonly<Record<MediaKind, readonly string[]>> = {
  pdf: ["pdf", "document", "input_file", "file_data", "'file'", '"file"'],
  image: ["image", "vision", "multimodal", "multi-modal", "mmproj"],
};
/** Phrases of endpoints whose model accepts no such content at all. */
const UNSUPPORTED_PHRASES = [
  "support",
  "only accepts text",
  "text-only",
  "at most 0",
  "not a multimodal",
  "not a vision",
  "no vision",
  "expected `text`",
  "unknown variant",
  "mmproj",
  "missing data required",
  "invalid content type",
];
/** Phrases of endpoints that accept no list of parts, or no message of a user after a result. */
const SHAPE_PHRASES = [
  "expected a string",
  "must be a string",
  "be a valid string",
  "role 'user' after role 'tool'",
];

/** Returns what the endpoint refused; undefined for any other fault. */
export function mediaRefusal(
  fault: ModelFault,
  sent: readonly MediaRef[],
): MediaRefusal | undefined {
  const isRefusal = fault.code === "model-request-refused" || fault.code === "model-not-found";
  if (!isRefusal && fault.code !== "model-overloaded") return undefined;
  const text = fault.reason.toLowerCase();
  const has = (phrases: readonly string[]) => phrases.some((phrase) => text.includes(phrase));
  // Endpoints render the pages of a PDF, so a fault of a PDF may also name images.
  const kinds = (["pdf", "image"] as const).filter((kind) => sent.some((ref) => ref.kind === kind));
  const [first] = kinds;
  if (first === undefined) return undefined;
  if (isRefusal && has(SHAPE_PHRASES)) return { kind: first, scope: "kind" };
  const kind = kinds.find((each) => has(KIND_WORDS[each]));
  if (kind === undefined) return undefined;
  if (has(UNSUPPORTED_PHRASES)) return { kind, scope: "kind" };
  // A fault of the endpoint itself can name an image by chance.
  return isRefusal ? { kind, scope: "request" } : undefined;
}

/** What a session has learned about its model; a restart of the runtime forgets it. */
export class MediaMemory {
  readonly #kinds = new Set<MediaKind>();
  readonly #digests = new Set<string>();

  /** Records a refusal of a request with these media. */
  refuse({ kind, scope }: MediaRefusal, sent: readonly MediaRef[]): void {
    if (scope === "kind") this.#kinds.add(kind);
    for (const ref of sent) if (ref.kind === kind) this.#digests.add(ref.sha256);
  }

  /** Returns the rules for a model that accepts these kinds. */
  rules(accepts: readonly MediaKind[]): MediaRules {
    return {
      accepts: new Set(accepts.filter((kind) => !this.#kinds.has(kind))),
      refused: this.#digests,
    };
  }
}

/** Describes a refusal for people. */
export function refusalNotice({ kind, scope }: MediaRefusal, fault: ModelFault): string {
  const names = kind === "pdf" ? "PDFs" : "images";
  return scope === "kind"
    ? `The model accepts no ${names}, so it gets a text in their place: ${fault.reason}`
    : `The endpoint refused the ${names} of this request; trying again without them: ` +
      fault.reason;
}
