/**
 * Frontmatter of skills, which skill wins, and the bounds of the list.
 *
 * @module
 */

import assert from "node:assert/strict";
import { printSkills } from "units/agent_loop/prompt/sections.ts";
import {
  createSkillFinder,
  SKILL_BYTES_MAX,
  SKILL_ENTRIES_MAX,
  SKILLS_MAX,
} from "units/agent_loop/skills/find_skills.ts";
import { parseSkill } from "units/agent_loop/skills/skill.ts";
import { memoryFiles } from "tests/fakes/files.ts";

const HOME = "/home/ada";

/** Texts of a skill in the folder `pdf`, and what they are. */
const TEXTS: readonly {
  readonly name: string;
  readonly text: string;
  readonly is: readonly [description: string, body: string] | RegExp;
}[] = [
  {
    name: "the smallest one",
    text: "---\nname: pdf\ndescription: Reads PDF files.\n---\nDo it.\n",
    is: ["Reads PDF files.", "Do it.\n"],
  },
  {
    name: "a description of several lines, other keys, and rules in the body",
    text: "---\nname: pdf\ndescription: >\n  Reads\n  files.\nlicense: MIT\nallowed-tools: Bash\n" +
      "---\n\nOne.\n---\nTwo.\n",
    is: ["Reads files.", "\nOne.\n---\nTwo.\n"],
  },
  { name: "no body", text: "---\nname: pdf\ndescription: x\n---", is: ["x", ""] },
  { name: "no frontmatter", text: "# PDF\n", is: /^has no frontmatter/ },
  { name: "an open frontmatter", text: "---\nname: pdf\ndescription: x\n", is: /^has no front/ },
  { name: "an empty file", text: "", is: /^has no frontmatter/ },
  { name: "an empty frontmatter", text: "---\n---\nx", is: /^has an unusable frontmatter/ },
  { name: "a list", text: "---\n- pdf\n---\n", is: /^has an unusable frontmatter/ },
  { name: "broken YAML", text: "---\nname: [pdf\n---\n", is: /^has an unusable frontmatter: / },
  {
    name: "an alias bomb",
    text: `---\na: &a [x, x]\n${
      Array.from({ length: 20 }, (_, at) => `b${at}: &b${at} [*a, *a, *a, *a]`).join("\n")
    }\n---\n`,
    is: /^has an unusable frontmatter: /,
  },
  { name: "no name", text: "---\ndescription: x\n---\n", is: /^has no usable name/ },
  { name: "a number as name", text: "---\nname: 1\ndescription: x\n---\n", is: /^has no usable n/ },
  {
    name: "a name that is a path",
    text: "---\nname: ../pdf\ndescription: x\n---\n",
    is: /^has no usable name/,
  },
  {
    name: "the name of another folder",
    text: "---\nname: doc\ndescription: x\n---\n",
    is: /^has the name "doc", must have that of its folder, "pdf"$/,
  },
  { name: "no description", text: "---\nname: pdf\n---\n", is: /^has no usable description/ },
  {
    name: "a long description",
    text: `---\nname: pdf\ndescription: ${"x".repeat(1_025)}\n---\n`,
    is: /^has no usable description, must be a text of 1 to 1024 characters$/,
  },
];

for (const { name, text, is } of TEXTS) {
  Deno.test(`the text of a skill: ${name}`, () => {
    const parsed = parseSkill(text, "pdf");
    if (is instanceof RegExp) assert.match(parsed.ok ? "" : parsed.error, is);
    else {
      assert.deepEqual(parsed, {
        ok: true,
        value: { name: "pdf", description: is[0], body: is[1] },
      });
    }
  });
}

Deno.test("the home's skill wins over the project's, then the nearest one", async () => {
  const project = [`${HOME}/project`, `${HOME}/project/app`];
  const files = memoryFiles({
    ...skill(HOME, "one", "of the home"),
    ...skill(project[0], "one", "of the root"),
    ...skill(project[0], "two", "of the root"),
    ...skill(project[1], "two", "of the app"),
    ...skill(project[1], "three", "of the app"),
  });
  const { skills, faults } = await finderOf(files).find(HOME, project);
  assert.deepEqual(skills.map(({ name, description }) => `${name} ${description}`), [
    "one of the home",
    "three of the app",
    "two of the app",
  ]);
  assert.deepEqual(faults.map(({ path, reason }) => `"${path}" ${reason}`), [
    `"${project[0]}/.agents/skills/one/SKILL.md" has the name of the skill ` +
    `"${HOME}/.agents/skills/one/SKILL.md"`,
    `"${project[0]}/.agents/skills/two/SKILL.md" has the name of the skill ` +
    `"${project[1]}/.agents/skills/two/SKILL.md"`,
  ]);
});

Deno.test("a file is not read again until it changes", async () => {
  let now = 100_000;
  const files = memoryFiles(skill(HOME, "one", "first"), { now: () => 0 });
  let reads = 0;
  const finder = createSkillFinder({
    files: {
      ...files,
      readHead: (path, bytesMax) => {
        reads++;
        return files.readHead(path, bytesMax);
      },
    },
    clock: { now: () => now },
  });
  const [old] = (await finder.find(HOME, [])).skills;
  await finder.find(HOME, []);
  assert.equal(reads, 1);
  now += 100_000;
  await files.write(`${HOME}/.agents/skills/one/SKILL.md`, textOf("one", "second"));
  const [next] = (await finder.find(HOME, [])).skills;
  assert.deepEqual([old?.description, next?.description, reads], ["first", "second", 2]);
  assert.notEqual(old?.sha256, next?.sha256);
});

Deno.test("bounds hold: bytes of a skill, entries of a folder, number of skills", async () => {
  const names = Array.from({ length: SKILL_ENTRIES_MAX + 1 }, (_, at) => `s${at}`).sort();
  const files = memoryFiles(
    Object.assign({}, ...names.map((name) => skill(HOME, name, "x"))),
  );
  const long = "y".repeat(SKILL_BYTES_MAX);
  await files.write(`${HOME}/.agents/skills/${names[0]}/SKILL.md`, textOf("s0", "x") + long);
  const { skills, faults } = await finderOf(files).find(HOME, []);
  assert.equal(skills.length, SKILLS_MAX);
  assert.match(faults[0]?.reason ?? "", /^has 257 entries, only the first 256 are used$/);
  assert.match(faults[1]?.reason ?? "", /^has 65575 bytes, must have at most 65536$/);
  assert.match(faults[2]?.reason ?? "", /^is left out, there are already 128 skills$/);
});

Deno.test("a long list describes what fits and names the rest", () => {
  const skills = Array.from({ length: 300 }, (_, at) => ({
    name: `skill-${at}`,
    description: "x".repeat(1_000),
    path: `/home/ada/.agents/skills/skill-${at}/SKILL.md`,
  }));
  const { text = "", undescribed } = printSkills(skills, 4_000);
  assert.equal(undescribed.length, 297);
  assert.ok(text.length < 6_000);
  assert.match(text, /\n- skill-2: x+ \(.*\)\n\[297 more skills, .* by name: skill-3, .* …\]$/);
  assert.deepEqual(printSkills([], 4_000), { text: undefined, undescribed: [] });
});

function finderOf(files: ReturnType<typeof memoryFiles>) {
  return createSkillFinder({ files, clock: { now: () => 1_000_000 } });
}

function skill(folder: string | undefined, name: string, description: string) {
  return { [`${folder}/.agents/skills/${name}/SKILL.md`]: textOf(name, description) };
}

function textOf(name: string, description: string): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\nDo it.\n`;
}
