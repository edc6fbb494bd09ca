/**
 * Files on their way from the caller's process to a verb: what is read, refused, and unpacked.
 *
 * @module
 */

import assert from "node:assert/strict";
import { openInput, readAttachments } from "cli/attachments.ts";
import { splitArguments } from "core/os/argv.ts";
import { FILE_LIMITS } from "core/limits/file.ts";
import { ok, type Result } from "core/result.ts";
import { type Invocation, parseRequest } from "core/verbs/invocation.ts";
import { memoryFiles } from "tests/fakes/files.ts";
import { hollowPng, pngOf, SAMPLES } from "tests/support/sample_images.ts";

const encoded = (text: string) => new TextEncoder().encode(text);

function invocationOf(...words: readonly string[]): Invocation {
  const request = parseRequest(["turn", "ada", "see", ...words], splitArguments);
  assert.ok(request.ok && request.value.kind === "run");
  return request.value.invocation;
}

async function open(
  words: readonly string[],
  contents: Readonly<Record<string, Uint8Array>> = {},
  stdin: Uint8Array<ArrayBuffer> = new Uint8Array(),
): Promise<Result<ReadableStream<Uint8Array> | undefined>> {
  const files = memoryFiles();
  await files.ensureDir("/home/bea/pictures");
  for (const [path, bytes] of Object.entries(contents)) await files.write(path, bytes);
  await files.symlink("/home/bea/a.png", "/home/bea/link.png");
  const openStdin = () => new Blob([stdin]).stream();
  return await openInput(invocationOf(...words), { cwd: "/home/bea", openStdin, files });
}

async function unpacked(opened: Result<ReadableStream<Uint8Array> | undefined>) {
  assert.ok(opened.ok && opened.value !== undefined);
  const all: (readonly [string, string])[] = [];
  for await (const { name, bytes } of readAttachments(opened.value)) {
    all.push([name, bytes.toBase64()]);
  }
  return all;
}

Deno.test("openInput() and readAttachments() pass files on in order, byte for byte", async () => {
  const png = await pngOf(3, 2);
  const a = { "/home/bea/a.png": png };
  const rows: readonly (readonly [
    readonly string[],
    Readonly<Record<string, Uint8Array>>,
    readonly (readonly [string, Uint8Array])[],
  ])[] = [
    [["--file", "a.png"], a, [["a.png", png]]],
    [["--file", "/home/bea/a.png"], a, [["a.png", png]]],
    [["--file", "link.png"], a, [["link.png", png]]],
    [
      ["--file", "pictures/notes", "--file", "a.png"],
      { ...a, "/home/bea/pictures/notes": encoded("hi\n") },
      [["notes", encoded("hi\n")], ["a.png", png]],
    ],
    [["--file", "logo.svg"], { "/home/bea/logo.svg": SAMPLES.svg }, [["logo.svg", SAMPLES.svg]]],
    [["--file", "x.png"], { "/home/bea/x.png": SAMPLES.jpeg }, [["x.png", SAMPLES.jpeg]]],
  ];
  for (const [words, contents, wanted] of rows) {
    const named = wanted.map(([name, bytes]) => [name, bytes.toBase64()]);
    assert.deepEqual(await unpacked(await open(words, contents)), named);
  }
  const piped = await open(["--file", "-"], {}, SAMPLES.gif);
  assert.deepEqual(await unpacked(piped), [["stdin.gif", SAMPLES.gif.toBase64()]]);
  assert.deepEqual(await open([]), ok(undefined));
});

Deno.test("openInput() refuses what cannot be attached", async () => {
  const { filesMax, fileBytesMax } = FILE_LIMITS;
  const many = Array.from({ length: filesMax + 1 }, () => ["--file", "a.png"]).flat();
  const of = (name: string, bytes: Uint8Array) =>
    [["--file", name], { [`/home/bea/${name}`]: bytes }] as const;
  const rows: readonly (readonly [
    readonly [readonly string[], Readonly<Record<string, Uint8Array>>?],
    string,
    RegExp,
  ])[] = [
    [of("a.png", encoded("<html>")), "image-unfit", /not a PNG, JPEG, GIF or WebP/],
    [of("a.jpg", SAMPLES.svg), "image-unfit", /not a PNG/],
    [of("photo", hollowPng(20_000, 20_000)), "image-unfit", /20000×20000 pixels/],
    [of("a.gif", SAMPLES.gif.subarray(0, 20)), "image-unfit", /cut off or damaged/],
    [of("a.txt", new Uint8Array()), "attachment-unfit", /it is empty/],
    [of("a.bin", new Uint8Array(fileBytesMax + 1)), "attachment-unfit", /larger than/],
    [[["--file", "none"]], "attachment-unfit", /no such file/],
    [[["--file", "pictures"]], "attachment-unfit", /it is not a file/],
    [[many], "attachment-unfit", /at most 10 files/],
    [[["--file", "-", "--file", "-"]], "attachment-unfit", /stdin/],
  ];
  for (const [[words, contents], code, message] of rows) {
    const opened = await open(words, contents);
    assert.ok(!opened.ok, words.join(" "));
    assert.equal(opened.error.code, code);
    assert.match(opened.error.message, message);
  }
});

Deno.test("openInput() suggests stdin for a file that the program may not read", async () => {
  const files = { ...memoryFiles(), realPath: () => Promise.reject(new Error("no read access")) };
  const openStdin = () => new Blob([]).stream();
  const opened = await openInput(invocationOf("--file", "my shot.png"), {
    cwd: "/",
    openStdin,
    files,
  });
  assert.ok(!opened.ok);
  assert.deepEqual(opened.error.hints, [
    "fleetctl turn ada --file - 'see this file' < 'my shot.png'",
  ]);
});

Deno.test("readAttachments() rejects input that is truncated or has no list of files", async () => {
  const rows = ["", "no JSON\n", '{"files":[{"name":"a","size":5}]}\nabc', '{"files":[{}]}\n'];
  for (const text of rows) {
    const read = async () => {
      for await (const _file of readAttachments(new Blob([text]).stream()));
    };
    await assert.rejects(read, text);
  }
});
