/**
 * The sentences of a page of Markdown as words. A colon ends one, since what follows is read by
 * itself; what stands in parentheses, and the target of a link, is not counted. Pure.
 *
 * @module
 */

/** Returns the words of each sentence. Code blocks and headings have none. */
export function sentencesOf(page: string): readonly (readonly string[])[] {
  return blocksOf(page.replace(/^```[\s\S]*?^```/gm, "\n")).flatMap((block) =>
    withoutAsides(block).split(/(?<=[.!?:])[*"')\]]*\s+/).map((sentence) =>
      sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
    ).filter((words) => words.length > 0)
  );
}

/** Paragraphs, items of lists, and cells of tables. */
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
