/**
 * Settings with which Claude Code asks about its built-in tools. Rules that ask override rules that
 * allow, such as those in a file that the agent itself can write. Pure.
 *
 * @module
 */

import type { AskMode } from "core/ledger/agent.ts";
import type { Message } from "units/dial/runtimes/message.ts";
import { CLAUDE_TOOLS } from "units/dial/runtimes/tool_acts.ts";

/** Returns the settings for a mode; undefined when the program decides what it asks about. */
export function claudeSettings(mode: AskMode | undefined): Message | undefined {
  if (mode === undefined || mode === "never") return undefined;
  return { permissions: { ask: [...CLAUDE_TOOLS.keys()] } };
}
