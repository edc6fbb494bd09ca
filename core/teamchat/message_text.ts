/**
 * Extracts the owner's text from a message: removes the bot's own mention, and adds quotes and
 * attachment names. Pure. Mentions of other people stay, because the owner wrote them.
 *
 * @module
 */

import type { Activity, Attachment } from "core/teamchat/activity.ts";

const NAMED_ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
};

/** Type of the rich-text copy that repeats a message's own text. */
const HTML = "text/html";

/** Tells whether a message mentions the bot. */
export function isMentioned(activity: Activity, appId: string | undefined): boolean {
  return mentionsOf(activity).some(ownMention(activity, appId));
}

/** Returns the text of a message for the agent. */
export function messageText(activity: Activity, appId: string | undefined): string {
  let text = withoutOwnMention(activity, appId).replace(QUOTE_PLACE, "");
  if (activity.textFormat === "xml") text = text.replace(TAG, " ");
  text = decodeEntities(text).replace(/[\u00a0\u200b]/g, " ").trim();
  const files = fileNames(activity.attachments ?? []);
  return [
    ...quotesOf(activity).flatMap((quote) => [quoteText(quote), ""]),
    ...(text === "" ? [] : [text]),
    ...files.map((name) => `[attachment: ${name}]`),
  ].join("\n").trim();
}

const TAG = /<[^<>]{0,2000}>/g;
const MENTION = /<at\b[^<>]{0,200}>([^<>]{0,256})<\/at>/gi;
/** Placeholder that newer clients insert for a quoted message. */
const QUOTE_PLACE = /<quoted\b[^<>]{0,200}>/gi;

interface Mention {
  readonly id: string;
  readonly text: string;
}

function mentionsOf(activity: Activity): readonly Mention[] {
  return (activity.entities ?? []).flatMap((entity) => {
    if (entity.type !== "mention") return [];
    const { mentioned, text } = entity as { mentioned?: { id?: unknown }; text?: unknown };
    const id = typeof mentioned === "object" && mentioned !== null ? mentioned.id : undefined;
    return typeof id === "string" && typeof text === "string" && text !== "" ? [{ id, text }] : [];
  });
}

/**
 * Returns a test for the bot's own mentions. It compares ids, because other accounts may have the
 * bot's name.
 */
function ownMention(activity: Activity, appId: string | undefined): (mention: Mention) => boolean {
  const own = new Set([
    activity.recipient?.id,
    ...(appId === undefined ? [] : [appId, `28:${appId}`]),
  ]);
  return ({ id }) => own.has(id);
}

/** Returns the text without mentions of the bot; keeps the names of other mentions. */
function withoutOwnMention(activity: Activity, appId: string | undefined): string {
  const isOwn = ownMention(activity, appId);
  const open = Map.groupBy(mentionsOf(activity), ({ text }) => text);
  const text = (activity.text ?? "").replace(MENTION, (whole, name: string) => {
    // Mentions are in the order of their entities; two people may have the same name.
    const mention = open.get(whole)?.shift();
    return mention !== undefined && isOwn(mention) ? " " : name;
  });
  // Some clients write the name without a tag; the entity identifies it.
  return [...open.values()].flat().filter((each) => isOwn(each) && !each.text.startsWith("<"))
    .slice(0, UNTAGGED_MAX).reduce((rest, each) => rest.replace(each.text, () => " "), text);
}
/** Limit, because each untagged mention requires a search of the whole text. */
const UNTAGGED_MAX = 8;

/** A message that this one replies to. */
interface Quote {
  readonly author: string | undefined;
  readonly text: string;
}

function quoteText({ author, text }: Quote): string {
  const lines = text.split("\n").map((line) => `> ${line}`);
  return [...(author === undefined ? [] : [`> ${author} wrote:`]), ...lines].join("\n");
}

/**
 * Returns the quoted messages: blockquotes of the type `schema.skype.com/Reply` in the rich-text
 * copy, or `quotedReply` entities from newer clients.
 */
