/**
 * Whether a model endpoint refused a request because of its media, and what to send instead. The
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

/**
 * Whether an endpoint refused a request without words about its media. One more try, without them,
 * shows whether they were the cause.
 */
export function mayBeMedia(fault: ModelFault, sent: readonly MediaRef[]): boolean {
  return fault.code === "model-request-refused" && sent.length > 0;
}

/** What a session has learned about its models; a restart of the runtime forgets it. */
export class MediaMemory {
  readonly #models = new Map<string, ModelMemory>();

  /** Returns what is known of one model: a fallback may accept less. */
  of(model: string): ModelMemory {
    const known = this.#models.get(model) ?? new ModelMemory();
    this.#models.set(model, known);
    return known;
  }
}

/** What a session has learned about one model. */
class ModelMemory {
  readonly #kinds = new Set<MediaKind>();
  readonly #digests = new Set<string>();

  /** Records a refusal of a request with these media. */
  refuse({ kind, scope }: MediaRefusal, sent: readonly MediaRef[]): void {
    if (scope === "kind") this.#kinds.add(kind);
    this.leaveOut(sent.filter((ref) => ref.kind === kind));
  }

  /** Records that the endpoint answered only without these media. */
  leaveOut(media: readonly MediaRef[]): void {
    for (const { sha256 } of media) this.#digests.add(sha256);
  }

  /** Returns the rules for a model that accepts these kinds, without the `withheld` media. */
  rules(accepts: readonly MediaKind[], withheld: readonly MediaRef[] = []): MediaRules {
    return {
      accepts: new Set(accepts.filter((kind) => !this.#kinds.has(kind))),
      refused: new Set([...this.#digests, ...withheld.map(({ sha256 }) => sha256)]),
    };
  }
}

/** Announces the try without media, for people. */
export function withoutMediaNotice(fault: ModelFault): string {
  return `${fault.reason}; trying again without images and PDFs, in case they are the cause`;
}

/** Describes a refusal for people. */
export function refusalNotice({ kind, scope }: MediaRefusal, fault: ModelFault): string {
  const names = kind === "pdf" ? "PDFs" : "images";
  return scope === "kind"
    ? `The model accepts no ${names}, so it gets a text in their place: ${fault.reason}`
    : `The endpoint refused the ${names} of this request; trying again without them: ` +
      fault.reason;
}
