/**
 * The version of the product, in one location for `--version`, `/api/version` and the frames. A
 * test checks that it equals the one in `deno.json`.
 *
 * @module
 */

/** Semantic version. */
export const VERSION = "0.1.0";
