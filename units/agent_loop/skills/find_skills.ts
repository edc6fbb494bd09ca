/**
 * The skills of a conversation: `.agents/skills/<name>/SKILL.md` in the home and in the folders of
 * the project. The home's skill wins over the project's of the same name, so that a cloned
 * repository cannot replace a skill of the owner. Then the nearest folder wins.
 *
 * @module
 */

import { fileVersion } from "core/files/file_stat.ts";
import type { Clock } from "core/ports/clock.ts";
import { FileFault, type Files } from "core/ports/files.ts";
import { err, ok, type Result } from "core/result.ts";
import {
  decodeText,
  readBytesHead,
  type TextFault,
  type TextFiles,
} from "units/agent_loop/prompt/text_file.ts";
import { parseSkill, type SkillText } from "units/agent_loop/skills/skill.ts";

/** Largest `SKILL.md`: the model gets it whole. Longer material belongs into files beside it. */
export const SKILL_BYTES_MAX = 64 * 1024;
/** Skills of a conversation. */
export const SKILLS_MAX = 128;
/** Entries of one folder of skills. */
export const SKILL_ENTRIES_MAX = 256;
/** A file that changed so recently may change again without a new time stamp. */
const SETTLED_MS = 2_000;
const SKILLS_FOLDER = ".agents/skills";

/** A skill that can be loaded. */
export interface Skill {
  readonly name: string;
  readonly description: string;
  /** Path of its `SKILL.md`. */
  readonly path: string;
  /** Its links must stay in this folder. */
  readonly within: string;
  /** SHA-256 of its `SKILL.md`, in hex. */
  readonly sha256: string;
}

/** The skills in the order of their names. */
export interface FoundSkills {
  readonly skills: readonly Skill[];
  readonly faults: readonly TextFault[];
}

/** Ports for reading skills. */
export interface SkillPorts {
  readonly files: TextFiles & Pick<Files, "list">;
  readonly clock: Pick<Clock, "now">;
}

type Entry = Skill | TextFault | undefined;

/** Finds skills again and again; reads a file only when it has changed. */
export interface SkillFinder {
  /** `project` has the folders from the project's root to the working folder. */
  find(home: string, project: readonly string[]): Promise<FoundSkills>;
}

/** Creates a finder that has read nothing yet. */
export function createSkillFinder(ports: SkillPorts): SkillFinder {
  const known = new Map<string, { readonly version: string; readonly entry: Entry }>();

  async function entryAt(path: string, within: string): Promise<Entry> {
    const real = await ports.files.realPath(path).catch(() => undefined);
    const stat = real === undefined ? undefined : await ports.files.stat(real);
    const version = fileVersion(stat, ports.clock.now(), SETTLED_MS);
    const key = `${real}`;
    const old = known.get(path);
    if (version !== undefined && old?.version === `${key} ${version}`) return old.entry;
    const entry = await readEntry(path, within, ports.files);
    if (version !== undefined) known.set(path, { version: `${key} ${version}`, entry });
    return entry;
  }

  return {
    async find(home, project) {
      const root = project[0] ?? home;
      const folders = [
        { folder: home, within: home },
        ...project.filter((each) => each !== home).reverse()
          .map((folder) => ({ folder, within: root })),
      ];
      const byName = new Map<string, Skill>();
      const faults: TextFault[] = [];
      for (const { folder, within } of folders) {
        const listed = await listNames(`${folder}/${SKILLS_FOLDER}`, ports.files);
        faults.push(...listed.faults);
        for (const name of listed.names) {
          const path = `${folder}/${SKILLS_FOLDER}/${name}/SKILL.md`;
          const entry = await entryAt(path, within);
          if (entry === undefined) continue;
          const fault = "sha256" in entry ? rankFault(entry, byName) : entry;
          if (fault !== undefined) faults.push(fault);
          else if ("sha256" in entry) byName.set(entry.name, entry);
        }
      }
      const skills = [...byName.values()].sort((a, b) => a.name < b.name ? -1 : 1);
      return { skills, faults };
    },
  };
}

/** Reads the skill as it is now, to load it. */
export async function loadSkill(
  { path, within }: Pick<Skill, "path" | "within">,
  files: TextFiles,
): Promise<Result<SkillText & { readonly sha256: string }, string>> {
  const head = await readBytesHead(path, { bytesMax: SKILL_BYTES_MAX, within }, files);
  if (head === undefined) return err("is gone");
  if (head.kind === "fault") return err(head.reason);
  if (head.size > SKILL_BYTES_MAX) {
    return err(`has ${head.size} bytes, must have at most ${SKILL_BYTES_MAX}`);
  }
  const folderName = path.split("/").at(-2) ?? "";
  const parsed = parseSkill(decodeText(head.bytes), folderName);
  if (!parsed.ok) return parsed;
  const digest = await crypto.subtle.digest("SHA-256", head.bytes);
  return ok({ ...parsed.value, sha256: new Uint8Array(digest).toHex() });
}

async function readEntry(path: string, within: string, files: TextFiles): Promise<Entry> {
  if (await isMissing(path, files)) return undefined;
  const loaded = await loadSkill({ path, within }, files);
  if (!loaded.ok) return { kind: "fault", path, reason: loaded.error };
  const { name, description, sha256 } = loaded.value;
  return { name, description, path, within, sha256 };
}

/** A folder without `SKILL.md` is no skill; an unreadable one is a fault. */
async function isMissing(path: string, files: TextFiles): Promise<boolean> {
  try {
    return await files.stat(path) === undefined;
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return thrown.code === "ENOTDIR";
  }
}

function rankFault(skill: Skill, byName: ReadonlyMap<string, Skill>): TextFault | undefined {
  const { name, path } = skill;
  const other = byName.get(name);
  if (other !== undefined) {
    return { kind: "fault", path, reason: `has the name of the skill "${other.path}"` };
  }
  return byName.size < SKILLS_MAX
    ? undefined
    : { kind: "fault", path, reason: `is left out, there are already ${SKILLS_MAX} skills` };
}

async function listNames(folder: string, files: Pick<Files, "list">) {
  const path = folder;
  try {
    const names = (await files.list(folder)).filter((name) => !name.startsWith("."));
    const faults: TextFault[] = names.length <= SKILL_ENTRIES_MAX ? [] : [{
      kind: "fault",
      path,
      reason: `has ${names.length} entries, only the first ${SKILL_ENTRIES_MAX} are used`,
    }];
    return { names: names.slice(0, SKILL_ENTRIES_MAX), faults };
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    const fault: TextFault = { kind: "fault", path, reason: `cannot be listed (${thrown.code})` };
    return { names: [], faults: [fault] };
  }
}
