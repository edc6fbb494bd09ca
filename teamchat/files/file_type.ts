/**
 * Checks that content matches its declared type. A file host that requires a login answers 200 with
 * a web page, and a declared image may be anything. The agent must get neither as the file. Pure.
 *
 * @module
 */

/** Accepted image types and their first bytes. */
const IMAGES: readonly (readonly [string, readonly (number | undefined)[]])[] = [
  ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]],
  ["image/jpeg", [0xff, 0xd8, 0xff]],
  ["image/gif", [0x47, 0x49, 0x46, 0x38]],
  ["image/bmp", [0x42, 0x4d]],
  ["image/webp", [
    0x52,
    0x49,
    0x46,
    0x46,
    undefined,
    undefined,
    undefined,
    undefined,
    0x57,
    0x45,
    0x42,
    0x50,
  ]],
];

/** Returns the type of an image by its first bytes. */
function imageType(bytes: Uint8Array): string | undefined {
  return IMAGES.find(([, marks]) =>
    marks.every((mark, at) => mark === undefined || bytes[at] === mark)
  )?.[0];
}

/** Returns the type for the agent, or why the content is refused. */
export function judgeContent(
  file: { readonly kind: "download" | "inline"; readonly name: string },
  header: string | null,
  bytes: Uint8Array,
): { readonly ok: true; readonly type: string } | { readonly ok: false; readonly why: string } {
  const stated = (header ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  if (file.kind === "inline") {
    const type = imageType(bytes);
    const isDeclared = type !== undefined && (stated === type || stated === "image/*");
    return isDeclared
      ? { ok: true, type }
      : { ok: false, why: "its content does not match the declared image type" };
  }
  const isPage = stated === "text/html" || stated === "application/xhtml+xml";
  if (isPage && !/\.x?html?$/i.test(file.name)) {
    return { ok: false, why: "a web page was received instead" };
  }
  const type = /^[a-z0-9!#$&^_.+-]{1,63}\/[a-z0-9!#$&^_.+-]{1,63}$/.test(stated)
    ? stated
    : "application/octet-stream";
  return { ok: true, type };
}
