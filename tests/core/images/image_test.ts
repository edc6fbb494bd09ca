/**
 * Images are recognized by their bytes: types, sizes, limits, and content of another type.
 *
 * @module
 */

import assert from "node:assert/strict";
import {
  claimsImage,
  imageName,
  imageWords,
  readBase64Image,
  readImage,
} from "core/images/image.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import { hollowPng, joined, pngOf, SAMPLES } from "tests/support/sample_images.ts";

const text = (given: string) => new TextEncoder().encode(given);
const shown = (bytes: Uint8Array) => {
  const read = readImage(bytes);
  return read.ok
    ? `${read.value.type} ${read.value.width}×${read.value.height}`
    : `${read.error.kind}: ${read.error.state}`;
};
const OTHER = "other: its content is not a PNG, JPEG, GIF or WebP image";
const BROKEN = "broken: its content is cut off or damaged";

Deno.test("readImage() returns type, width and height", async () => {
  const png = await pngOf(640, 480);
  const rows: readonly (readonly [string, Uint8Array, string])[] = [
    ["a PNG", png, "image/png 640×480"],
    ["a PNG of one pixel", await pngOf(1, 1), "image/png 1×1"],
    ["a JPEG", SAMPLES.jpeg, "image/jpeg 24×16"],
    ["a GIF", SAMPLES.gif, "image/gif 1×1"],
    ["a lossy WebP", SAMPLES.lossyWebp, "image/webp 1×1"],
    ["a lossless WebP", SAMPLES.losslessWebp, "image/webp 1×1"],
    ["a WebP with alpha", SAMPLES.alphaWebp, "image/webp 1×1"],
    ["a PNG with a page after its end", joined([png, text("<script>")]), "image/png 640×480"],
    ["a JPEG with data after its end", joined([SAMPLES.jpeg, text("PK")]), "image/jpeg 24×16"],
  ];
  for (const [name, bytes, wanted] of rows) assert.equal(shown(bytes), wanted, name);
});

Deno.test("readImage() refuses files that are not images of these types", () => {
  const rows: readonly (readonly [string, Uint8Array])[] = [
    ["nothing", new Uint8Array()],
    ["text", text("hello")],
    ["an SVG", SAMPLES.svg],
    ["a page", text("<!doctype html><img>")],
    ["a page that begins with the name of a GIF", text("GIF8 <script>")],
    ["a sound in RIFF", text("RIFF\0\0\0\0WAVEfmt ")],
    ["a bitmap", text("BM\0\0\0\0")],
    ["an image after a space", joined([text(" "), SAMPLES.gif])],
  ];
  for (const [name, bytes] of rows) assert.equal(shown(bytes), OTHER, name);
});

Deno.test("readImage() refuses an image that is cut anywhere", async () => {
  const images = [await pngOf(3, 2), ...Object.values(SAMPLES).filter((one) => readImage(one).ok)];
  assert.equal(images.length, 6);
  for (const image of images) {
    for (let length = 12; length < image.length; length++) {
      assert.equal(shown(image.subarray(0, length)), BROKEN, `${shown(image)} at ${length}`);
    }
  }
});

Deno.test("readImage() refuses damaged structures", () => {
  const huge = SAMPLES.jpeg.slice();
  huge.set([0xff, 0xff], 4);
  const rows: readonly (readonly [string, Uint8Array])[] = [
    ["a PNG without width", hollowPng(0, 10)],
    ["a segment longer than the JPEG", huge],
    ["a JPEG of markers only", new Uint8Array(64).fill(0xff).fill(0xd8, 1, 2)],
    ["a GIF without a frame", joined([SAMPLES.gif.subarray(0, 19), text(";")])],
    ["a polyglot of GIF and script", text("GIF89a=1;alert(1)//")],
  ];
  for (const [name, bytes] of rows) assert.equal(shown(bytes), BROKEN, name);
});

Deno.test("readImage() refuses images that exceed a limit", () => {
  const { bytesMax, sidePixelsMax: side } = IMAGE_LIMITS;
  assert.equal(shown(hollowPng(side, side)), `image/png ${side}×${side}`);
  const rows: readonly (readonly [Uint8Array, string])[] = [
    [hollowPng(20_000, 20_000), "it has 20000×20000 pixels, must have at most 8000 a side"],
    [hollowPng(1, side + 1), "it has 1×8001 pixels, must have at most 8000 a side"],
    [hollowPng(1, 1, bytesMax), `it has ${bytesMax + 57} bytes, must have at most ${bytesMax}`],
  ];
  for (const [bytes, state] of rows) assert.equal(shown(bytes), `too-large: ${state}`);
  const whole = hollowPng(1, 1, bytesMax - 57);
  assert.equal(whole.length, bytesMax);
  assert.equal(shown(whole), "image/png 1×1");
});

Deno.test("readBase64Image() reads base64 within the limit", () => {
  const read = readBase64Image(SAMPLES.gif.toBase64());
  assert.deepEqual(read, {
    ok: true,
    value: { type: "image/gif", width: 1, height: 1, bytes: 42, base64: SAMPLES.gif.toBase64() },
  });
  const kindOf = (given: string) => {
    const { ok, error } = readBase64Image(given) as { ok: boolean; error?: { kind: string } };
    return ok ? "ok" : error?.kind;
  };
  assert.equal(kindOf("not base64!"), "broken");
  assert.equal(kindOf(""), "other");
  assert.equal(kindOf("A".repeat(IMAGE_LIMITS.bytesMax * 2)), "too-large");
  assert.equal(kindOf(hollowPng(1, 1, IMAGE_LIMITS.bytesMax - 57).toBase64()), "ok");
});

Deno.test("claimsImage() recognizes the names and types of images", () => {
  for (const name of ["a.png", "A.JPG", "b.jpeg", "c.gif", "d.WebP"]) {
    assert.ok(claimsImage(name), name);
  }
  assert.ok(claimsImage("download", "IMAGE/PNG"));
  for (const name of ["a.svg", "png", "a.png.txt", "notes"]) assert.ok(!claimsImage(name), name);
  assert.ok(!claimsImage("a", "image/svg+xml"));
});

Deno.test("imageWords() and imageName() describe an image", () => {
  const of = (bytes: number) => imageWords({ type: "image/png", width: 640, height: 480, bytes });
  assert.equal(of(999), "640×480 PNG, 999 B");
  assert.equal(of(12_345), "640×480 PNG, 12 KB");
  assert.equal(of(3_900_000), "640×480 PNG, 3.9 MB");
  assert.deepEqual(
    (["image/png", "image/jpeg", "image/gif", "image/webp"] as const).map(imageName),
    [
      "image.png",
      "image.jpg",
      "image.gif",
      "image.webp",
    ],
  );
});
