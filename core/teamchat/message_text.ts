/**
 * The owner's words in a message: without the bot's own mention, with quotes and attachments named.
 * Pure. Other people's mentions stay, because they are what the owner wrote.
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

/** The rich-text copy that repeats a message's own text. */
const HTML = "text/html";

/** Tells whether a message mentions the bot. */
export function isMentioned(activity: Activity, appId: string | undefined): boolean {
  return mentionsOfBot(activity, appId).length > 0;
}

/** Returns the text of a message for the agent. */
export function messageText(activity: Activity, appId: string | undefined): string {
  let text = activity.text ?? "";
  for (const mention of mentionsOfBot(activity, appId)) text = text.replaceAll(mention, " ");
  text = text.replace(/<at[^>]*>([\s\S]*?)<\/at>/gi, "$1");
  if (activity.textFormat === "xml") text = text.replace(/<[^>]{0,2000}>/g, " ");
  text = decodeEntities(text).replace(/[\u00a0\u200b]/g, " ").trim();
  const quote = quotedText(activity);
  const files = fileNames(activity.attachments ?? []);
  return [
    ...(quote === undefined ? [] : [quote.split("\n").map((line) => `> ${line}`).join("\n"), ""]),
    ...(text === "" ? [] : [text]),
    ...files.map((name) => `[attachment: ${name}]`),
  ].join("\n").trim();
}

/** Returns the texts of the mentions of the bot, longest first. */
function mentionsOfBot(activity: Activity, appId: string | undefined): readonly string[] {
  const own = new Set([activity.recipient?.id, appId, `28:${appId}`]);
  own.delete(undefined);
  return (activity.entities ?? []).flatMap((entity) => {
    if (entity.type !== "mention") return [];
    const { mentioned, text } = entity as { mentioned?: { id?: unknown }; text?: unknown };
    const id = typeof mentioned === "object" && mentioned !== null ? mentioned.id : undefined;
    return typeof id === "string" && own.has(id) && typeof text === "string" && text !== ""
      ? [text]
      : [];
  }).sort((a, b) => b.length - a.length);
}

/** Text of the message that this one answers to, as the platform quotes it. */
function quotedText(activity: Activity): string | undefined {
  const html = (activity.attachments ?? []).find(({ contentType }) => contentType === HTML)
    ?.content;
  if (typeof html !== "string" || html.length > QUOTE_LENGTH_MAX) return undefined;
  const quote =
    /<blockquote[^>]*itemtype="http:\/\/schema\.skype\.com\/Reply"[^>]*>([\s\S]*?)<\/blockquote>/i
      .exec(html)?.[1];
  if (quote === undefined) return undefined;
  const lines = quote.replace(/<(?:br|\/p|\/div)[^>]*>/gi, "\n").replace(/<[^>]{0,2000}>/g, "");
  const text = decodeEntities(lines).replace(/[ \t]+/g, " ").replace(/\s*\n\s*/g, "\n").trim();
  return text === "" ? undefined : text;
}
const QUOTE_LENGTH_MAX = 32_768;

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
