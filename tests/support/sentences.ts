/**
 * Splits a Markdown page into sentences and words. A colon ends a sentence, since what follows
 * reads separately. Text in parentheses and link targets are not counted. Pure.
 *
 * @module
 */

/** Returns the words of each sentence, without code blocks and headings. */
export function sentencesOf(page: string): readonly (readonly string[])[] {
  return blocksOf(page.replace(/^```[\s\S]*?^```/gm, "\n")).flatMap((block) =>
    withoutAsides(block).split(/(?<=[.!?:])[*"')\]]*\s+/).map((sentence) =>
      sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
    ).filter((words) => words.length > 0)
  );
}

/** Returns paragraphs, list items and table cells. */
function blocksOf(text: string): readonly string[] {
  const blocks: string[] = [""];
  for (const line of text.split("\n").map((one) => one.trim())) {
    const isItem = /^(?:[-*]|\d+\.|>) /.test(line);
    if (line === "" || line.startsWith("#")) blocks.push("");
    else if (line.startsWith("|")) blocks.push(...line.split(/(?<!\\)\|/), "");
    else if (isItem) blocks.push(line.replace(/^\S+ /, ""));
    else blocks.push(`${blocks.pop() ?? ""} ${line}`);
  }
  return blocks;
}

function withoutAsides(text: string): string {
  let last = text.replace(/\]\([^)]*\)/g, "]");
  for (;;) {
    const next = last.replace(/\([^()]*\)/g, "");
    if (next === last) return last;
    last = next;
  }
}
