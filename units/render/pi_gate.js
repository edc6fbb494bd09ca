/**
 * An extension of pi: before a tool runs that may change something, fleetctl is asked. The question
 * is a text dialog whose answer comes from the dial unit
 * (units/dial/runtimes/rpc_jsonl_dialogs.ts); without an answer that says so, the tool does not
 * run. Rendered to the program folder.
 *
 * @module
 */

/** Tools of pi that only read, or only run other tools, each of which is asked about by itself. */
const FREE = new Set([
  "read",
  "grep",
  "find",
  "ls",
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
    // No answer, or none that can be read: the tool is blocked.
    return {};
  }
}
