/**
 * The tool `skill`: loads the text of a skill. It only reads, and its result names the file and its
 * SHA-256, so that the transcript shows what the model followed.
 *
 * @module
 */

import * as z from "zod";
import type { TextFiles } from "units/agent_loop/prompt/text_file.ts";
import { loadSkill, type Skill } from "units/agent_loop/skills/find_skills.ts";
import { checkInput, failed, type Tool } from "units/agent_loop/tools/tool.ts";

const skillInput = z.object({ name: z.string().min(1) });
/** Names shown to a model that asked for an unknown skill. */
const NAMES_SHOWN_MAX = 40;

/** Creates the tool; `skills` returns those of the turn. */
export function skillTool(skills: () => readonly Skill[], files: TextFiles): Tool {
  return {
    name: "skill",
    tool: "skill",
    mcp: undefined,
    kind: "read",
    isConcurrent: true,
    description: "Loads the instructions of a skill. Call it before you work on a task that the " +
      "description of a skill matches.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string", description: "Name of the skill" } },
      required: ["name"],
      additionalProperties: false,
    },
    async run(given) {
      const checked = checkInput(skillInput, given);
      if (!checked.ok) return failed(checked.error);
      const { name } = checked.value;
      const skill = skills().find((each) => each.name === name);
      if (skill === undefined) {
        const names = skills().slice(0, NAMES_SHOWN_MAX).map((each) => each.name).join(", ");
        return failed(`There is no skill "${name.slice(0, 80)}". The skills are: ${names}`);
      }
      const loaded = await loadSkill(skill, files);
      if (!loaded.ok) return failed(`Cannot load the skill: "${skill.path}" ${loaded.error}`);
      const { body, sha256 } = loaded.value;
      const folder = skill.path.slice(0, skill.path.lastIndexOf("/"));
      return {
        status: "completed",
        text: `[skill ${name}: ${skill.path}, sha256 ${sha256}]\n` +
          `[files that it names are in ${folder}]\n${body}`,
      };
    },
  };
}
