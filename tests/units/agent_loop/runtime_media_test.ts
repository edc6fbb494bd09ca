/**
 * Images with the real runtime and each protocol: the model sees those of a message and of a tool
 * result, in the form that the protocol has for them. A model that accepts none gets a text.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { FakeModel, ModelReply } from "tests/fakes/model_endpoint.ts";
import { imagesSeen, sightOf } from "tests/support/model_sight.ts";
import { fixtureServer, startRuntime } from "tests/support/runtime_process.ts";
import { GRACE_MS, of, withRuntime } from "tests/support/runtime_scene.ts";
import { samplePdf } from "tests/support/sample_pdf.ts";
import { hollowPng, pngOf, SAMPLES } from "tests/support/sample_images.ts";

const PROVIDERS = ["anthropic", "openai", "openai-compatible"] as const;
const CALL: ModelReply = { kind: "answer", calls: [{ tool: "shot", arguments: {} }] };
const DONE: ModelReply = { kind: "answer", text: "done" };

/** An image as the dial unit sends it. */
const png = async (width: number, height: number) => ({
  type: "image/png" as const,
  path: "/tmp/a.png",
  base64: (await pngOf(width, height)).toBase64(),
});

/** A refusal of an endpoint. */
const refuse = (message: string, status = 400): ModelReply => ({
  kind: "status",
  status,
  body: { error: { message } },
});

/** Returns the last request's messages of the chat protocol, each content as JSON. */
function chatOf(model: FakeModel): readonly (readonly [string, string])[] {
  const messages: readonly { role: string; content: unknown }[] = model.requests.at(-1)?.body
    .messages;
  return messages.map(({ role, content }) => [role, JSON.stringify(content)] as const);
}

const seen = (model: FakeModel) => model.requests.map(imagesSeen);

for (const provider of PROVIDERS) {
  Deno.test(`${provider}: the model sees images of a message and of a result`, async () => {
    await withRuntime(async ({ model, runtime }) => {
      model.script(CALL, DONE);
      const jpeg = { ...await png(1, 1), type: "image/jpeg", base64: SAMPLES.jpeg.toBase64() };
      const images = [await png(64, 48), jpeg as Awaited<ReturnType<typeof png>>];
      const { outcome, updates } = await runtime.turn({ text: "what is in these?", images });
      assert.deepEqual(outcome, { outcome: "completed" });
      assert.deepEqual(of(updates, "notice"), []);
      const sent = ["image/png 64×48", "image/jpeg 24×16"];
      assert.deepEqual(seen(model), [sent, [...sent, "image/png 30×20"]]);
      const [last] = model.requests.slice(-1);
      assert.ok(last !== undefined);
      assert.match(JSON.stringify(last.body), /what is in these\?/);
      assert.match(sightOf(last).results[0]?.text ?? "", /a picture\n\[image 30×20 PNG, \d+ B\]/);
    }, {
      servers: { fix: fixtureServer() },
      env: {
        FLEETCTL_PROVIDER: provider,
        OPENAI_API_KEY: "key-0123456789",
        ANTHROPIC_API_KEY: "key-0123456789",
      },
    });
  });
}