function quotesOf(activity: Activity): readonly Quote[] {
  const html = (activity.attachments ?? []).find(({ contentType }) => contentType === HTML)
    ?.content;
  const isReadable = typeof html === "string" && html.length <= QUOTE_LENGTH_MAX;
  const inHtml = isReadable ? htmlQuotes(html) : [];
  const found = inHtml.length > 0 ? inHtml : entityQuotes(activity);
  return found.slice(0, QUOTES_MAX);
}
const QUOTE_LENGTH_MAX = 32_768;
const QUOTES_MAX = 4;
const BLOCKQUOTE = /<blockquote\b([^<>]{0,1000})>([\s\S]*?)<\/blockquote>/gi;
const REPLY = /\bitemtype=["']https?:\/\/schema\.skype\.com\/Reply["']/i;
const AUTHOR =
  /<strong\b[^<>]{0,500}\bitemprop=["']mri["'][^<>]{0,500}>([\s\S]{0,1000}?)<\/strong>/i;
/** `copy` has the whole text; `preview` has the beginning of a longer one. */
const COPY = /<p\b[^<>]{0,500}\bitemprop=["']copy["'][^<>]{0,500}>([\s\S]*?)<\/p>/i;
const PREVIEW = /<p\b[^<>]{0,500}\bitemprop=["']preview["'][^<>]{0,500}>([\s\S]*?)<\/p>/i;

function htmlQuotes(html: string): readonly Quote[] {
  return [...html.matchAll(BLOCKQUOTE)].flatMap(([, attributes = "", inside = ""]) => {
    if (!REPLY.test(attributes)) return [];
    const author = AUTHOR.exec(inside)?.[1];
    const body = COPY.exec(inside)?.[1] ?? PREVIEW.exec(inside)?.[1] ?? inside.replace(AUTHOR, "");
    const text = plainText(body);
    return text === "" ? [] : [{ author: nameOf(plainText(author ?? "")), text }];
  });
}

function entityQuotes(activity: Activity): readonly Quote[] {
  return (activity.entities ?? []).flatMap((entity) => {
    const { type, quotedReply: quoted } = entity;
    if (type !== "quotedReply" || typeof quoted !== "object" || quoted === null) return [];
    const { senderName, preview, isReplyDeleted } = quoted as Readonly<Record<string, unknown>>;
    const text = isReplyDeleted === true
      ? "(a message that was deleted)"
      : typeof preview === "string"
      ? plainText(preview.slice(0, QUOTE_LENGTH_MAX))
      : "";
    const author = typeof senderName === "string" ? nameOf(senderName) : undefined;
    return text === "" ? [] : [{ author, text }];
  });
}

/** Returns the plain text of an HTML fragment, with its line breaks. */
function plainText(html: string): string {
  const lines = html.replace(/<(?:br|\/p|\/div|\/li)\b[^<>]{0,500}>/gi, "\n").replace(TAG, "");
  // Trim line by line: a pattern that trims around line breaks takes quadratic time on long
  // whitespace.
  return decodeEntities(lines).replace(/[\u00a0\u200b \t]+/g, " ").split("\n")
    .map((line) => line.trim()).filter((line) => line !== "").join("\n");
}

function nameOf(text: string): string | undefined {
  const name = text.replace(/[\p{Cc}\s]+/gu, " ").trim().slice(0, 80);
  return name === "" ? undefined : name;
}

function fileNames(attachments: readonly Attachment[]): readonly string[] {
  return attachments
    .filter(({ contentType }) => contentType !== HTML)
    .map(({ name, contentType }) => oneLine(name ?? contentType ?? "file"));
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}[\]]/gu, " ").slice(0, 200).trim();
}

function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]{2,6}));/g, (whole, ...found) => {
    const [decimal, hex, name] = found as (string | undefined)[];
    if (name !== undefined) return NAMED_ENTITIES[name] ?? whole;
    const code = decimal === undefined ? parseInt(hex ?? "", 16) : Number(decimal);
    const isText = code >= 0x20 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isText ? String.fromCodePoint(code) : whole;
  });
}
