/**
 * What the builtin servers have in common: the shape of a text result.
 *
 * @module
 */

/** Returns a tool result of one text. */
export function textResult(text: string, isError: boolean) {
  return {
    content: [{ type: "text" as const, text }],
    ...(isError ? { isError } : {}),
  };
}