Deno.test("images of chat results follow them in a message of the user", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(
      { kind: "answer", calls: [CALL, CALL].map(() => ({ tool: "shot", arguments: {} })) },
      DONE,
    );
    await runtime.turn("take two pictures");
    const roles = chatOf(model).map(([role]) => role);
    assert.deepEqual(roles, ["system", "user", "assistant", "tool", "tool", "user"]);
    for (const [role, content] of chatOf(model)) {
      assert.equal(content.includes("image_url"), role === "user" && content.includes("result of"));
    }
    assert.equal(seen(model).at(-1)?.length, 2);
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("images survive the process, and the session file only refers to them", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    model.script(CALL, DONE);
    await runtime.turn({ text: "look", images: [await png(64, 48)] });
    await runtime.session.close(GRACE_MS);
    const agent = `${home}/.runtime-b/agent`;
    const [file] = [...Deno.readDirSync(`${agent}/sessions`)]
      .filter(({ name }) => name.endsWith(".jsonl"));
    const text = await Deno.readTextFile(`${agent}/sessions/${file?.name}`);
    assert.ok(!text.includes((await pngOf(64, 48)).toBase64().slice(0, 40)));
    assert.ok(text.length < 4_000, `${text.length} bytes`);
    const stored = [...Deno.readDirSync(`${agent}/media`)].map(({ name }) => name);
    assert.equal(stored.length, 2);
    for (const name of stored) {
      const { mode } = Deno.statSync(`${agent}/media/${name}`);
      assert.equal((mode ?? 0) & 0o777, 0o600);
    }

    const again = await startRuntime(home, env);
    try {
      model.script(DONE);
      await again.turn("and now?");
      assert.deepEqual(seen(model).at(-1), ["image/png 64×48", "image/png 30×20"]);
      await Deno.remove(`${agent}/media`, { recursive: true });
      model.script(DONE);
      await again.turn("and now?");
      assert.deepEqual(seen(model).at(-1), []);
      assert.match(
        chatOf(model).join(),
        /image 64×48 PNG, \d+ B: not shown, because it is no longer/,
      );
    } finally {
      await again.session.close(GRACE_MS);
    }
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("a continued turn shows its images again", async () => {
  await withRuntime(async ({ model, runtime, home, env }) => {
    model.script(CALL, { kind: "hang", text: "I see" });
    const images = [await png(64, 48)];
    const streamed = Promise.withResolvers<void>();
    const cut = runtime.turn({ text: "look", images }, ({ kind }) => {
      if (kind === "image") streamed.resolve();
    }, "turn-a");
    await streamed.promise;
    Deno.kill(runtime.child.pid, "SIGKILL");
    assert.equal((await cut).outcome.outcome, "interrupted");
    const again = await startRuntime(home, env);
    try {
      model.script(DONE);
      // The endpoint may not have received the second request before the kill.
      model.forget();
      model.script(DONE);
      const { updates } = await again.turn({ text: "look", images }, undefined, "turn-a");
      assert.equal(of(updates, "image").length, 1);
      assert.deepEqual(seen(model).at(-1), ["image/png 64×48", "image/png 30×20"]);
    } finally {
      await again.session.close(GRACE_MS);
    }
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("a model without vision gets a text in place of each image", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(refuse("This model does not support image inputs"), CALL, DONE, DONE);
    const { outcome, updates } = await runtime.turn({ text: "look", images: [await png(64, 48)] });
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.deepEqual(seen(model), [["image/png 64×48"], [], []], "only the first request has it");
    assert.match(of(updates, "notice")[0]?.text ?? "", /^The model accepts no images/);
    const chat = chatOf(model).join("\n");
    assert.match(chat, /look\\n\[image 64×48 PNG, \d+ B: not shown, because this model accepts no/);
    assert.match(chat, /a picture\\n\[image 30×20 PNG, \d+ B: not shown, because this model/);
    const later = await runtime.turn({ text: "and this?", images: [await png(10, 10)] });
    assert.deepEqual(of(later.updates, "notice"), []);
    assert.deepEqual(seen(model).at(-1), []);
  }, { servers: { fix: fixtureServer() } });
});

Deno.test("an image that the endpoint cannot read is left out, a later one is shown", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(refuse("messages.0: could not process image"), DONE, DONE);
    await runtime.turn({ text: "look", images: [await png(64, 48)] });
    await runtime.turn({ text: "and this?", images: [await png(10, 10)] });
    assert.deepEqual(seen(model), [["image/png 64×48"], [], ["image/png 10×10"]]);
    assert.match(chatOf(model).join(), /not shown, because the model endpoint refused it/);
  });
});

Deno.test("a refusal without words about images is tried once without them", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(refuse("Bad Request"), DONE, DONE);
    const { outcome, updates } = await runtime.turn({ text: "look", images: [await png(64, 48)] });
    assert.deepEqual(outcome, { outcome: "completed" });
    assert.match(
      of(updates, "notice")[0]?.text ?? "",
      /Bad Request; trying again without images and PDFs/,
    );
    assert.match(chatOf(model).join(), /not shown, because the model endpoint refused it/);
    await runtime.turn({ text: "and this?", images: [await png(10, 10)] });
    assert.deepEqual(seen(model), [["image/png 64×48"], [], ["image/png 10×10"]]);
  });
});

