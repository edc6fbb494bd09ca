/**
 * The text of a skill: a `SKILL.md` with YAML frontmatter, as the Agent Skills format defines it.
 * Reads `name` and `description`; ignores all other keys, also `allowed-tools`, because a skill
 * grants no rights. No I/O.
 *
 * @module
 */

import { err, ok, type Result } from "core/result.ts";
import { isRecord } from "core/text/json_object.ts";
import { parseYaml } from "core/text/yaml.ts";

/** Limits of the format. */
const NAME_LENGTH_MAX = 64;
const DESCRIPTION_LENGTH_MAX = 1024;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** A skill's own words. */
export interface SkillText {
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** What follows the frontmatter. */
  readonly body: string;
}

/**
 * Parses the text of a `SKILL.md` in a folder of this name. The error continues the sentence
 * `"<path>" …`.
 */
export function parseSkill(text: string, folderName: string): Result<SkillText, string> {
  const parts = /^---[ \t]*\n(?:([^]*?)\n)??---[ \t]*(?:\n|$)([^]*)$/.exec(text);
  if (parts === null) return err("has no frontmatter, must begin with a block between --- lines");
  const [, frontmatter = "", body = ""] = parts;
  const yaml = parseYaml(frontmatter, "frontmatter");
  if (!yaml.ok) {
    const reason = yaml.error.details[0] ?? yaml.error.message;
    return err(`has an unusable frontmatter: ${reason}`);
  }
  const { value } = yaml.value;
  if (!isRecord(value)) return err("has an unusable frontmatter: must have name and description");
  const { name, description } = value;
  if (typeof name !== "string" || name.length > NAME_LENGTH_MAX || !NAME.test(name)) {
    return err(
      `has no usable name, must be at most ${NAME_LENGTH_MAX} of a-z, 0-9 and single hyphens`,
    );
  }
  if (name !== folderName) {
    return err(`has the name "${name}", must have that of its folder, "${folderName}"`);
  }
  const line = typeof description === "string" ? description.replace(/\s+/g, " ").trim() : "";
  if (line === "" || line.length > DESCRIPTION_LENGTH_MAX) {
    return err(
      `has no usable description, must be a text of 1 to ${DESCRIPTION_LENGTH_MAX} characters`,
    );
  }
  return ok({ name, description: line, body });
}
