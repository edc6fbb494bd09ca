/**
 * Files and images of turns at the dial unit: what the model sees, what the transcript gets, what
 * is refused, and how much is kept.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { TurnFile } from "core/dial/frames.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { IMAGE_LIMITS } from "core/limits/image.ts";
import { openTurnFolder } from "units/dial/turn_folder.ts";
import { createTurnImages } from "units/dial/turn_images.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { hollowPng, pngOf, SAMPLES } from "tests/support/sample_images.ts";

const FOLDER = "/home/ada/.fleetctl/dial/files";
const text = (given: string) => new TextEncoder().encode(given);

function scene() {
  let now = 0;
  const files = memoryFiles({}, { now: () => ++now });
  const log = recordingLog();
  const folder = openTurnFolder({ files, folder: FOLDER, log });
  /** Keeps the files of a message and returns them as its frame names them. */
  const attach = async (turnId: string, contents: Readonly<Record<string, Uint8Array>>) => {
    const attached: TurnFile[] = [];
    for (const [name, bytes] of Object.entries(contents)) {
      const n = attached.length + 1;
      await folder.keep({ turnId, n, name }, bytes);
      attached.push({ n, name, size: bytes.length });
    }
    return attached;
  };
  return { files, log, folder, attach, images: createTurnImages(folder) };
}

Deno.test("forPrompt() returns the images of a message by their bytes", async () => {
  const { images, attach } = scene();
  const png = await pngOf(3, 2);
  const attached = await attach("t1", {
    "a.png": png,
    "photo.png": SAMPLES.jpeg,
    "report.pdf": text("%PDF-1.7"),
    "logo.svg": SAMPLES.svg,
    "without a name": SAMPLES.gif,
  });
  const { images: shown, notes } = await images.forPrompt("t1", attached);
  assert.deepEqual(shown, [
    { path: `${FOLDER}/t1/1-a.png`, type: "image/png", base64: png.toBase64() },
    { path: `${FOLDER}/t1/2-photo.png`, type: "image/jpeg", base64: SAMPLES.jpeg.toBase64() },
    { path: `${FOLDER}/t1/5-without a name`, type: "image/gif", base64: SAMPLES.gif.toBase64() },
  ]);
  assert.deepEqual(notes, []);
});

Deno.test("forPrompt() states why the model does not see an image", async () => {
  const { images, attach } = scene();
  const attached = await attach("t1", {
    "lies.png": text("<!doctype html>"),
    "cut.png": (await pngOf(3, 2)).subarray(0, 40),
    "wide.png": hollowPng(20_000, 20_000),
    "heavy.png": hollowPng(1, 1, IMAGE_LIMITS.bytesMax),
    "drawing.svg": SAMPLES.svg,
  });
  const gone = { n: 9, name: "gone.png", size: 3 };
  const failed = { n: 10, name: "late.png", fault: "it was not fetched" };
  const { images: shown, notes } = await images.forPrompt("t1", [...attached, gone, failed]);
  assert.deepEqual(shown, []);
  const missing = `it is missing or has more than ${IMAGE_LIMITS.bytesMax} bytes`;
  assert.deepEqual(
    notes,
    [
      "lies.png: its content is not a PNG, JPEG, GIF or WebP image",
      "cut.png: its content is cut off or damaged",
      "wide.png: it has 20000×20000 pixels, must have at most 8000 a side",
      `heavy.png: ${missing}`,
      `gone.png: ${missing}`,
    ].map((note) => `The model does not see the image ${note}`),
  );
});

Deno.test("forPrompt() limits the number and the total size of images", async () => {
  const { images, attach } = scene();
  const png = await pngOf(1, 1);
  const many = await attach("many", { a: png, b: png, c: png, d: png, e: png });
  const first = await images.forPrompt("many", many);
  assert.equal(first.images.length, IMAGE_LIMITS.perMessageMax);
  assert.deepEqual(first.notes, [
    "The model does not see the image e: a message has at most 4 images",
  ]);
  const large = hollowPng(1, 1, IMAGE_LIMITS.bytesMax - 57);
  const heavy = await attach("heavy", { a: large, b: large, c: large, d: png });
  const second = await images.forPrompt("heavy", heavy);
  assert.deepEqual(second.images.map(({ path }) => path.at(-1)), ["a", "b", "d"]);
  assert.equal(second.notes.length, 1);
});