Deno.test("a refusal with other causes ends the turn, and later ones show the image", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(refuse("Bad Request"), refuse("Bad Request"), DONE);
    const { outcome } = await runtime.turn({ text: "look", images: [await png(64, 48)] });
    assert.equal(outcome.code, "model-request-refused");
    await runtime.turn("again");
    assert.deepEqual(seen(model), [["image/png 64×48"], [], ["image/png 64×48"]]);
    model.script(refuse("Bad Request"), refuse("Bad Request", 401));
    assert.equal((await runtime.turn("once more")).outcome.code, "model-unauthorized");
  });
});

Deno.test("what the fallback refuses, the first model still gets", async () => {
  const overloaded: ModelReply = {
    kind: "status",
    status: 529,
    headers: { "retry-after-ms": "1" },
  };
  await withRuntime(async ({ model, runtime }) => {
    model.script(...Array.from({ length: 5 }, () => overloaded));
    model.script(refuse("This model does not support image inputs"), DONE, DONE);
    const { outcome } = await runtime.turn({ text: "look", images: [await png(64, 48)] });
    assert.deepEqual(outcome, { outcome: "completed" });
    await runtime.turn("and now?");
    const last = model.requests.slice(-3).map(({ body }) => body.model);
    assert.deepEqual(last, ["other", "other", "fake"]);
    assert.deepEqual(seen(model).slice(-3), [["image/png 64×48"], [], ["image/png 64×48"]]);
  }, { env: { FLEETCTL_FALLBACK_MODEL: "other" } });
});

Deno.test("the setting for text only sends no image", async () => {
  await withRuntime(async ({ model, runtime }) => {
    model.script(DONE);
    await runtime.turn({ text: "look", images: [await png(64, 48)] });
    assert.deepEqual(seen(model), [[]]);
  }, { env: { FLEETCTL_MODEL_INPUT: "text" } });
});

Deno.test("an image that no model could see refuses the prompt", async () => {
  const cases = [
    [new TextEncoder().encode("<html>").toBase64(), /not a PNG, JPEG, GIF or WebP/],
    [hollowPng(9_000, 10).toBase64(), /9000×10 pixels/],
  ] as const;
  await withRuntime(async ({ model, runtime }) => {
    for (const [base64, reason] of cases) {
      const image = { ...await png(1, 1), base64 };
      const { outcome } = await runtime.turn({ text: "look", images: [image] });
      assert.equal(outcome.outcome, "failed");
      assert.equal(outcome.code, "image-unfit");
      assert.match(outcome.reason ?? "", reason);
    }
    assert.deepEqual(model.requests, []);
  });
});

/** Where each provider's protocol has a PDF. */
const PDF_FORMS = { anthropic: '"document"', openai: '"input_file"' } as const;

for (const provider of ["anthropic", "openai"] as const) {
  Deno.test(`${provider}: the model sees PDFs of a message and of a result`, async () => {
    await withRuntime(async ({ model, runtime, home }) => {
      const path = `${home}/report.pdf`;
      await Deno.writeFile(path, samplePdf(2));
      model.script({ kind: "answer", calls: [{ tool: "paper", arguments: {} }] }, DONE);
      const { outcome } = await runtime.turn({
        text: `[attachment: report.pdf: ${path}]`,
        pdfs: [{ name: "report.pdf", path }],
      });
      assert.deepEqual(outcome, { outcome: "completed" });
      const bodies = model.requests.map(({ body }) => JSON.stringify(body));
      const sent = samplePdf(2).toBase64();
      const returned = samplePdf(1).toBase64();
      assert.deepEqual(
        bodies.map((body) => [body.includes(sent), body.includes(returned)]),
        [[true, false], [true, true]],
      );
      assert.ok(bodies.every((body) => body.includes(PDF_FORMS[provider])));
    }, {
      servers: { fix: fixtureServer() },
      env: {
        FLEETCTL_PROVIDER: provider,
        OPENAI_API_KEY: "key-0123456789",
        ANTHROPIC_API_KEY: "key-0123456789",
      },
    });
  });
}

