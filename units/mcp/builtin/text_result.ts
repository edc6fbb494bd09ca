/**
 * The text result that all builtin servers use.
 *
 * @module
 */

/** Returns a tool result that contains one text. */
export function textResult(text: string, isError: boolean) {
  return {
    content: [{ type: "text" as const, text }],
    ...(isError ? { isError } : {}),
  };
}