Deno.test("describe() reports type and size of images only", async () => {
  const { images, attach } = scene();
  const attached = await attach("t1", { "a.png": await pngOf(3, 2), "b.png": text("no") });
  assert.deepEqual(await images.describe("t1", attached), [
    { n: 1, name: "a.png", size: attached[0]?.size, media_type: "image/png", width: 3, height: 2 },
    { n: 2, name: "b.png", size: 2 },
  ]);
});

Deno.test("keep() stores a produced image for its owner only", async () => {
  const { images, files, folder } = scene();
  const png = await pngOf(3, 2);
  const info = { type: "image/png", width: 3, height: 2, bytes: png.length } as const;
  const kept = await images.keep("t1", { ...info, base64: png.toBase64() });
  assert.deepEqual(kept, {
    n: 65,
    name: "image.png",
    size: png.length,
    media_type: "image/png",
    width: 3,
    height: 2,
    path: `${FOLDER}/t1/65-image.png`,
  });
  const path = await folder.find({ turnId: "t1", n: 65 });
  assert.equal(path, `${FOLDER}/t1/65-image.png`);
  assert.deepEqual(await files.readBytes(path!), png);
  assert.equal((await files.stat(path!))?.mode, 0o600);
  assert.equal((await files.stat(`${FOLDER}/t1`))?.mode, 0o700);
  assert.equal(await folder.find({ turnId: "../..", n: 1 }), undefined);
});

Deno.test("keep() reads a file that a program viewed", async () => {
  const { images, files } = scene();
  await files.ensureDir("/home/ada");
  await files.write("/home/ada/shot.gif", SAMPLES.gif);
  await files.write("/home/ada/notes.png", "text");
  const kept = await images.keep("t1", { path: "/home/ada/shot.gif" });
  assert.ok(typeof kept !== "string");
  assert.equal(kept.path, `${FOLDER}/t1/65-image.gif`);
  const refused = await images.keep("t1", { path: "/home/ada/notes.png" });
  assert.equal(refused, "its content is not a PNG, JPEG, GIF or WebP image");
  assert.match(String(await images.keep("t1", { path: "/none.png" })), /^it is missing/);
});

Deno.test("keep() refuses more images than a turn may have, and a full disk", async () => {
  const { images, files } = scene();
  const image = { path: "/home/ada/shot.gif" };
  await files.ensureDir("/home/ada");
  await files.write(image.path, SAMPLES.gif);
  for (let n = 0; n < IMAGE_LIMITS.producedPerTurnMax; n++) {
    assert.ok(typeof await images.keep("t1", image) !== "string");
  }
  assert.equal(await images.keep("t1", image), "a turn keeps at most 32 images");
  assert.ok(typeof await images.keep("t2", image) !== "string");
  files.failUnder(FOLDER, "ENOSPC");
  assert.equal(await images.keep("t3", image), "it could not be stored");
});

Deno.test("keep() numbers images after those of an earlier process", async () => {
  const { images, folder, attach } = scene();
  await attach("t1", { "a.png": await pngOf(3, 2) });
  const image = { base64: SAMPLES.gif.toBase64(), type: "image/gif", width: 1, height: 1 } as const;
  const numbers: unknown[] = [];
  for (const process of [images, images, createTurnImages(folder)]) {
    const kept = await process.keep("t1", { ...image, bytes: SAMPLES.gif.length });
    numbers.push(typeof kept === "string" ? kept : kept.n);
  }
  assert.deepEqual(numbers, [65, 66, 67]);
});

Deno.test("the folder keeps the files of the newest turns", async () => {
  const { attach, files } = scene();
  for (let turn = 0; turn < FILE_LIMITS.turnsKept + 3; turn++) {
    await attach(`t${turn}`, { "a.txt": text("a") });
  }
  const kept = await files.list(FOLDER);
  assert.equal(kept.length, FILE_LIMITS.turnsKept);
  assert.ok(!kept.includes("t2") && kept.includes("t3"));
});

Deno.test("a turn id that is not a folder name is refused", async () => {
  const { folder, files } = scene();
  for (const turnId of ["", "..", "a/b", ".hidden"]) {
    assert.equal(await folder.keep({ turnId, n: 1, name: "a" }, text("a")), undefined, turnId);
    await folder.drop(turnId);
  }
  assert.deepEqual(files.paths(), []);
});