for (const input of ["images", "pdfs"] as const) {
  Deno.test(`openai-compatible gets PDFs only if told so: ${input}`, async () => {
    await withRuntime(async ({ model, runtime, home }) => {
      const path = `${home}/report.pdf`;
      await Deno.writeFile(path, samplePdf(2));
      model.script({ kind: "answer", calls: [{ tool: "paper", arguments: {} }] }, DONE);
      await runtime.turn({ text: "read it", pdfs: [{ name: "report.pdf", path }] });
      const chat = chatOf(model).map(([, content]) => content).join("\n");
      const returned = samplePdf(1).toBase64();
      assert.equal(chat.includes(samplePdf(2).toBase64()), input === "pdfs");
      assert.equal(chat.includes(returned), input === "pdfs");
      assert.equal(chat.includes(`no such content; the file is ${path}]`), input === "images");
      // A tool can read the PDF of a result too.
      const kept = /PDF paper\.pdf, 1 pages.*?the file is ([^\]]+)]/.exec(chat)?.[1];
      assert.equal(kept !== undefined, input === "images");
      if (kept !== undefined) assert.equal((await Deno.readFile(kept)).toBase64(), returned);
    }, { servers: { fix: fixtureServer() }, env: { FLEETCTL_MODEL_INPUT: input } });
  });
}

for (
  const [name, message, pdfsLater] of [
    ["accepts no PDFs", "Invalid content type: 'file' is not supported by this model", false],
    ["cannot read this one", "messages.0: could not process document", true],
  ] as const
) {
  Deno.test(`an endpoint that ${name} gets a text, and the image still`, async () => {
    await withRuntime(async ({ model, runtime, home }) => {
      const path = `${home}/report.pdf`;
      await Deno.writeFile(path, samplePdf(2));
      model.script(refuse(message), DONE, DONE);
      const { outcome, updates } = await runtime.turn({
        text: "compare",
        images: [await png(64, 48)],
        pdfs: [{ name: "report.pdf", path }],
      });
      assert.deepEqual(outcome, { outcome: "completed" });
      assert.match(of(updates, "notice")[0]?.text ?? "", /PDFs/);
      const hasPdf = () =>
        model.requests.map(({ body }) => JSON.stringify(body).includes("application/pdf"));
      assert.deepEqual(hasPdf(), [true, false]);
      assert.deepEqual(seen(model), [["image/png 64×48"], ["image/png 64×48"]]);
      assert.match(chatOf(model).join("\n"), new RegExp(`PDF report\\.pdf, 2 pages.*${path}`));
      await Deno.writeFile(path, samplePdf(3));
      await runtime.turn({ text: "and this?", pdfs: [{ name: "report.pdf", path }] });
      assert.deepEqual(hasPdf(), [true, false, pdfsLater]);
    }, { env: { FLEETCTL_MODEL_INPUT: "pdfs" } });
  });
}

Deno.test("a PDF that no model could read is named in the text", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const path = `${home}/report.pdf`;
    await Deno.writeTextFile(path, "<html>");
    model.script(DONE);
    const { updates } = await runtime.turn({
      text: "read it",
      pdfs: [{ name: "report.pdf", path }],
    });
    assert.match(
      chatOf(model).join(),
      /does not see the PDF report\.pdf \(.*\): its content is not/,
    );
    assert.match(of(updates, "notice")[0]?.text ?? "", /does not see the PDF report\.pdf/);
  }, { env: { FLEETCTL_MODEL_INPUT: "pdfs" } });
});
