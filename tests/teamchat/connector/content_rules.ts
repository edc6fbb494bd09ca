/**
 * What the platform accepts in a message besides its text, as Teams documents it ("Bot messages
 * with AI-generated content", "Send and receive files", "Stream bot messages"). Pure.
 *
 * @module
 */

type Json = Readonly<Record<string, unknown>>;

const ROOT = "https://schema.org/Message";
const FILE_CONSENT = "application/vnd.microsoft.teams.card.file.consent";
const FILE_INFO = "application/vnd.microsoft.teams.card.file.info";
const CARD = "application/vnd.microsoft.card.adaptive";

/** Returns a description of the first error in a body, or undefined. */
export function contentFault(body: Json): string | undefined {
  const entities = Array.isArray(body.entities) ? body.entities as Json[] : [];
  const roots = entities.filter(({ type }) => type === ROOT);
  if (roots.length > 1) return "two root message entities";
  const isTyping = body.type === "typing";
  if (isTyping && (roots.length > 0 || body.attachments !== undefined)) {
    return "an update of a stream has text only";
  }
  const attachments = Array.isArray(body.attachments) ? body.attachments as Json[] : [];
  if (attachments.length > 0 && String(body.text ?? "") !== "") {
    return "text and attachments in one message come apart, and have no id";
  }
  const loop = (body.channelData as { feedbackLoop?: Json } | undefined)?.feedbackLoop;
  if (loop !== undefined && loop.type !== "default" && loop.type !== "custom") {
    return "a feedback loop of an unknown type";
  }
  return roots.map((root) => rootFault(root, String(body.text ?? ""))).find(Boolean) ??
    attachments.map((attachment) => attachmentFault(attachment, body)).find(Boolean);
}

function rootFault(root: Json, text: string): string | undefined {
  if (root["@type"] !== "Message" || root["@context"] !== "https://schema.org") {
    return "a root entity without its type and context";
  }
  const claims = Array.isArray(root.citation) ? root.citation as Json[] : [];
  if (claims.length > 20) return "more than 20 citations";
  const positions = claims.map(({ position }) => Number(position));
  if (new Set(positions).size !== positions.length) return "two citations of one position";
  return claims.map((claim) => claimFault(claim, text)).find(Boolean);
}

function claimFault(claim: Json, text: string): string | undefined {
  const { position, appearance } = claim;
  if (claim["@type"] !== "Claim") return "a citation that is not a claim";
  if (!text.includes(`[${position}]`)) return `citation ${position} is not in the text`;
  const { name, abstract, url, keywords = [] } = appearance as Json;
  if ((appearance as Json)["@type"] !== "DigitalDocument") return "a claim of no document";
  const isText = (value: unknown, max: number) =>
    typeof value === "string" && value.length > 0 && value.length <= max;
  if (!isText(name, 80)) return "a citation's name";
  if (!isText(abstract, 160)) return "a citation's abstract";
  const words = keywords as unknown[];
  if (words.length > 3 || !words.every((word) => isText(word, 28))) return "a citation's keywords";
  const isUrl = typeof url === "string" && /^https:\/\//.test(url) && URL.canParse(url);
  return isUrl ? undefined : "a citation's url";
}

function attachmentFault({ contentType, content, name, contentUrl }: Json, body: Json) {
  const inside = content as Json | undefined;
  switch (contentType) {
    case CARD:
      return inside?.type === "AdaptiveCard" ? undefined : "an adaptive card that is none";
    case FILE_CONSENT: {
      const size = Number(inside?.sizeInBytes);
      if (typeof name !== "string" || name === "") return "a file without a name";
      if (!(size > 0) || inside?.description === undefined) return "a file without size or words";
      const isBoth = inside.acceptContext !== undefined && inside.declineContext !== undefined;
      return isBoth ? undefined : "a consent card without its contexts";
    }
    case FILE_INFO: {
      const isWhole = typeof name === "string" && typeof contentUrl === "string" &&
        inside?.uniqueId !== undefined && inside.fileType !== undefined;
      return isWhole ? undefined : "a file card that names no file";
    }
    default:
      return `attachment of type ${String(contentType)} to ${String(body.type)}`;
  }
}
