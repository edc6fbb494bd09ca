/**
 * The system prompt of a conversation: the runtime's own words, then what files add. It is built
 * again for each turn, and is the same while no file changes.
 *
 * @module
 */

import {
  INSTRUCTIONS_BYTES_MAX,
  readInstructionFiles,
} from "units/agent_loop/prompt/instruction_files.ts";
import { printInstructionFiles } from "units/agent_loop/prompt/sections.ts";
import type { TextFault, TextFiles, TextHead } from "units/agent_loop/prompt/text_file.ts";
import { printInstructions } from "units/agent_loop/turn/instructions.ts";

/** Where the prompt comes from. */
export interface PromptContext {
  readonly agent: string;
  readonly home: string;
  readonly cwd: string;
  readonly files: TextFiles;
}

/** The system prompt of one turn. */
export interface SystemPrompt {
  readonly text: string;
  /** What a person should know about the files; each is returned once until it changes. */
  readonly notices: readonly string[];
}

/** Returns the prompt of the next turn, for a window of this size. */
export type PromptSource = (contextTokens: number) => Promise<SystemPrompt>;

/** Share of the model's window that the instruction files may fill. */
const INSTRUCTIONS_SHARE = 0.2;
/** Bytes of a token, as in the estimate of the history's length. */
const TOKEN_BYTES = 3;

/** Creates the source of one conversation. */
export function createPromptSource(context: PromptContext): PromptSource {
  let reported: ReadonlySet<string> = new Set();
  return async (contextTokens) => {
    const { agent, home, cwd, files } = context;
    const share = Math.floor(contextTokens * TOKEN_BYTES * INSTRUCTIONS_SHARE);
    const bytesMax = Math.min(INSTRUCTIONS_BYTES_MAX, share);
    const found = await readInstructionFiles({ home, cwd }, bytesMax, files);
    const sections = [
      printInstructions({ agent, cwd, home }),
      printInstructionFiles(found.texts),
    ];
    const notices = [...found.faults.map(faultText), ...found.texts.flatMap(cutNotice)];
    const fresh = notices.filter((notice) => !reported.has(notice));
    reported = new Set(notices);
    return {
      text: sections.filter((section) => section !== undefined).join("\n\n"),
      notices: fresh,
    };
  };
}

function faultText({ path, reason }: TextFault): string {
  return `The model does not get "${path}": it ${reason}`;
}

function cutNotice({ path, keptBytes, size }: TextHead): readonly string[] {
  return keptBytes < size
    ? [`The model gets the first ${keptBytes} of ${size} bytes of "${path}"`]
    : [];
}
