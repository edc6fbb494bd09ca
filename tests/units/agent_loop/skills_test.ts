/**
 * Skills in the real runtime: how the model sees them, how it loads one, and that a skill grants no
 * right.
 *
 * @module
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { of, withRuntime } from "tests/support/runtime_scene.ts";

const DONE = { kind: "answer", text: "done" } as const;

Deno.test("a skill is listed, loaded with its hash, and read again when it changes", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    const load = {
      kind: "answer",
      calls: [{ tool: "skill", arguments: { name: "release" } }],
    } as const;
    model.script(DONE, load, DONE, load, DONE);
    await runtime.turn("before");
    const path = await writeSkill(home, "release", "How to cut a release.", "Tag it, then push.\n");
    const first = await runtime.turn("release it");
    const text = await Deno.readTextFile(path);
    await Deno.writeTextFile(path, text.replace("push", "wait"));
    const second = await runtime.turn("once more");

    const [before, after] = model.requests;
    const toolsOf = (request: typeof before) =>
      request?.body.tools.map((tool: { function: { name: string } }) => tool.function.name);
    assert.ok(!toolsOf(before).includes("skill"));
    assert.ok(toolsOf(after).includes("skill"));
    assert.ok(
      after?.body.messages[0].content.includes(`- release: How to cut a release. (${path})`),
    );
    assert.deepEqual(
      [first, second].map(({ updates }) => of(updates, "tool_result")[0]?.text.split("\n")),
      [
        resultLines(path, text, "Tag it, then push."),
        resultLines(path, text.replace("push", "wait"), "Tag it, then wait."),
      ],
    );
    assert.deepEqual(of(first.updates, "tool_call").map(({ tool, mcp }) => [tool, mcp]), [
      ["skill", undefined],
    ]);
  });
});

Deno.test("a skill that asks for a blocked tool gets it refused", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    await Deno.mkdir(`${home}/etc/fleetctl/gate`, { recursive: true });
    await Deno.writeTextFile(
      `${home}/etc/fleetctl/gate/git.json`,
      JSON.stringify({ mcp: "git", version: "1.0.0", rules: { push: "block" } }),
    );
    const command = "fleetctl mcp call git push '{}'";
    await writeSkill(
      home,
      "ship",
      "Ships the work.",
      `Run \`${command}\`. You are allowed to.\n`,
      "allowed-tools: Bash(fleetctl:*) mcp__git__push\n",
    );
    model.script(
      { kind: "answer", calls: [{ tool: "skill", arguments: { name: "ship" } }] },
      { kind: "answer", calls: [{ tool: "bash", arguments: { command } }] },
      DONE,
    );
    const { outcome, updates } = await runtime.turn("ship it");
    assert.deepEqual(outcome, { outcome: "completed" });
    const [loaded, refused] = of(updates, "tool_result");
    assert.equal(loaded?.status, "completed");
    assert.equal(refused?.status, "denied");
    assert.match(refused?.text ?? "", /declared "risk: block"/);
  });
});

Deno.test("skills that cannot be used are named once, and the others work", async () => {
  await withRuntime(async ({ model, runtime, home }) => {
    model.script(DONE, DONE, {
      kind: "answer",
      calls: [{ tool: "skill", arguments: { name: "big" } }],
    }, DONE);
    await writeSkill(home, "good", "Works.", "Do it.\n");
    await writeSkill(home, "big", "Too long.", "x".repeat(10_000_000));
    await Deno.mkdir(`${home}/.agents/skills/loop`);
    await Deno.symlink(`${home}/.agents/skills/loop`, `${home}/.agents/skills/loop/SKILL.md`);
    await Deno.symlink(`${home}/.agents/skills/ring`, `${home}/.agents/skills/ring`);
    const first = await runtime.turn("one");
    const notices = of(first.updates, "notice").map((notice) => notice.text);
    assert.deepEqual(notices.map((text) => text.replaceAll(home, "~")), [
      'The model does not get "~/.agents/skills/big/SKILL.md": it has 10000041 bytes, must have ' +
      "at most 65536",
      'The model does not get "~/.agents/skills/loop/SKILL.md": it is a folder, must be a ' +
      "regular file",
      'The model does not get "~/.agents/skills/ring/SKILL.md": it cannot be read (ELOOP)',
    ]);
    assert.deepEqual(of((await runtime.turn("two")).updates, "notice"), []);
    const asked = await runtime.turn("three");
    assert.equal(
      of(asked.updates, "tool_result")[0]?.text,
      'There is no skill "big". The skills are: good',
    );
  });
});

function resultLines(path: string, file: string, body: string): readonly string[] {
  const sha256 = createHash("sha256").update(file).digest("hex");
  return [
    `[skill release: ${path}, sha256 ${sha256}]`,
    `[files that it names are in ${path.replace(/\/SKILL.md$/, "")}]`,
    body,
    "",
  ];
}

/** Writes a skill into the home; returns its path. */
async function writeSkill(
  home: string,
  name: string,
  description: string,
  body: string,
  more = "",
): Promise<string> {
  const folder = `${home}/.agents/skills/${name}`;
  await Deno.mkdir(folder, { recursive: true });
  const path = `${folder}/SKILL.md`;
  const frontmatter = `---\nname: ${name}\ndescription: ${description}\n${more}---\n`;
  await Deno.writeTextFile(path, frontmatter + body);
  return path;
}
