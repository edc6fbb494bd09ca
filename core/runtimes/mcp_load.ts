/**
 * The load state of an agent's MCPs in its running program: connected with their tools, or the
 * reason why not. Types and texts only.
 *
 * @module
 */

/**
 * States that a program reports for an MCP. `absent` is fleetctl's: the client config lists the
 * MCP, but the program does not report it.
 */
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

const STATE_TEXTS: Readonly<Record<Exclude<McpLoadState, "connected">, string>> = {
  "pending": "still connecting",
  "failed": "failed to connect",
  "needs-auth": "needs a sign-in",
  "disabled": "disabled",
  "absent": "not loaded",
};

/** Returns a state in words that can end a sentence about an MCP. */
export function loadStateText(state: McpLoadState): string {
  return state === "connected" ? "connected" : STATE_TEXTS[state];
}

/** Names an MCP. If its tools are missing, adds the reason: `git (failed to connect)`. */
export function loadText({ name, state }: McpLoad): string {
  return state === "connected" ? name : `${name} (${STATE_TEXTS[state]})`;
}
