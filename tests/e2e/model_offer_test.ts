/**
 * `up` offers a model that it finds and never uses it without consent: without a terminal, on a
 * terminal, and when the command line requests it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { pathsUnder } from "core/paths.ts";
import { type ModelReply, type ModelRequest, startFakeModel } from "tests/fakes/model_endpoint.ts";
import { TREE } from "tests/support/module_graph.ts";
import { makeRoot, plainEnv, runDev, runVerb, startUp } from "tests/support/up_process.ts";

const KEY = "sk-a-key-of-the-environment-000";

async function agentEnv(root: string): Promise<string> {
  return await Deno.readTextFile(`${pathsUnder(root).envDir}/agent-ada.env`);
}

Deno.test("up without a terminal reports the models it found, and uses none", async () => {
  const root = await makeRoot();
  await using up = startUp(root, [], { ANTHROPIC_API_KEY: KEY });
  const line = await up.line(/^found ANTHROPIC_API_KEY/);
  assert.match(line, /, not used; to use it: \.\/dev up --root \S+ --model-from anthropic$/);
  await up.line(/^try, in another terminal/);
  const shown = await runVerb(root, ["agents", "model", "show", "ada"]);
  assert.match(shown.stdout, /uses the built-in demo model/);
  assert.ok(!(await agentEnv(root)).includes(KEY));
  assert.ok(!up.text().includes(KEY));
});

Deno.test("up --model-from none looks for no model", async () => {
  const root = await makeRoot();
  await using up = startUp(root, ["--model-from", "none"], { ANTHROPIC_API_KEY: KEY });
  await up.line(/^try, in another terminal/);
  assert.ok(!up.text().includes("found "));
});

Deno.test("up --model-from connects the named model, which then answers a turn", async () => {
  const endpoint = await startFakeModel();
  const answer = (request: ModelRequest): ModelReply => {
    endpoint.script(answer);
    return request.path.endsWith("/models")
      ? { kind: "status", status: 200, body: { data: [{ id: "m" }] } }
      : { kind: "answer", text: "I am the local server." };
  };
  endpoint.script(answer);
  try {
    const root = await makeRoot();
    await using up = startUp(root, ["--model-from", endpoint.baseUrl]);
    await up.line(/model +ada uses m at http:/);
    await up.line(/^try, in another terminal/);
    const turn = await runDev(["up", "--root", root, "--turn", "who are you?"]);
    assert.match(turn.stdout, /I am the local server\./, turn.stderr);
  } finally {
    await endpoint.close();
  }
});

Deno.test("up --model-from reports what is missing", async () => {
  const root = await makeRoot();
  await using up = startUp(root, ["--model-from", "openai"]);
  assert.equal(await up.exited, 2);
  assert.match(up.text(), /Cannot use the model from "openai": OPENAI_API_KEY is not in the env/);
});

/** Runs `up` on a separate terminal and types an answer to its question. */
async function onTerminal(root: string, answer: string): Promise<string> {
  const command = `${TREE}dev up --root ${root} --port-base 0`;
  const child = new Deno.Command("script", {
    args: ["-qefc", command, "/dev/null"],
    cwd: TREE,
    clearEnv: true,
    env: plainEnv({ ANTHROPIC_API_KEY: KEY, TERM: "dumb" }),
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const keys = child.stdin.getWriter();
  const type = (text: string) => keys.write(new TextEncoder().encode(text));
  let output = "";
  let isAnswered = false;
  let isStopped = false;
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk;
    if (!isAnswered && output.includes("[y/N]")) {
      isAnswered = true;
      await type(`${answer}\n`);
    }
    if (!isStopped && output.includes("try, in another terminal")) {
      isStopped = true;
      await type("\x03");
    }
  }
  await keys.close().catch(() => {});
  await child.status;
  return output;
}

Deno.test("up on a terminal asks; the answer no keeps the demo model", async () => {
  const root = await makeRoot();
  const output = await onTerminal(root, "n");
  assert.match(
    output,
    /Found ANTHROPIC_API_KEY in the environment\. Shall ada talk to anthropic\?/,
  );
  assert.match(output, /not used; to use it: /);
  assert.ok(!output.includes(KEY));
  assert.ok(!(await agentEnv(root)).includes(KEY));
});
