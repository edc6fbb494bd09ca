/**
 * Words of this tree's old dialect and the plain ones for them. The lint rule `tree/words` finds
 * them in comments and texts, `tests/support/pages_test.ts` in documents.
 *
 * @module
 */

/** Each pattern, and what to write instead. `nobody` in backticks or quotes is the Unix user. */
const PRIVATE_WORDS: readonly (readonly [RegExp, string])[] = [
  [/(?<![`"'\w])nobody\b(?![`"'])/gi, '"no one", or say what is missing'],
  [/\bwhoever\b/gi, '"the caller", "the person who"'],
  [/\bsomebody( who)?\b/gi, '"a person", "someone"'],
  [
    /\b(is|are|was|were|be|been) told\b(?! (apart|from))/gi,
    '"is notified", or say who reports what',
  ],
  [/\bof its own\b(?= *[.,;:)])/gi, '"its own", "separate"'],
  [/\bnone of (this|that)\b/gi, "what it is about"],
  [/\bas it is and\b/gi, '"unchanged"'],
  [/\bwhat is there\b/gi, '"the existing …"'],
  [/\banew\b/gi, '"again", "rebuilt"'],
  [/\bthereof\b/gi, '"of it"'],
  [/\bby now\b/gi, '"already"'],
];

/** Returns the private words of a text. */
export function privateWords(text: string): readonly { found: string; use: string }[] {
  return PRIVATE_WORDS.flatMap(([pattern, use]) =>
    [...text.matchAll(pattern)].map(([found]) => ({ found, use }))
  );
}
