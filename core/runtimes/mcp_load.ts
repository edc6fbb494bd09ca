/**
 * How far the MCPs of an agent are in its running program: connected with their tools, or why not.
 * Types and words only.
 *
 * @module
 */

/** What a program says of one MCP; `absent` when it was given the MCP and says nothing of it. */
export const MCP_LOAD_STATES = [
  ...["connected", "pending", "failed", "needs-auth", "disabled", "absent"] as const,
] as const;
/** One of `MCP_LOAD_STATES`. */
export type McpLoadState = typeof MCP_LOAD_STATES[number];

/** One MCP in the running program. */
export interface McpLoad {
  readonly name: string;
  readonly state: McpLoadState;
}

const WORDS: Readonly<Record<Exclude<McpLoadState, "connected">, string>> = {
  "pending": "still connecting",
  "failed": "failed to connect",
  "needs-auth": "needs a sign-in",
  "disabled": "disabled",
  "absent": "not loaded",
};

/** Says in words how far an MCP is. */
export function loadWords(state: McpLoadState): string {
  return state === "connected" ? "connected" : WORDS[state];
}

/** Says why the tools of an MCP are not there: `git (failed to connect)`. */
export function loadText({ name, state }: McpLoad): string {
  return state === "connected" ? name : `${name} (${WORDS[state]})`;
}
