/**
 * Images with each real agent program: the model sees those of a message and those that an MCP
 * returns, and the transcript gets the latter.
 *
 * @module
 */

import assert from "node:assert/strict";
import { imagesSeen } from "tests/support/model_sight.ts";
import { withProgram } from "tests/support/program_scene.ts";
import { fixtureServer } from "tests/support/runtime_process.ts";
import { testPrograms, wantedPrograms } from "tests/support/runtime_programs.ts";
import { pngOf, SAMPLES } from "tests/support/sample_images.ts";

/** Writes an image where the dial unit keeps those of a message. */
async function kept(home: string, name: string, bytes: Uint8Array<ArrayBuffer>) {
  const path = `${home}/${name}`;
  await Deno.writeFile(path, bytes, { mode: 0o600 });
  return { path, base64: bytes.toBase64() };
}

for (const program of wantedPrograms()) {
  Deno.test(`${program.name} shows the images of a message to its model`, async () => {
    await withProgram(program, async ({ model, turn, home }) => {
      model.script({ kind: "answer", text: "two pictures" });
      const { outcome, updates } = await turn({
        text: "what is in these?",
        images: [
          { ...await kept(home, "a.png", await pngOf(64, 48)), type: "image/png" },
          { ...await kept(home, "b.jpg", SAMPLES.jpeg), type: "image/jpeg" },
        ],
      });
      assert.deepEqual(outcome, { outcome: "completed" });
      assert.deepEqual(updates.filter(({ kind }) => kind === "notice"), []);
      const [request] = model.requests;
      assert.ok(request !== undefined);
      const seen = imagesSeen(request);
      assert.deepEqual(seen, ["image/png 64×48", "image/jpeg 24×16"]);
    });
  });

  Deno.test(`${program.name} passes on the image that an MCP returns`, async () => {
    await withProgram(program, async ({ model, turn }) => {
      const call = { tool: program.toolName("fixture", "shot"), arguments: {} };
      model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "a picture" });
      const { outcome, updates } = await turn("take a picture");
      assert.deepEqual(outcome, { outcome: "completed" });
      const last = model.requests.at(-1);
      assert.ok(last !== undefined);
      assert.deepEqual(imagesSeen(last), ["image/png 30×20"]);
      const result = updates.find((update) => update.kind === "tool_result");
      assert.match(result?.text ?? "", /a picture\n\[image 30×20 PNG, \d+ B\]/);
      const images = updates.filter((update) => update.kind === "image");
      assert.equal(images.length, 1);
      assert.equal(images[0]?.callId, result?.callId);
      assert.ok(images[0] !== undefined && "base64" in images[0].image);
      assert.equal(images[0].image.base64, (await pngOf(30, 20)).toBase64());
    }, {
      mcps: { fixture: fixtureServer() },
      decidePermission: () => Promise.resolve({ decision: "allow" }),
    });
  });
}

testPrograms(["codex"], "reports an image that it looks at as a file", async (codex) => {
  await withProgram(codex, async ({ model, turn, home }) => {
    const { path } = await kept(home, "shot.png", await pngOf(12, 8));
    const call = { tool: "view_image", arguments: { path } };
    model.script({ kind: "answer", calls: [call] }, { kind: "answer", text: "seen" });
    const { updates } = await turn("look at shot.png");
    const image = updates.find((update) => update.kind === "image");
    assert.deepEqual(image?.image, { path });
  });
});
