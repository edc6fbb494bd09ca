/**
 * An extension of pi: requests a permission from fleetctl before each tool that may change
 * something. The request is a text dialog, which the dial unit answers
 * (units/dial/runtimes/rpc_jsonl_dialogs.ts). The tool runs only if the answer allows it.
 * Rendered to the program folder.
 *
 * @module
 */

/** Tools of pi that read files. */
const READS = ["read", "grep", "find", "ls"];
/** The mode in the agent's record. This file runs in pi, which has no ports. */
// deno-lint-ignore tree/edge
const MODE = process.env.FLEETCTL_ASK ?? "";
/** Reads outside the workspace ask in these modes. */
const isAskedForReads = MODE === "changes" || MODE === "outside";
/** Tools that only read, or only run other tools, which get their own requests. */
const FREE = new Set([
  ...(isAskedForReads ? [] : READS),
  "codemode",
  "tool_search",
  "list_mcp_resources",
  "list_mcp_resource_templates",
  "read_mcp_resource",
]);

export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (FREE.has(event.toolName)) return undefined;
    const { toolCallId: callId, toolName: tool, input } = event;
    const question = JSON.stringify({ callId, tool, arguments: input });
    const answer = readAnswer(await ctx.ui.input("fleetctl.permission", question));
    if (answer.decision === "allow") return undefined;
    return {
      block: true,
      reason: answer.reason ?? `Cannot call tool "${tool}": it was not allowed`,
    };
  });
}

function readAnswer(text) {
  try {
    const answer = JSON.parse(text);
    return typeof answer === "object" && answer !== null ? answer : {};
  } catch {
    // No answer, or an invalid one: the tool is blocked.
    return {};
  }
}
