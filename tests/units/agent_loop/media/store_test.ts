/**
 * The stored images of conversations: kept once, bounded, and checked when they are read.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createMediaStore, STORE_LIMITS } from "units/agent_loop/media/store.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { recordingLog } from "tests/fakes/log.ts";
import { samplePdf } from "tests/support/sample_pdf.ts";
import { hollowPng, pngOf } from "tests/support/sample_images.ts";

const FOLDER = "/home/ada/.runtime-b/agent/media";

function scene() {
  let now = 0;
  const files = memoryFiles({}, { now: () => now++ });
  return { files, store: createMediaStore(FOLDER, { files, log: recordingLog() }) };
}

const png = async (width: number, height = 1) => (await pngOf(width, height)).toBase64();

Deno.test("keepImages() stores equal bytes once, and load() returns them", async () => {
  const { files, store } = scene();
  const base64 = await png(3, 2);
  const [one, two] = await store.keepImages([base64, base64]);
  assert.deepEqual(one, two);
  assert.ok(one !== undefined);
  const { kind, media_type: type, bytes } = one;
  const size = { width: 3, height: 2 };
  assert.deepEqual(one, { kind, media_type: type, sha256: one.sha256, bytes, ...size });
  assert.deepEqual([kind, type], ["image", "image/png"]);
  assert.deepEqual(files.paths(), [`${FOLDER}/${one.sha256}`]);
  assert.deepEqual([...await store.load([one])], [[one.sha256, base64]]);
});

Deno.test("keepImages() leaves out what is no image, and what a message may not have", async () => {
  const { store } = scene();
  const many = await Promise.all([1, 2, 3, 4, 5].map((width) => png(width)));
  assert.deepEqual(await store.keepImages(["%", btoa("<html>")]), []);
  assert.equal((await store.keepImages(many)).length, 4);
  const large = [1, 2, 3].map((width) => hollowPng(width, 1, 3_900_000).toBase64());
  assert.equal((await store.keepImages(large)).length, 2);
});

Deno.test("load() leaves out files that are gone or changed", async () => {
  const { files, store } = scene();
  const [one, two, three] = await store.keepImages([await png(1), await png(2), await png(3)]);
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  await files.remove(`${FOLDER}/${one.sha256}`);
  await files.write(`${FOLDER}/${two.sha256}`, new Uint8Array(two.bytes));
  assert.deepEqual([...(await store.load([one, two, three])).keys()], [three.sha256]);
});

Deno.test("keepImages() removes the oldest files beyond the limit", async () => {
  const { files, store } = scene();
  await files.ensureDir(FOLDER);
  for (let index = 0; index < STORE_LIMITS.filesMax; index++) {
    await files.write(`${FOLDER}/${index.toString(16).padStart(64, "0")}`, "old");
  }
  const [kept] = await store.keepImages([await png(1)]);
  assert.equal((await files.list(FOLDER)).length, STORE_LIMITS.filesMax);
  assert.equal(await files.stat(`${FOLDER}/${"0".repeat(64)}`), undefined);
  assert.equal((await store.load(kept === undefined ? [] : [kept])).size, 1);
});

Deno.test("keepImages() rejects when the disk is full", async () => {
  const { files, store } = scene();
  files.failUnder(FOLDER, "ENOSPC");
  await assert.rejects(store.keepImages([await png(1)]));
});

Deno.test("keepPdfs() stores PDFs, and notes why it leaves out others", async () => {
  const { files, store } = scene();
  await files.ensureDir("/home/ada");
  await files.write("/home/ada/a.pdf", samplePdf(2));
  const given = [
    { name: "a.pdf", path: "/home/ada/a.pdf" },
    { name: "gone.pdf", path: "/home/ada/gone.pdf" },
    { name: "b.pdf", base64: samplePdf(1).toBase64() },
    { name: "c.pdf", base64: samplePdf(3).toBase64() },
  ];
  const { media, notes } = await store.keepPdfs(given);
  assert.deepEqual(
    media.map((ref) => ref.kind === "pdf" ? [ref.name, ref.pages, ref.path] : []),
    [["a.pdf", 2, "/home/ada/a.pdf"], ["b.pdf", 1, `${FOLDER}/${media[1]?.sha256}`]],
  );
  assert.deepEqual(notes, [
    "[The model does not see the PDF gone.pdf (/home/ada/gone.pdf): there is no such file]",
    "[The model does not see the PDF c.pdf: the model sees at most 2 PDFs at once]",
  ]);
  assert.equal((await store.load(media)).size, 2);
});
