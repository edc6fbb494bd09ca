/**
 * The files that reach an agent's prompt, at their real paths under the real unit: `AGENTS.md` of
 * home and workspace, a skill, and the memory. Another agent can neither read nor change them.
 *
 * @module
 */

import assert from "node:assert/strict";
import type { FakeModel, ModelReply } from "tests/fakes/model_endpoint.ts";
import { sightOf } from "tests/support/model_sight.ts";
import type { PackagedHost } from "tests/support/packaged_host.ts";
import { memoryPath } from "units/agent_loop/memory/remember_tool.ts";

const HOME = "/home/ada";
const MEMORY = memoryPath(HOME);
const SKILL = `${HOME}/.agents/skills/release/SKILL.md`;
const FACT = "The owner prefers metric units.";
/** Path → content. */
const FILES: Readonly<Record<string, string>> = {
  [`${HOME}/AGENTS.md`]: "Answer in French.\n",
  [`${HOME}/workspace/AGENTS.md`]: "Run the linter first.\n",
  [SKILL]: "---\nname: release\ndescription: How to cut a release.\n---\nTag it, then push.\n",
};
const DONE: ModelReply = { kind: "answer", text: "done" };

/** The agents work with a scripted model, at this port of the host's loopback. */
export async function useModel(scene: PackagedHost, port: number): Promise<void> {
  for (const name of ["ada", "bea"]) {
    const endpoint = ["--provider", "openai-compatible", "--model", "m"];
    const address = ["--base-url", `http://127.0.0.1:${port}/v1`];
    const words = ["agents", "model", "set", name, ...endpoint, ...address];
    await scene.must("fleetctl", ...words, "--no-key", "--no-check");
    await scene.must("fleetctl", "apply");
    await scene.must("fleetctl", "agents", "restart", name);
  }
}

/** Runs a turn; returns the prompt that the model got, and the results of the calls. */
async function turn(
  scene: PackagedHost,
  model: FakeModel,
  of: { readonly agent: string; readonly options?: readonly string[]; readonly calls?: Calls },
): Promise<{ readonly prompt: string; readonly results: readonly string[] }> {
  const from = model.requests.length;
  const { agent, options = [], calls = [] } = of;
  model.forget();
  model.script(...calls.length === 0 ? [DONE] : [{ kind: "answer", calls } as const, DONE]);
  await scene.must("fleetctl", "turn", agent, ...options, "work");
  const [first, last] = [model.requests[from], model.requests.at(-1)];
  assert.ok(first !== undefined && last !== undefined);
  return {
    prompt: String(first.body.messages[0].content),
    results: sightOf(last).results.slice(-calls.length || Infinity).map(({ text }) => text),
  };
}

type Calls = readonly { readonly tool: string; readonly arguments: unknown }[];

/** An agent reads its files, loads a skill and remembers a fact for its other conversations. */
export async function useFiles(scene: PackagedHost, model: FakeModel): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) {
    const write = `mkdir -p "$(dirname "$1")" && cat > "$1"`;
    const written = await scene.run(["sh", "-c", write, "sh", path], { user: "ada", input: text });
    assert.equal(written.code, 0, written.err);
  }
  const { prompt, results } = await turn(scene, model, {
    agent: "ada",
    calls: [
      { tool: "skill", arguments: { name: "release" } },
      { tool: "remember", arguments: { text: FACT } },
    ],
  });
  for (const [path, text] of Object.entries(FILES)) {
    assert.ok(prompt.includes(path), `${path} is not in ${prompt}`);
    if (path !== SKILL) assert.ok(prompt.includes(text), text);
  }
  const [skill = "", remembered] = results;
  assert.ok(skill.includes(SKILL) && skill.includes("Tag it, then push."), skill);
  assert.match(skill, /[0-9a-f]{64}/);
  assert.match(remembered ?? "", /the memory has \d+ of 16384 bytes/);
  assert.equal(await scene.must("cat", MEMORY), `- ${FACT}\n`);
  assert.equal(await scene.modeOf(MEMORY), "600 ada:ada");
  const other = await turn(scene, model, { agent: "ada", options: ["--conversation", "trip"] });
  assert.ok(other.prompt.includes(FACT), other.prompt);
}

/** Another agent gets none of it in its prompt, and its tools can neither read nor write it. */
export async function keepFilesPrivate(scene: PackagedHost, model: FakeModel): Promise<void> {
  const paths = [...Object.keys(FILES), MEMORY];
  const before = await scene.must("sha256sum", ...paths);
  const commands = paths.flatMap((path) => [`cat ${path}`, `echo changed >> ${path}`]);
  const { prompt, results } = await turn(scene, model, {
    agent: "bea",
    calls: [
      ...commands.map((command) => ({ tool: "bash", arguments: { command } })),
      ...paths.map((path) => ({ tool: "read", arguments: { path } })),
      { tool: "skill", arguments: { name: "release" } },
      { tool: "remember", arguments: { text: "bea was here" } },
    ],
  });
  const own = "bea was here";
  for (const text of [...Object.values(FILES), FACT, own]) assert.ok(!prompt.includes(text), text);
  const denied = results.slice(0, -2);
  assert.equal(denied.length, 3 * paths.length);
  for (const text of denied) {
    assert.match(text, /[Pp]ermission denied|No such file/);
  }
  assert.match(results.at(-2) ?? "", /skill/);
  assert.equal(await scene.must("sha256sum", ...paths), before);
  assert.equal(await scene.must("cat", memoryPath("/home/bea")), `- ${own}\n`);
}
