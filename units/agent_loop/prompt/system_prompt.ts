/**
 * The system prompt of a conversation: the runtime's own words, then what files add. It is built
 * again for each turn, and is the same while no file changes.
 *
 * @module
 */

import {
  INSTRUCTIONS_BYTES_MAX,
  projectFolders,
  readInstructionFiles,
} from "units/agent_loop/prompt/instruction_files.ts";
import { MEMORY_BYTES_MAX } from "units/agent_loop/memory/memory.ts";
import {
  type MemoryFiles,
  memoryPath,
  rememberTool,
} from "units/agent_loop/memory/remember_tool.ts";
import {
  printInstructionFiles,
  printMemory,
  printPersona,
  printSkills,
} from "units/agent_loop/prompt/sections.ts";
import { readTextHead, type TextFault, type TextHead } from "units/agent_loop/prompt/text_file.ts";
import {
  createSkillFinder,
  type Skill,
  type SkillPorts,
} from "units/agent_loop/skills/find_skills.ts";
import { skillTool } from "units/agent_loop/skills/skill_tool.ts";
import type { Tool } from "units/agent_loop/tools/tool.ts";
import { printInstructions } from "units/agent_loop/turn/instructions.ts";

/** Where the prompt comes from. */
export interface PromptContext {
  readonly agent: string;
  readonly home: string;
  readonly cwd: string;
  readonly persona: string | undefined;
  readonly ports: SkillPorts & { readonly files: MemoryFiles };
}

/** The system prompt of one turn. */
export interface SystemPrompt {
  readonly text: string;
  /** What a person should know about the files; each is returned once until it changes. */
  readonly notices: readonly string[];
}

/** Returns the prompt of the next turn, for a window of this size. */
export type PromptSource = (contextTokens: number) => Promise<SystemPrompt>;

/** What files give to a conversation. */
export interface Guidance {
  readonly prompt: PromptSource;
  /** Returns the tools that belong to the last prompt. */
  tools(): readonly Tool[];
}

/** Share of the model's window that the instruction files may fill. */
const INSTRUCTIONS_SHARE = 0.2;
/** Share of the list of skills, and its limit in bytes. */
const SKILLS_SHARE = 0.05;
const SKILLS_BYTES_MAX = 16 * 1024;
/** Share of the memory; its limit in bytes holds for the file. */
const MEMORY_SHARE = 0.1;
const FAULTS_SHOWN_MAX = 8;
/** Bytes of a token, as in the estimate of the history's length. */
const TOKEN_BYTES = 3;

/** Creates the guidance of one conversation. */
export function createGuidance(context: PromptContext): Guidance {
  const { agent, home, cwd, persona, ports } = context;
  const finder = createSkillFinder(ports);
  let reported: ReadonlySet<string> = new Set();
  let skills: readonly Skill[] = [];

  return {
    async prompt(contextTokens) {
      const share = (part: number, bytesMax: number) =>
        Math.min(bytesMax, Math.floor(contextTokens * TOKEN_BYTES * part));
      const project = await projectFolders({ home, cwd }, ports.files);
      const instructions = await readInstructionFiles(
        { home, project },
        share(INSTRUCTIONS_SHARE, INSTRUCTIONS_BYTES_MAX),
        ports.files,
      );
      const found = await finder.find(home, project);
      skills = found.skills;
      const list = printSkills(skills, share(SKILLS_SHARE, SKILLS_BYTES_MAX));
      const memory = await readTextHead(
        memoryPath(home),
        { bytesMax: share(MEMORY_SHARE, MEMORY_BYTES_MAX), within: home },
        ports.files,
      );
      const noted = memory?.kind === "text" ? [memory] : [];
      // The memory changes most often, so it comes last: what precedes it stays cached.
      const sections = [
        printInstructions({ agent, cwd, home }),
        printPersona(persona),
        printInstructionFiles(instructions.texts),
        list.text,
        printMemory(noted[0]),
      ];
      const notices = [
        ...[...instructions.texts, ...noted].flatMap(cutNotice),
        ...faultNotices([
          ...instructions.faults,
          ...memory?.kind === "fault" ? [memory] : [],
          ...found.faults,
        ]),
        ...list.undescribed.length === 0 ? [] : [
          `The model gets ${list.undescribed.length} of ${skills.length} skills by name only: ` +
          "the list is too long",
        ],
      ];
      const fresh = notices.filter((notice) => !reported.has(notice));
      reported = new Set(notices);
      return {
        text: sections.filter((section) => section !== undefined).join("\n\n"),
        notices: fresh,
      };
    },
    tools: () => [
      ...skills.length === 0 ? [] : [skillTool(() => skills, ports.files)],
      rememberTool(home, ports.files),
    ],
  };
}

/** Notices about unusable files; hundreds of them would hide the answer. */
function faultNotices(faults: readonly TextFault[]): readonly string[] {
  const shown = faults.slice(0, FAULTS_SHOWN_MAX).map(faultText);
  const more = faults.length - shown.length;
  return more === 0 ? shown : [...shown, `The model does not get ${more} more such files`];
}

function faultText({ path, reason }: TextFault): string {
  return `The model does not get "${path}": it ${reason}`;
}

function cutNotice({ path, keptBytes, size }: TextHead): readonly string[] {
  return keptBytes < size
    ? [`The model gets the first ${keptBytes} of ${size} bytes of "${path}"`]
    : [];
}
