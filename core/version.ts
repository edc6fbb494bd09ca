/**
 * The version of the product, one place for `--version`, `/api/version` and the frames. A test
 * holds it equal to `deno.json`.
 *
 * @module
 */

/** Semantic version. */
export const VERSION = "0.1.0";
